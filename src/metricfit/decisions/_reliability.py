"""Whether probabilities are calibrated: what they say, and how often it happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import chi2

from metricfit._typing import Floats
from metricfit.decisions._hard import row_blocks
from metricfit.decisions._smoothed import softmax_and_normalizer
from metricfit.decisions._solve import Rows

BINS = 10
_SURE = 0.001  # p-value of the test
_RELEVANT = 0.05  # distance from the observed frequency, beside the share of the rarer outcome


@dataclass(frozen=True)
class Reliability:
    r"""Rows in ten bins of about equal size by a probability: its mean, the observed frequency, and the number of rows.

    The probability is that of the positive class of two, or that of the most probable class of more. ``distance`` is the mean
    of :math:`|p - f|` over the rows. ``p_value`` is that of Hosmer and Lemeshow's test, without a fitted parameter:

    .. math:: \sum_b \frac{(\sum_{i \in b} w_i (y_i - p_i))^2}{\sum_{i \in b} w_i^2 p_i (1 - p_i)} \sim \chi^2_{bins}

    It is NaN for rows in groups, which are not independent.
    """

    predicted: Floats
    observed: Floats
    counts: Floats
    distance: float
    p_value: float

    @classmethod
    def of(cls, rows: Rows, positive: int | None) -> Self:
        index, probability = np.full(len(rows), positive or 0), np.empty(len(rows))
        for some in row_blocks(rows.scores):
            table, _ = softmax_and_normalizer(rows.scores[some])
            if positive is None:
                index[some] = table.argmax(1)
            probability[some] = np.take_along_axis(table, index[some, None], 1)[:, 0]
        happened = rows.labels == index
        edges = np.unique(np.quantile(probability, np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
        bins, n_bins, weight = np.searchsorted(edges, probability), len(edges) + 1, rows.weight
        total = np.bincount(bins, weight, n_bins)
        used = total > 0.0
        said, seen = (np.bincount(bins, weight * part, n_bins)[used] for part in (probability, happened))
        variance = np.bincount(bins, weight**2 * probability * (1.0 - probability), n_bins)[used]
        statistic = ((seen - said) ** 2 / np.maximum(variance, 1e-300)).sum()
        return cls(
            said / total[used],
            seen / total[used],
            np.bincount(bins, minlength=n_bins)[used].astype(np.float64),
            float(np.abs(seen - said).sum() / total.sum()),
            float(chi2.sf(statistic, used.sum())) if rows.groups is None else float("nan"),
        )

    def warning(self, what: str) -> str:
        """A sentence if the probabilities are not those of ``what``, beyond chance and by more than five per cent; else ""."""
        rate = float(self.observed @ self.counts / self.counts.sum())
        if not self.p_value < _SURE or self.distance <= _RELEVANT * min(rate, 1.0 - rate):
            return ""
        worst = int((np.abs(self.observed - self.predicted) * self.counts).argmax())
        return (
            f"The probabilities are not calibrated: where they are {self.predicted[worst]:.3g} on average, "
            f"{self.observed[worst]:.3g} of the rows are {what}. The rule allows for this. Do not read them as probabilities."
        )

    def as_json(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).tolist() for name in ("predicted", "observed", "counts")}
        return {**arrays, "distance": self.distance, "p_value": None if np.isnan(self.p_value) else self.p_value}
