"""Threshold tuning for any classifier and any number of classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_regressor
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from metricfit import metrics
from metricfit._parallel import parallel
from metricfit._typing import Floats, Ints
from metricfit.decisions import LEAST_PROBABILITY, Constraint, check_groups, fit_calibrated_offsets, fit_offsets
from metricfit.estimators import _offset_labels
from metricfit.estimators._base import DecisionMixin, check_target, check_weight, fit_costs, fit_weighted
from metricfit.estimators._folds import calibration_splits, check_cv_argument, folds_of_cv, read_splits
from metricfit.learners import class_scores, spread_classes, stratified_folds
from metricfit.metrics import order_of


def _all_have_probabilities(self: FoldMean) -> bool:
    return all(hasattr(one, "predict_proba") for one in self.estimators_)


def _has_no_probabilities(self: FoldMean) -> bool:
    return not _all_have_probabilities(self)


class FoldMean:
    """Classifiers of the folds of one table, whose mean probability or decision function is the answer.

    A class that a fold has not seen has no probability there.
    """

    def __init__(self, estimators: Sequence[Any], classes: NDArray[Any]) -> None:
        self.estimators_, self.classes_ = list(estimators), classes
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimators[0], name):
                setattr(self, name, getattr(estimators[0], name))

    @available_if(_all_have_probabilities)
    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        found = np.zeros((0, len(self.classes_)))
        for index, one in enumerate(self.estimators_):
            probabilities = np.asarray(one.predict_proba(X), np.float64)
            spread = np.zeros((len(probabilities), len(self.classes_)))
            spread[:, self._seen(one)] = probabilities
            found = found + spread if index else spread
        return found / len(self.estimators_)

    @available_if(_has_no_probabilities)
    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        n_classes = len(self.classes_)
        found = np.mean([spread_classes(class_scores(one, X), self._seen(one), n_classes) for one in self.estimators_], 0)
        return found[:, 1] - found[:, 0] if n_classes == 2 else found

    def _seen(self, one: Any) -> Ints:
        return np.searchsorted(self.classes_, one.classes_)


def _has_probabilities(self: OffsetClassifier) -> bool:
    return hasattr(getattr(self, "estimator_", self.estimator), "predict_proba")


class OffsetClassifier(DecisionMixin, MetaEstimatorMixin, BaseEstimator):
    """Threshold tuning for any classifier and any number of classes.

    It works like scikit-learn's ``TunedThresholdClassifierCV``, with one offset per class. :func:`metricfit.tune_offsets`
    finds the offsets from cross-validated scores. They are added to log-probabilities, or to the decision function of an
    estimator without probabilities.

    Parameters
    ----------
    estimator : estimator
        A scikit-learn classifier, or a fitted one with ``cv="prefit"``.
    metric : str, Metric or callable, default="accuracy"
        The metric to maximise, as in :class:`MetricClassifier`.
    pos_label : label, default=None
        The positive class for "f1", "precision" and similar metrics. By default the larger of two numbers, or the rarer of
        two names.
    class_order : sequence of labels, default=None
        The order of the classes, for metrics that depend on it.
    average : {"macro", "micro", "weighted"}, default=None
        "f1" with "macro" is "f1_macro".
    subject_to : str, Constraint or list of Constraint, default=None
        Limits on the decision, such as ``"precision >= 0.9"``. A :class:`metricfit.DecisionRule`, ``rule_``, then finds the
        offsets, and ``rule_.summary()`` says how well the limits are kept.
    confidence : float, default=None
        Promise, with this probability, that the limits hold. The mean of the fold models then predicts, and the promise is
        approximate because only the fold models were tested. It is exact with ``calibration``, or with ``cv="prefit"`` and
        rows that the estimator has not seen.
    calibration : float, default=None
        Share of the rows that are kept out of training to set the rule, such as 0.25.
    fallback : {"best"}, default=None
        Decide by the best limit that can be promised if the one in ``subject_to`` cannot. By default, ``predict`` then raises
        a ``NotAttainableError``.
    smooth : bool, default=True
        Maximise the metric under noise on the scores, which overfits less than the metric itself.
    cv : int, splitter, list of splits or "prefit", default=5
        The folds of the cross-validated scores. With "prefit", pass rows to :meth:`fit` that the estimator has not seen.
    n_jobs : int, default=None
        Number of folds in parallel.
    random_state : int or RandomState, default=None
        Seed of the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The sorted labels.
    offsets_ : ndarray of shape (n_classes,)
        One number per class. For two classes, ``threshold_`` is the same decision: the probability of ``positive_``, the
        positive class, above which it is predicted.
    rule_ : DecisionRule
        Only with ``subject_to``, costs per row or several labels.

    See Also
    --------
    tune_offsets : The same for scores that you already have.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from metricfit import OffsetClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tuned = OffsetClassifier(GaussianNB(), "f1_macro", random_state=0).fit(X, y)
    >>> tuned.offsets_.round(1)
    array([ 3.9, -1.6, -2.4])
    >>> tuned.predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        estimator: Any,
        metric: metrics.MetricLike = "accuracy",
        *,
        pos_label: Any = None,
        class_order: Sequence[Any] | None = None,
        average: str | None = None,
        subject_to: str | Constraint | Iterable[Constraint] | None = None,
        confidence: float | None = None,
        calibration: float | None = None,
        fallback: str | None = None,
        smooth: bool = True,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.pos_label = pos_label
        self.class_order = class_order
        self.average = average
        self.subject_to = subject_to
        self.confidence = confidence
        self.calibration = calibration
        self.fallback = fallback
        self.smooth = smooth
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        costs: Any = None,
    ) -> Self:
        """Fit the estimator and tune the offsets on rows it has not seen.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The features, passed on to the estimator.
        y : array-like of shape (n_samples,)
            The labels, or a table of 0 and 1 with one column per label, if the estimator takes such a table. Every label then
            has its threshold in ``thresholds_``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group stay in one fold. A splitter as ``cv`` gets the groups; a number of folds becomes a
            ``StratifiedGroupKFold``.
        costs : data frame or dict of arrays, default=None
            The columns that a ``Cost`` names, for these rows.

        Returns
        -------
        self : OffsetClassifier
            The fitted classifier.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if hasattr(self.estimator, "__sklearn_tags__") and is_regressor(self.estimator):
            raise TypeError(f"`estimator` should be a classifier, got the regressor {self.estimator!r}.")
        if _offset_labels.are_many(y):
            self.estimator_, self.rule_ = _offset_labels.fit(self, X, y, sample_weight, groups)
            self.classes_, self.offsets_ = self.rule_.classes_, self.rule_.offsets_
            return self._keep_features()
        self._check_options()
        order = order_of(y) if self.class_order is None else self.class_order
        X, labels_given = indexable(X, check_target(y, warn=True))  # noqa: N806
        numbers = None if groups is None else check_groups(groups, len(labels_given))
        weight = check_weight(sample_weight, len(labels_given))
        weights, amounts = None if sample_weight is None else weight, fit_costs(self.metric, costs, X, len(labels_given))
        if isinstance(self.cv, str) and self.cv == "prefit":
            check_is_fitted(self.estimator)
            self.estimator_, self.classes_ = self.estimator, self.estimator.classes_
            labels = self._class_indices(labels_given)
            scores, rows = class_scores(self.estimator_, X), np.arange(len(labels))
        else:
            self.classes_, labels = np.unique(labels_given, return_inverse=True)
            if len(self.classes_) < 2:
                raise ValueError(f"OffsetClassifier needs at least two classes, got one class: {self.classes_[0]!r}.")
            splits = self._splits(labels, groups)
            rows = np.concatenate([test for _, test in splits])
            keeps = self.confidence is not None or self.calibration is not None  # the models, which are going to predict
            known = self.estimator, X, labels_given, weights, self.classes_, keeps
            models, parts = zip(*parallel(_fit_fold, known, splits, self.n_jobs), strict=True)
            scores = np.concatenate(parts)
            if self.calibration is not None:
                (self.estimator_,) = models
            elif self.confidence is not None:
                self.estimator_ = FoldMean(models, self.classes_)
            else:
                self.estimator_ = fit_weighted(clone(self.estimator), X, labels_given, weights)
        self._find_metric(labels, order)
        self.__dict__.pop("rule_", None)  # left by an earlier fit
        if self._needs_rule():
            kind = "probability" if hasattr(self.estimator_, "predict_proba") else "logit"
            n_models = len(self.estimator_.estimators_) if isinstance(self.estimator_, FoldMean) else 1
            part = None if numbers is None else numbers[rows]
            own = {name: column[rows] for name, column in amounts.items()}
            self._fit_rule(self._for_rule(scores), labels[rows], weight[rows], order, kind, n_models, part, own)
            self.offsets_ = self.rule_.offsets_
        else:
            fit_to = fit_calibrated_offsets if self.smooth else fit_offsets
            self.offsets_ = fit_to(scores, labels[rows].astype(np.int64), self.metric_, weight[rows])
        return self._keep_features()

    def _keep_features(self) -> Self:
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    def _rule_input(self, X: Any) -> Floats:  # noqa: N803
        if self._has_labels():
            return _offset_labels.label_scores(self.estimator_, X, len(self.classes_))
        return self._for_rule(class_scores(self.estimator_, X))

    def _scores(self, X: Any) -> Floats:  # noqa: N803
        check_is_fitted(self)
        return class_scores(self.estimator_, X) + self.offsets_

    def _check_options(self) -> None:
        self._check_constraints()
        if self._needs_rule() and not self.smooth:
            raise ValueError("`smooth` should stay True with `subject_to` and costs per row, which need no noise.")
        if self.calibration is not None and isinstance(self.cv, str) and self.cv == "prefit":
            raise ValueError("`calibration` holds rows out of training: leave it out with cv='prefit'.")

    def _for_rule(self, scores: Floats) -> Floats:
        """Probabilities where the estimator has them, so that the rule can be used with those of ``predict_proba``."""
        return np.exp(scores) if hasattr(self.estimator_, "predict_proba") else scores

    @property
    def thresholds_(self) -> Floats:
        """For several labels per row: a label is predicted if its probability, or its score, is above this, (K,)."""
        if not self._has_labels():
            raise AttributeError("OffsetClassifier has thresholds_ for several labels per row only. See offsets_.")
        return self.rule_.thresholds_

    @property
    def threshold_(self) -> float:
        """For two classes, the probability of ``positive_`` above which :meth:`predict` returns it; it may be infinite."""
        if self._has_labels():
            raise AttributeError("OffsetClassifier has one threshold per label here. See thresholds_.")
        threshold = super().threshold_
        if threshold < LEAST_PROBABILITY:  # smaller probabilities count as much
            return -np.inf
        return np.inf if threshold > 1.0 - LEAST_PROBABILITY else threshold

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Probabilities of the estimator, which the offsets leave unchanged.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per class, in the order of ``classes_``.
        """
        check_is_fitted(self)
        if self._has_labels():
            return self._rule_input(X)
        return self.estimator_.predict_proba(X)

    def to_onnx(self, *, dtype: str = "float64") -> Any:
        """Convert the decision and the probabilities to an ONNX model, if skl2onnx converts the estimator.

        See :meth:`MetricClassifier.to_onnx`. The estimator has to be fitted to an array.

        Parameters
        ----------
        dtype : {"float64", "float32"}, default="float64"
            The type of the input.

        Returns
        -------
        onnx.ModelProto
            The model.
        """
        from metricfit.estimators._onnx import offset_classifier_to_onnx

        check_is_fitted(self)
        return offset_classifier_to_onnx(self, dtype)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse = own.input_tags.sparse
        tags.input_tags.allow_nan = own.input_tags.allow_nan
        tags.classifier_tags.multi_label = own.classifier_tags is not None and own.classifier_tags.multi_label
        return tags

    def _splits(self, labels: Ints, groups: Any) -> Sequence[tuple[Any, Any]]:
        seed, cv = check_random_state(self.random_state).randint(2**31), self.cv
        if groups is not None and isinstance(cv, int | np.integer):
            cv = StratifiedGroupKFold(max(folds_of_cv(cv, labels), 2), shuffle=True, random_state=seed)
        draws = self.calibration is not None and isinstance(cv, int | np.integer)
        splits = [] if draws else self._cv_splits(cv, labels, groups, seed)
        return calibration_splits(cv, splits, labels, seed, self.calibration, self.confidence is not None)

    def _cv_splits(self, cv: Any, labels: Ints, groups: Any, seed: int) -> list[tuple[Any, Any]]:
        if not isinstance(cv, int | np.integer):
            check_cv_argument(cv)
            return read_splits(cv, labels, groups)
        n_folds = folds_of_cv(cv, labels)
        if not n_folds:
            raise ValueError("OffsetClassifier needs two rows in at least two classes to hold any out.")
        return list(stratified_folds(labels, n_folds, seed, warn=True))


def _fit_fold(data: tuple[Any, ...], train: Ints, test: Ints) -> tuple[Any, Floats]:
    """A fold's model, if it is to be kept, and the scores of its test rows, one column per class of all rows."""
    estimator, X, y, weight, classes, keeps = data  # noqa: N806
    part = None if weight is None else weight[train]
    fitted = fit_weighted(clone(estimator), _safe_indexing(X, train), _safe_indexing(y, train), part)
    known = class_scores(fitted, _safe_indexing(X, test))
    return fitted if keeps else None, spread_classes(known, np.searchsorted(classes, fitted.classes_), len(classes))
