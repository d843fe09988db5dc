"""Threshold tuning for any classifier and any number of classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_regressor
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from metricfit import metrics
from metricfit._parallel import parallel
from metricfit._typing import Floats, Ints
from metricfit.decisions import (
    LEAST_PROBABILITY,
    NEVER,
    Constraint,
    DecisionRule,
    check_groups,
    fit_calibrated_offsets,
    fit_offsets,
)
from metricfit.estimators._base import DecisionMixin, check_target, check_weight, fit_costs, fit_weighted
from metricfit.estimators._folds import (
    by_groups,
    calibration_splits,
    check_cv_argument,
    folds_of_cv,
    label_splits,
    read_splits,
)
from metricfit.learners import class_scores, raw_scores, spread_classes, stratified_folds
from metricfit.metrics import order_of, with_average


class FoldMean:
    """Classifiers of the folds of one table, whose mean probability or decision function is the answer.

    A class that a fold has not seen has no probability there.
    """

    def __init__(self, estimators: Sequence[Any], classes: NDArray[Any]) -> None:
        self.estimators_, self.classes_ = list(estimators), classes
        _copy_features(estimators[0], self)

    @available_if(lambda self: all(hasattr(one, "predict_proba") for one in self.estimators_))
    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        return np.mean([self._spread(one, np.asarray(one.predict_proba(X), np.float64), 0.0) for one in self.estimators_], 0)

    @available_if(lambda self: not hasattr(self, "predict_proba"))
    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        found = np.mean([self._spread(one, class_scores(one, X), NEVER) for one in self.estimators_], 0)
        return found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found

    def _spread(self, one: Any, scores: Floats, never: float) -> Floats:
        return spread_classes(scores, np.searchsorted(self.classes_, one.classes_), len(self.classes_), never)


def _copy_features(source: Any, target: Any) -> None:
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))


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
        if _are_many(y):
            return self._fit_labels(X, y, sample_weight, groups)
        self._check_options()
        X, target, weight, numbers = self._read(X, check_target(y, warn=True), sample_weight, groups)  # noqa: N806
        amounts, splits = fit_costs(self.metric, costs, X, len(target)), None
        if self._is_prefit():
            self.classes_ = self.estimator.classes_
            labels = self._class_indices(target)
        else:
            self.classes_, labels = np.unique(target, return_inverse=True)
            if len(self.classes_) < 2:
                raise ValueError(f"OffsetClassifier needs at least two classes, got one class: {self.classes_.tolist()[0]!r}.")
            splits = self._splits(labels, groups)
        weights = None if sample_weight is None else weight
        scores, rows = self._score_held_out(X, target, weights, splits, self.classes_)
        order = order_of(y) if self.class_order is None else self.class_order
        self._find_metric(labels, order)
        self.__dict__.pop("rule_", None)  # left by an earlier fit
        if self._needs_rule():
            n_models = len(self.estimator_.estimators_) if isinstance(self.estimator_, FoldMean) else 1
            part = None if numbers is None else numbers[rows]
            own = {name: column[rows] for name, column in amounts.items()}
            self._fit_rule(self._for_rule(scores), labels[rows], weight[rows], order, self._kind(), n_models, part, own)
            self.offsets_ = self.rule_.offsets_
        else:
            fit_to = fit_calibrated_offsets if self.smooth else fit_offsets
            self.offsets_ = fit_to(scores, labels[rows].astype(np.int64), self.metric_, weight[rows])
        _copy_features(self.estimator_, self)
        return self

    def _fit_labels(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Self:  # noqa: N803
        """Fit a threshold for every label of a table (n, K)."""
        self._check_label_options()
        table = y.toarray() if issparse(y) else np.asarray(y)
        X, table, weight, numbers = self._read(X, table, sample_weight, groups)  # noqa: N806
        if not np.isin(table, (0, 1)).all():
            raise ValueError("`y` of several labels per row should be 0 and 1, one column per label, got other values.")
        splits = None if self._is_prefit() else label_splits(self.cv, table, groups, self._seed())
        scores, rows = self._score_held_out(X, table, None if sample_weight is None else weight, splits, None)
        names = list(getattr(y, "columns", range(table.shape[1])))
        rule = DecisionRule(with_average(self.metric, self.average), classes=names, kind=self._kind())
        self.rule_ = rule.fit(scores, table[rows], weight[rows], None if numbers is None else numbers[rows])
        self.classes_, self.offsets_ = self.rule_.classes_, self.rule_.offsets_
        _copy_features(self.estimator_, self)
        return self

    def _read(self, X: Any, target: Any, sample_weight: Any, groups: Any) -> tuple[Any, Any, Floats, Ints | None]:  # noqa: N803
        """Rows and labels of one length, the weights of the rows, and the numbers of their groups."""
        X, target = indexable(X, target)  # noqa: N806
        numbers = None if groups is None else check_groups(groups, len(target))
        weight = check_weight(sample_weight, len(target))
        if self._is_prefit():
            check_is_fitted(self.estimator)
        return X, target, weight, numbers

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _score_held_out(
        self,
        X: Any,  # noqa: N803
        target: NDArray[Any],
        weights: Floats | None,
        splits: Sequence[tuple[Any, Any]] | None,
        classes: NDArray[Any] | None,
    ) -> tuple[Floats, Ints]:
        """Scores of rows that no model has seen, and which rows these are; None for ``classes`` means several labels."""
        if splits is None:
            self.estimator_ = self.estimator
            return _scores_of(self.estimator, X, target, classes), np.arange(len(target))
        keeps = self.confidence is not None or self.calibration is not None  # the models, which are going to predict
        known = self.estimator, X, target, weights, classes, keeps
        models, parts = zip(*parallel(_fit_fold, known, splits, self.n_jobs), strict=True)
        if self.calibration is not None:
            (self.estimator_,) = models
        elif self.confidence is not None:
            self.estimator_ = FoldMean(models, self.classes_)
        else:
            self.estimator_ = fit_weighted(clone(self.estimator), X, target, weights)
        return np.concatenate(parts), np.concatenate([test for _, test in splits])

    def _rule_input(self, X: Any) -> Floats:  # noqa: N803
        if self._has_labels():
            return _label_scores(self.estimator_, X, len(self.classes_))
        return self._for_rule(class_scores(self.estimator_, X))

    def _scores(self, X: Any) -> Floats:  # noqa: N803
        check_is_fitted(self)
        return class_scores(self.estimator_, X) + self.offsets_

    def _check_options(self) -> None:
        self._check_constraints()
        if self._needs_rule() and not self.smooth:
            raise ValueError("`smooth` should stay True with `subject_to` and costs per row, which need no noise.")
        if self.calibration is not None and self._is_prefit():
            raise ValueError("`calibration` holds rows out of training: leave it out with cv='prefit'.")

    def _check_label_options(self) -> None:
        for name in ("subject_to", "confidence", "calibration", "fallback", "pos_label", "class_order"):
            if getattr(self, name) is not None:
                raise ValueError(f"`{name}` is for rows with one label each, and these have several. Leave it out.")
        if not self.smooth:
            raise ValueError("`smooth` should stay True for rows with several labels.")

    def _for_rule(self, scores: Floats) -> Floats:
        """Probabilities where the estimator has them, so that the rule can be used with those of ``predict_proba``."""
        return np.exp(scores) if _has_probabilities(self) else scores

    def _kind(self) -> str:
        return "probability" if _has_probabilities(self) else "logit"

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

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _splits(self, labels: Ints, groups: Any) -> Sequence[tuple[Any, Any]]:
        seed, cv, splits = self._seed(), self.cv, list[tuple[Any, Any]]()
        if groups is not None:
            cv = by_groups(cv, labels, seed)
        if not isinstance(cv, int | np.integer):
            check_cv_argument(cv)
            splits = read_splits(cv, labels, groups)
        elif self.calibration is None:
            if not (n_folds := folds_of_cv(cv, labels)):
                raise ValueError("OffsetClassifier needs two rows in at least two classes to hold any out.")
            splits = list(stratified_folds(labels, n_folds, seed, warn=True))
        return calibration_splits(cv, splits, labels, seed, self.calibration, self.confidence is not None)


def _are_many(y: Any) -> bool:
    """Whether ``y`` has several columns, one per label.

    >>> _are_many([[0, 1], [1, 1]]), _are_many([0, 1])
    (True, False)
    """
    shape = y.shape if hasattr(y, "shape") else np.asarray(y[:1] if isinstance(y, list | tuple) else y).shape
    return len(shape) == 2 and shape[1] > 1


def _fit_fold(data: tuple[Any, ...], train: Ints, test: Ints) -> tuple[Any, Floats]:
    """A fold's model, if it is to be kept, and the scores of its test rows."""
    estimator, X, y, weight, classes, keeps = data  # noqa: N806
    part = None if weight is None else weight[train]
    fitted = fit_weighted(clone(estimator), _safe_indexing(X, train), _safe_indexing(y, train), part)
    return fitted if keeps else None, _scores_of(fitted, _safe_indexing(X, test), y, classes)


def _scores_of(fitted: Any, X: Any, y: NDArray[Any], classes: NDArray[Any] | None) -> Floats:  # noqa: N803
    """The scores of a model, with one column per class of all rows, or per label."""
    if classes is None:
        return _label_scores(fitted, X, y.shape[1])
    return spread_classes(class_scores(fitted, X), np.searchsorted(classes, fitted.classes_), len(classes))


def _label_scores(estimator: Any, features: Any, n_labels: int) -> Floats:
    """The probability of each label, or its decision function where there are no probabilities; (n, K).

    Forests and ``MultiOutputClassifier`` have a table per label, with a column per value that the label had in the fit.
    """
    found = raw_scores(estimator, features)
    if isinstance(found, list):
        pairs = zip(found, estimator.classes_, strict=True)
        found = np.stack([np.asarray(one, np.float64)[:, np.asarray(values) == 1].sum(1) for one, values in pairs], 1)
    scores = np.asarray(found, np.float64)
    if scores.ndim != 2 or scores.shape[1] != n_labels:
        raise ValueError(
            f"`estimator` should have one score for each of the {n_labels} labels, got shape {scores.shape}. Try "
            "MultiOutputClassifier or OneVsRestClassifier around it."
        )
    return scores
