"""From scores with offsets to labels, and their metric: what both estimators share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from metricfit._typing import Floats, Ints
from metricfit.decisions import Constraint, DecisionRule, hard_confusion, metric_values, read_constraints
from metricfit.estimators._checks import check_label_types, check_weight
from metricfit.metrics import Metric, MetricLike, resolve_metric, with_average


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
    rule_: DecisionRule  # only with constraints

    def _scores(self, X: Any) -> Floats:  # noqa: N803
        """Scores (n, k), offsets included."""
        raise NotImplementedError

    def _rule_input(self, X: Any) -> Floats:  # noqa: N803
        """What ``rule_`` reads: probabilities, or other scores (n, k)."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """The scores that :meth:`predict` decides by, offsets included: (n, k), or (n,) for two classes."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The decision that is best for the metric; an error if constraints cannot be kept and there is no ``fallback``."""
        check_is_fitted(self)
        if hasattr(self, "rule_"):
            return self.rule_.predict(self._rule_input(X))
        decision = self.decision_function(X)
        return self.classes_[(decision > 0.0).astype(int) if decision.ndim == 1 else decision.argmax(1)]

    @property
    def attainable_(self) -> bool:
        """Whether the constraints can be kept."""
        return self.rule_.attainable_

    @property
    def threshold_(self) -> float:
        """For two classes: ``predict_proba(X)[:, 1] > threshold_`` where :meth:`predict` answers ``classes_[1]``."""
        check_is_fitted(self)
        name = type(self).__name__
        if len(self.classes_) != 2:
            raise AttributeError(f"{name} has a threshold_ for two classes only, got {len(self.classes_)}. See offsets_.")
        if not hasattr(self, "predict_proba"):
            raise AttributeError(f"{name} has no threshold_: its estimator has no predict_proba. See decision_function.")
        return float(expit((self.offsets_[0] - self.offsets_[1]) / getattr(self, "temperature_", 1.0)))

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """The metric of :meth:`predict`."""
        predicted, truth = self.predict(X), column_or_1d(y)
        check_label_types(truth)
        check_consistent_length(truth, predicted, sample_weight)
        weight = check_weight(sample_weight, len(truth))
        matrix = hard_confusion(self._class_indices(predicted), self._class_indices(truth), weight, len(self.classes_))
        return float(metric_values(self.metric_, matrix))

    def _check_constraints(self) -> None:
        if self.subject_to is None:
            for name in ("confidence", "calibration", "fallback"):
                if getattr(self, name) is not None:
                    raise ValueError(f"`{name}` is for constraints: pass `subject_to` too, such as 'precision >= 0.9'.")
        elif self.calibration is not None and not 0.0 < self.calibration < 1.0:
            raise ValueError(f"`calibration` should be a share of the rows such as 0.25, got {self.calibration!r}.")
        else:
            read_constraints(self.subject_to)

    def _fit_rule(
        self, scores: Floats, labels: Ints, weight: Floats, class_order: Sequence[Any] | None, kind: str, n_models: int
    ) -> None:
        """The rule for the constraints, by scores of rows that ``n_models`` models have not seen."""
        rule = DecisionRule(
            with_average(self.metric, self.average),
            subject_to=self.subject_to,
            confidence=self.confidence,
            pos_label=self.pos_label if self.pos_label_ is None else self.pos_label_,
            class_order=class_order,
            classes=self.classes_.tolist(),
            kind=kind,
            fallback=self.fallback,
        ).fit(scores, self.classes_[labels], weight)
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
        counts = np.bincount(labels, minlength=len(self.classes_))
        found = resolve_metric(self.metric, self.average, self.pos_label, self.classes_, class_order, counts)
        self.metric_, self.pos_label_, self.class_order_ = found.metric, found.positive, list(found.order)

    def _class_indices(self, labels: NDArray[Any]) -> Ints:
        """The index of every label among the classes."""
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise ValueError(f"`y` should hold classes of the fit only, got also {sorted(set(labels[~known].tolist()))[:5]}.")
        return np.searchsorted(self.classes_, labels)
