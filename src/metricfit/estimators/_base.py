"""What both estimators share: checks of labels and weights, the decision by offsets or by a rule, and its metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, column_or_1d

from metricfit._checks import is_missing
from metricfit._score_names import column_names
from metricfit._typing import Floats, Ints
from metricfit.decisions import (
    Constraint,
    DecisionRule,
    cost_columns,
    hard_confusion,
    has_row_costs,
    metric_values,
    read_constraints,
)
from metricfit.metrics import Metric, MetricLike, resolve_metric, with_average

LEAST_WEIGHT = 1e-15  # of a row beside the heaviest row: too little to change a sum


def check_target(y: Any, warn: bool = False) -> NDArray[Any]:
    """Labels (n,) of one type without gaps, for which an estimator can find classes."""
    if isinstance(y, list | tuple):
        _check_one_type(y)  # before numpy makes a text of every label
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"`y` should have one label per row, got shape {tuple(shape)}. For several labels per row, as a table of 0 and 1, "
            "use OffsetClassifier."
        )
    labels = column_or_1d(y, warn=warn)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity.")
    check_label_types(labels)
    check_classification_targets(labels)
    return labels


def check_label_types(labels: NDArray[Any]) -> None:
    """Raise a ValueError for labels that are missing, are bytes, or cannot be sorted because their types differ."""
    if labels.dtype.kind == "S":
        _check_one_type(labels[:1].tolist())
    if labels.dtype != object:
        return
    if any(is_missing(value) for value in labels):
        raise ValueError("Input y contains NaN: every row needs a label. Drop these rows first.")
    _check_one_type(labels)


def check_weight(sample_weight: Any, n_rows: int) -> Floats:
    """Weights of rows (n,) whose sums cannot underflow or overflow: extreme ones are brought nearer to the largest."""
    weight = _check_sample_weight(sample_weight, np.empty((n_rows, 1)), dtype=np.float64, ensure_non_negative=True)
    largest = float(weight.max())  # scikit-learn has checked that it is positive
    if not LEAST_WEIGHT <= largest <= 1.0 / LEAST_WEIGHT:
        weight, largest = weight / largest, 1.0
    return np.where(weight > 0.0, np.maximum(weight, LEAST_WEIGHT * largest), 0.0)


def weight_notes(weight: Floats) -> tuple[str, ...]:
    """A sentence if the weights make the rows count like far fewer or far more of them."""
    total = float(weight.sum())
    if 0.1 <= total / len(weight) <= 10.0:
        return ()
    return (
        f"The weights of {len(weight):,} rows sum to {total:,.10g}, so the fit trusts them like {total:,.10g} rows. Divide "
        "the weights by their mean if they are not counts of rows.",
    )


def class_weights(weights: Any, classes: NDArray[Any], labels: Ints) -> Floats:
    """The weight of each class, from None, "balanced" or a dictionary."""
    if weights is None:
        return np.ones(len(classes))
    if isinstance(weights, dict) and (unknown := [label for label in weights if label not in classes]):
        raise ValueError(f"`class_weight` should name classes of y, got {unknown[0]!r}, which is not one of them.")
    return compute_class_weight(weights, classes=classes, y=classes[labels])


def check_limits(subject_to: Any, confidence: Any, calibration: Any, fallback: Any = None) -> None:
    """Raise a ValueError for constraints that cannot be read, and for their options without them."""
    if subject_to is None:
        for name, value in (("confidence", confidence), ("calibration", calibration), ("fallback", fallback)):
            if value is not None:
                raise ValueError(f"`{name}` is for constraints: pass `subject_to` too, such as 'precision >= 0.9'.")
    elif calibration is not None and not 0.0 < calibration < 1.0:
        raise ValueError(f"`calibration` should be a share of the rows such as 0.25, got {calibration!r}.")
    else:
        read_constraints(subject_to)


def fit_costs(metric: Any, costs: Any, X: Any, n_rows: int) -> dict[str, Floats]:  # noqa: N803
    """The columns of costs that the metric names; the error for missing ones says if they are among the features."""
    missing = set(metric.columns) - set(metric.arrays) if costs is None and has_row_costs(metric) else set()
    if missing and missing <= set(column_names(X)):
        raise ValueError(f"`costs` should have the column {min(missing)!r}. X has it: pass fit(X, y, costs=X).")
    return cost_columns(metric, costs, n_rows)


def _check_one_type(labels: Iterable[Any]) -> None:
    types = Counter(map(type, labels))
    kinds = {_kind(one) for one in types}
    if kinds <= {"number"} or (len(kinds) == 1 and "bytes" not in kinds):
        return
    if any(issubclass(one, list | tuple | np.ndarray) for one in types) or any(_is_gap(one) for one in types):
        return  # other checks say that there are too many columns, or gaps
    got = " and ".join(sorted(f"{one.__name__} ({count} rows)" for one, count in types.items()))
    if kinds == {"bytes"}:
        raise ValueError(f"`y` should have texts or numbers as labels, got {got}. Try [label.decode() for label in y].")
    raise ValueError(f"`y` should have labels of one type, got {got}. Try [str(label) for label in y].")


def _kind(one: type) -> str:
    """What labels of this type are sorted with."""
    if issubclass(one, bool | np.bool_):
        return "bool"
    if issubclass(one, str):
        return "text"
    if issubclass(one, bytes):
        return "bytes"
    return "number" if issubclass(one, Real | Decimal | np.number) else one.__name__


def _is_gap(one: type) -> bool:
    return one is type(None) or one.__name__ in ("NAType", "NaTType")


def fit_weighted(estimator: Any, X: Any, y: Any, weight: Any) -> Any:  # noqa: N803
    """Fit, with weights if there are any: not every estimator takes them."""
    return estimator.fit(X, y) if weight is None else estimator.fit(X, y, sample_weight=weight)


class DecisionMixin(ClassifierMixin):
    """Decides by the largest of the scores that ``_scores`` returns, and judges by the metric."""

    metric: MetricLike
    average: str | None
    pos_label: Any
    subject_to: str | Constraint | Iterable[Constraint] | None
    confidence: float | None
    calibration: float | None
    fallback: str | None
    classes_: NDArray[Any]
    metric_: Metric
    offsets_: Floats
    pos_label_: Any
    class_order: Sequence[Any] | None
    class_order_: list[Any]
    rule_: DecisionRule  # only with constraints, costs per row or several labels

    def _scores(self, X: Any) -> Floats:  # noqa: N803
        """Scores (n, k), offsets included."""
        raise NotImplementedError

    def _rule_input(self, X: Any) -> Floats:  # noqa: N803
        """What ``rule_`` reads: probabilities, or other scores (n, k)."""
        raise NotImplementedError

    def decision_function(self, X: Any, *, costs: Any = None) -> Floats:  # noqa: N803
        """Scores that :meth:`predict` decides by, offsets included.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        costs : data frame or dict of arrays, default=None
            The columns that a ``Cost`` names, for these rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            For two classes one column: the score of ``classes_[1]`` minus that of ``classes_[0]``.
        """
        check_is_fitted(self)
        if self._asks_rule():
            return self.rule_.decision_function(self._rule_input(X), costs=costs)
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any, *, costs: Any = None) -> NDArray[Any]:  # noqa: N803
        """Predict the labels that are best for the metric.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        costs : data frame or dict of arrays, default=None
            The columns that a ``Cost`` names, for these rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.

        Raises
        ------
        NotAttainableError
            If the constraints cannot be kept and ``fallback`` is None.
        """
        check_is_fitted(self)
        if hasattr(self, "rule_"):
            return self.rule_.predict(self._rule_input(X), costs=costs)
        decision = self.decision_function(X)
        return self.classes_[(decision > 0.0).astype(int) if decision.ndim == 1 else decision.argmax(1)]

    def _has_labels(self) -> bool:
        """Whether rows have several labels each."""
        return hasattr(self, "rule_") and self.rule_.has_lists_ is not None

    def _needs_rule(self) -> bool:
        """Whether a rule decides that was fitted to scores of held-out rows."""
        return self.subject_to is not None or has_row_costs(self.metric)

    def _asks_rule(self) -> bool:
        """Whether offsets alone do not say the answers."""
        return self._has_labels() or has_row_costs(self.metric)

    @property
    def attainable_(self) -> bool:
        """Whether the constraints can be kept."""
        return self.rule_.attainable_

    @property
    def threshold_(self) -> float:
        """For two classes, the probability of :attr:`positive_` above which :meth:`predict` returns it."""
        check_is_fitted(self)
        if self._asks_rule():
            return self.rule_.threshold_  # an error that says what decides instead
        name = type(self).__name__
        if len(self.classes_) != 2:
            raise AttributeError(f"{name} has a threshold_ for two classes only, got {len(self.classes_)}. See offsets_.")
        if not hasattr(self, "predict_proba"):
            raise AttributeError(f"{name} has no threshold_: its estimator has no predict_proba. See decision_function.")
        index = self.classes_.tolist().index(self.positive_)
        return float(expit((self.offsets_[1 - index] - self.offsets_[index]) / getattr(self, "temperature_", 1.0)))

    @property
    def positive_(self) -> Any:
        """The positive class of two, ``classes_[1]`` if the metric has none; None for more classes."""
        check_is_fitted(self)
        if hasattr(self, "rule_"):
            return self.rule_.positive_
        label = self.pos_label if self.pos_label_ is None else self.pos_label_
        return None if len(self.classes_) != 2 else self.classes_.tolist()[1] if label is None else label

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, costs: Any = None) -> float:  # noqa: N803
        """Metric of the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        costs : data frame or dict of arrays, default=None
            The columns that a ``Cost`` names, for these rows.

        Returns
        -------
        float
            The metric; larger is better. A cost is negative.
        """
        check_is_fitted(self)
        if self._asks_rule():
            return self.rule_.score(self._rule_input(X), y, sample_weight, costs=costs)
        predicted, truth = self.predict(X), column_or_1d(y)
        check_label_types(truth)
        check_consistent_length(truth, predicted, sample_weight)
        weight = check_weight(sample_weight, len(truth))
        matrix = hard_confusion(self._class_indices(predicted), self._class_indices(truth), weight, len(self.classes_))
        return float(metric_values(self.metric_, matrix))

    def _check_constraints(self) -> None:
        if self.subject_to is not None and has_row_costs(self.metric):
            raise ValueError("`subject_to` cannot be combined with costs per row. Leave one of them out.")
        check_limits(self.subject_to, self.confidence, self.calibration, self.fallback)

    def _fit_rule(
        self,
        scores: Floats,
        labels: Ints,
        weight: Floats,
        class_order: Sequence[Any] | None,
        kind: str,
        n_models: int,
        groups: NDArray[Any] | None = None,
        costs: Mapping[str, Floats] | None = None,
    ) -> None:
        """The rule for the constraints or costs, by scores of rows that ``n_models`` models have not seen."""
        rule = DecisionRule(
            with_average(self.metric, self.average),
            subject_to=self.subject_to,
            confidence=self.confidence,
            pos_label=self.pos_label if self.pos_label_ is None else self.pos_label_,
            class_order=class_order,
            classes=self.classes_.tolist(),
            kind=kind,
            fallback=self.fallback,
        ).fit(scores, self.classes_[labels], weight, groups, costs=costs or None)
        if self.confidence is not None and n_models > 1:
            rule.notes_ += (
                f"The promise is approximate: it was tested on out-of-fold scores, and the mean of the {n_models} fold models "
                "predicts. Pass calibration=0.25 for an exact one.",
            )
        elif self.calibration is not None:
            rule.notes_ += (f"The model was trained on other rows than the {len(labels):,} that set the rule.",)
        rule.classes_ = self.classes_
        self.rule_ = rule

    def _find_metric(self, labels: Ints, class_order: Sequence[Any] | None) -> None:
        """Resolve ``metric`` for these classes; ``labels`` are 0 ... k - 1."""
        if has_row_costs(self.metric):
            self.metric_, self.pos_label_, self.class_order_ = self.metric, None, []  # by the names of the classes
            return
        counts = np.bincount(labels, minlength=len(self.classes_))
        found = resolve_metric(self.metric, self.average, self.pos_label, self.classes_, class_order, counts)
        self.metric_, self.pos_label_, self.class_order_ = found.metric, found.positive, list(found.order)

    def _decisions(self) -> tuple[str, ...]:
        """A sentence for each automatic decision about the classes."""
        found = []
        if self.pos_label is None and self.pos_label_ is not None and self.pos_label_ not in (1, True):
            found.append(f"The positive class is {self.pos_label_!r}. Pass pos_label to change this.")
        if self.class_order is None and self.class_order_ and self.class_order_ != sorted(self.class_order_):
            found.append(f"The order of the classes is {', '.join(map(str, self.class_order_))}, taken from the labels.")
        return tuple(found)

    def _class_indices(self, labels: NDArray[Any]) -> Ints:
        """The index of every label among the classes."""
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise ValueError(f"`y` should hold classes of the fit only, got also {sorted(set(labels[~known].tolist()))[:5]}.")
        return np.searchsorted(self.classes_, labels)
