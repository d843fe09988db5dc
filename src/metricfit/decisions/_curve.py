"""What a report draws of the scores: the metric over all thresholds, and whether probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from metricfit._typing import Floats
from metricfit.decisions._constraints import SHARES
from metricfit.decisions._hard import metric_values, row_blocks, values_and_slopes
from metricfit.decisions._intervals import Z, as_share, binomial_interval, bounded_interval, pseudo_rows
from metricfit.decisions._promise import Path
from metricfit.decisions._rows import Rows
from metricfit.decisions._smoothed import softmax_and_normalizer
from metricfit.metrics import Metric

POINTS = 200  # of a curve
BINS = 10  # of probabilities
_SURE = 0.001  # p-value of the test
_RELEVANT = 0.05  # distance from the observed frequency, beside the share of the rarer outcome


@dataclass(frozen=True)
class Curve:
    """Arrays over thresholds, from the highest to the lowest: metric with its 95 % band, and the shares of rows.

    ``best`` is the range of thresholds whose metric is not significantly below the best, at 95 %. Rows count as independent.
    """

    threshold: Floats
    metric: Floats
    low: Floats
    high: Floats
    precision: Floats
    recall: Floats
    fpr: Floats
    predicted_rate: Floats
    best: tuple[float, float]

    @classmethod
    def of(cls, rows: Rows, metric: Metric, positive: int, to_threshold: Callable[[Any], Any]) -> Self:
        """Of at most 200 thresholds; ``to_threshold`` turns a difference of scores into one."""
        path, is_class = Path.of(rows.scores, positive), rows.labels == positive
        cuts = np.unique(np.linspace(0, len(path.sizes) - 1, POINTS).astype(np.int64))
        # counts, and sums of squared weights; the second class of a path is the positive one
        matrices, squares = (path.two_by_two(is_class, rows.weight**power)[cuts] for power in (1, 2))
        if positive == 0:
            matrices, squares = matrices[:, ::-1, ::-1], squares[:, ::-1, ::-1]
        mean, pseudo = float(rows.weight.mean()), pseudo_rows(matrices)
        values, (smooth, slopes) = metric_values(metric, matrices.copy()), values_and_slopes(metric, matrices + mean * pseudo)
        values, (share, index) = np.nan_to_num(values), as_share(metric)
        if share is not None and rows.are_independent:
            low, high = (share.value(end) for end in binomial_interval(*share.counts(matrices, index)))
        else:
            low, high = bounded_interval(
                smooth, np.sqrt(((squares + mean**2 * pseudo) * slopes**2).sum((1, 2))), metric.bounds
            )
        thresholds = np.asarray(to_threshold(-path.shifts[cuts]), np.float64)
        top = int(values.argmax())
        errors = _difference_errors(squares, mean**2 * pseudo.sum(2) / 3.0, slopes, top, positive)
        near = np.flatnonzero(values[top] - values <= Z * errors)
        ends = thresholds[min(near[-1] + 1, len(cuts) - 1)], thresholds[max(near[0] - 1, 0)]  # to the first that are worse
        shares = {}
        for name in ("precision", "recall", "fpr", "predicted_rate"):
            hits, trials = SHARES[name].counts(matrices, positive)
            shares[name] = np.divide(hits, trials, out=np.zeros_like(hits), where=trials > 0)
        band = {"low": np.minimum(low, values), "high": np.maximum(high, values)}
        return cls(thresholds, values, **band, **shares, best=(float(ends[0]), float(ends[1])))


def _difference_errors(squares: Floats, pseudo: Floats, slopes: Floats, top: int, positive: int) -> Floats:
    """Standard errors of the differences from cut ``top``, by the delta method.

    The rows predicted as positive are nested: both cuts predict them, one does, or none. ``pseudo`` goes to each of the three.
    """
    index, negative = np.arange(len(squares)), 1 - positive
    fewer, more = np.minimum(index, top), np.maximum(index, top)
    both, none = squares[fewer, :, positive], squares[more, :, negative]
    only = squares[more, :, positive] - both
    found = (both + pseudo) * (slopes[fewer, :, positive] - slopes[more, :, positive]) ** 2
    found += (only + pseudo) * (slopes[fewer, :, negative] - slopes[more, :, positive]) ** 2
    found += (none + pseudo) * (slopes[fewer, :, negative] - slopes[more, :, negative]) ** 2
    return np.sqrt(found.sum(1))


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
        """Of the positive class of two, or of the most probable class of more."""
        index, probability = np.full(len(rows), positive or 0), np.empty(len(rows))
        for some in row_blocks(rows.scores):
            table, _ = softmax_and_normalizer(rows.scores[some])
            if positive is None:
                index[some] = table.argmax(1)
            probability[some] = np.take_along_axis(table, index[some, None], 1)[:, 0]
        return cls.in_bins(probability, rows.labels == index, rows.weight, rows.groups is None)

    @classmethod
    def in_bins(cls, probability: Floats, happened: NDArray[np.bool_], weight: Floats, are_independent: bool = True) -> Self:
        """Of rows with this probability of something, and whether it happened."""
        edges = np.unique(np.quantile(probability, np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
        bins, n_bins = np.searchsorted(edges, probability), len(edges) + 1
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
            float(chi2.sf(statistic, used.sum())) if are_independent else float("nan"),
        )

    def warning(self, what: str) -> str:
        """A sentence if the probabilities are not those of ``what``, beyond chance and by more than five per cent; else ""."""
        rate = float(self.observed @ self.counts / self.counts.sum())
        if not self.p_value < _SURE or self.distance <= _RELEVANT * min(rate, 1.0 - rate):
            return ""
        worst = int((np.abs(self.observed - self.predicted) * self.counts).argmax())
        return (
            f"The probabilities are not calibrated: of the rows with values around {self.predicted[worst]:.3g}, "
            f"{self.observed[worst]:.1%} are {what}. The rule corrects for this, but do not use the values as probabilities."
        )

    def as_json(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).tolist() for name in ("predicted", "observed", "counts")}
        return {**arrays, "distance": self.distance, "p_value": None if np.isnan(self.p_value) else self.p_value}
