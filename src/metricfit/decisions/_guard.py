r"""The guard: which of several candidates to trust, from their predictions for rows they have not seen.

Candidates come in order, the plainest first. Each has to beat the one that stands by more than ``CAUTION`` standard errors of
the difference of their metrics. A metric is a function of the confusion matrix, so the influence of one row is the derivative
at the cell that the row falls into. With :math:`g = \partial M/\partial C` (delta method)

.. math:: SE^2 = \sum_i w_i \left(g^A[y_i, \hat y_i^A] - g^B[y_i, \hat y_i^B]\right)^2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit._typing import Floats, Ints
from metricfit.decisions._hard import hard_confusion, metric_values, values_and_slopes
from metricfit.metrics import Metric

CAUTION = 0.5  # standard errors; how it was chosen: docs/guide/classifier.md


@dataclass(frozen=True)
class Guard:
    """Compares predictions for the same rows."""

    labels: Ints
    weight: Floats
    n_classes: int
    metric: Metric

    def value(self, predicted: Ints) -> float:
        value = float(metric_values(self.metric, self._matrix(predicted)))
        return -np.inf if np.isnan(value) else value

    def standard_error(self, predicted: Ints) -> float:
        return self._error(self._influence(predicted))

    def difference_error(self, one: Ints, other: Ints) -> float:
        return self._error(self._influence(one) - self._influence(other))

    def choose(self, predictions: dict[str, Ints]) -> tuple[str, dict[str, str]]:
        """The chosen candidate, and why each was chosen or rejected."""
        names = list(predictions)
        chosen, reasons = names[0], {names[0]: "kept until a candidate beats it"}
        for name in names[1:]:
            gain = self.value(predictions[name]) - self.value(predictions[chosen])
            needed = CAUTION * self.difference_error(predictions[name], predictions[chosen])
            if gain > max(needed, 0.0):
                reasons[chosen] = f"beaten by {name}"
                chosen, reasons[name] = name, f"beats {chosen} by {gain:.4f}, more than the {needed:.4f} needed"
            else:
                reasons[name] = f"{gain:+.4f} against {chosen}, needs more than {needed:.4f}"
        return chosen, {**reasons, chosen: "chosen" if chosen == names[0] else f"chosen: {reasons[chosen]}"}

    def table(self, predictions: dict[str, Ints], reasons: dict[str, str]) -> list[dict[str, Any]]:
        """One row per candidate: metric, standard error, and the verdict."""
        return [
            {
                "candidate": name,
                "metric": self.value(predicted),
                "standard_error": self.standard_error(predicted),
                "verdict": reasons[name],
            }
            for name, predicted in predictions.items()
        ]

    def _matrix(self, predicted: Ints) -> Floats:
        return hard_confusion(predicted, self.labels, self.weight, self.n_classes)

    def _influence(self, predicted: Ints) -> Floats:
        _, (slopes,) = values_and_slopes(self.metric, self._matrix(predicted)[None])
        return slopes[self.labels, predicted]

    def _error(self, influence: Floats) -> float:
        return float(np.sqrt(self.weight @ (influence * influence)))
