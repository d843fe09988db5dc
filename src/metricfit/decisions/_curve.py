"""A metric of two classes over all thresholds, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from metricfit._typing import Floats
from metricfit.decisions._constraints import SHARES
from metricfit.decisions._intervals import bounded_interval
from metricfit.decisions._promise import Path
from metricfit.decisions._solve import Rows
from metricfit.metrics import Custom, Metric

POINTS = 200
_Z = 1.959964


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
        path = Path.of(rows.scores, positive)
        cuts = np.unique(np.linspace(0, len(path.sizes) - 1, POINTS).astype(np.int64))
        matrices = path.two_by_two(rows.labels == positive, rows.weight)[cuts]  # the positive class is second
        values, slopes = _values_and_slopes(metric, matrices if positive == 1 else matrices[:, ::-1, ::-1])
        slopes = slopes if positive == 1 else slopes[:, ::-1, ::-1]
        low, high = bounded_interval(values, np.sqrt((matrices * slopes**2).sum((1, 2))), metric.bounds)
        thresholds = np.asarray(to_threshold(-path.shifts[cuts]), np.float64)
        top = int(values.argmax())
        near = thresholds[values[top] - values <= _Z * _difference_errors(matrices, slopes, top)]
        shares = {}
        for name in ("precision", "recall", "fpr", "predicted_rate"):
            hits, trials = SHARES[name].counts(matrices, 1)
            shares[name] = np.divide(hits, trials, out=np.zeros_like(hits), where=trials > 0)
        return cls(thresholds, values, low, high, **shares, best=(float(near.min()), float(near.max())))


def _values_and_slopes(metric: Metric, matrices: Floats) -> tuple[Floats, Floats]:
    """The metric of each matrix and its derivative by the matrix."""
    leaves = torch.tensor(matrices.copy(), requires_grad=True)
    with torch.enable_grad():
        values = torch.stack([metric(one) for one in leaves]) if isinstance(metric, Custom) else metric(leaves)
        (slopes,) = torch.autograd.grad(values.sum(), leaves)
    return values.detach().nan_to_num().numpy(), slopes.nan_to_num().numpy()


def _difference_errors(matrices: Floats, slopes: Floats, top: int) -> Floats:
    """Standard errors of the differences from cut ``top``: the rows predicted as positive are nested (delta method)."""
    index = np.arange(len(matrices))
    fewer, more = np.minimum(index, top), np.maximum(index, top)
    both, only, none = matrices[fewer, :, 1], matrices[more, :, 1] - matrices[fewer, :, 1], matrices[more, :, 0]
    squares = both * (slopes[fewer, :, 1] - slopes[more, :, 1]) ** 2
    squares += only * (slopes[fewer, :, 0] - slopes[more, :, 1]) ** 2
    squares += none * (slopes[fewer, :, 0] - slopes[more, :, 0]) ** 2
    return np.sqrt(squares.sum(1))
