"""A metric of two classes over all thresholds, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from metricfit._typing import Floats
from metricfit.decisions._constraints import SHARES
from metricfit.decisions._hard import metric_values
from metricfit.decisions._intervals import Z, as_share, binomial_interval, bounded_interval, pseudo_rows, values_and_slopes
from metricfit.decisions._promise import Path
from metricfit.decisions._solve import Rows
from metricfit.metrics import Metric

POINTS = 200


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
        near = thresholds[values[top] - values <= Z * errors]
        shares = {}
        for name in ("precision", "recall", "fpr", "predicted_rate"):
            hits, trials = SHARES[name].counts(matrices, positive)
            shares[name] = np.divide(hits, trials, out=np.zeros_like(hits), where=trials > 0)
        band = {"low": np.minimum(low, values), "high": np.maximum(high, values)}
        return cls(thresholds, values, **band, **shares, best=(float(near.min()), float(near.max())))


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
