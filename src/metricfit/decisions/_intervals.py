"""Confidence intervals of metrics and shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtr, ndtri

from metricfit._typing import Floats, Ints
from metricfit.decisions._constraints import ACCURACY, COST, SHARES, ClassConstraint, Share, ShareMetric
from metricfit.decisions._guard import Guard
from metricfit.decisions._hard import metric_values, values_and_slopes
from metricfit.decisions._rows import Rows
from metricfit.metrics import FBeta, Jaccard, Metric, Precision, Recall

LEVEL, Z = 0.95, 1.959964  # of all intervals, and its normal quantile
PSEUDO_ROWS = 4.0  # two hits and two misses (Agresti and Coull, 1998)
Interval = tuple[float, float]


def binomial_interval(hits: Floats | float, trials: Floats | float) -> tuple[Floats, Floats]:
    """The exact 95 % interval of Clopper and Pearson for a share of which ``hits`` of ``trials`` were drawn.

    >>> low, high = binomial_interval(8, 10)
    >>> round(float(low), 3), round(float(high), 3)
    (0.444, 0.975)
    """
    hits, trials, tail = np.asarray(hits, np.float64), np.asarray(trials, np.float64), 0.5 * (1.0 - LEVEL)
    misses = trials - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-300), misses + 1.0, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1.0, np.maximum(misses, 1e-300), 1.0 - tail), 1.0)
    return low, high


def share_interval(share: Share, matrix: Floats, index: int) -> Interval:
    """The exact interval of a share of rows."""
    low, high = binomial_interval(*share.counts(matrix, index))
    return float(share.value(low)), float(share.value(high))


def metric_interval(metric: Metric, predicted: Ints, rows: Rows) -> Interval:
    """The interval of a metric of decisions: exact where the metric is a share of rows, else by the delta method.

    The delta method is applied to the logit of the metric's position between its bounds, so the interval stays within them.
    Four pseudo-rows, which all cells share, keep a cell without rows from looking certain. A row is one draw whatever its
    weight, and so are the rows of one group.
    """
    share, index = as_share(metric)
    matrix, mean = rows.confusion(predicted), float(rows.weight.mean())
    if share is not None and rows.are_independent:
        return share_interval(share, matrix, index)
    pseudo = pseudo_rows(matrix) * mean
    (value, slope) = (found[0] for found in values_and_slopes(metric, (matrix + pseudo)[None]))
    draws = rows.sums_by_draw(rows.weight * slope[rows.labels, predicted])
    squares = float(draws @ draws) + mean * float((pseudo * slope**2).sum())
    low, high = bounded_interval(value, np.sqrt(squares), metric.bounds)
    exact = float(np.nan_to_num(metric_values(metric, matrix), nan=value))
    return min(float(low), exact), max(float(high), exact)


def constraint_interval(one: ClassConstraint, predicted: Ints, rows: Rows) -> tuple[float, Interval]:
    """The value of a constrained quantity and its interval, exact for a share of rows that are draws of their own."""
    matrix, share = rows.confusion(predicted), one.constraint.share
    value = float(one.values(matrix))
    if share is not None and rows.are_independent:
        return value, share_interval(share, matrix, one.index)
    metric = ShareMetric(share, one.index) if share is not None and share is not ACCURACY else one.metric
    low, high = metric_interval(metric, predicted, rows)
    return value, (-high, -low) if one.constraint.quantity == COST else (low, high)


def gain_interval(metric: Metric, one: Ints, other: Ints, rows: Rows) -> Interval:
    """The interval of the difference of a metric between two decisions about the same rows, by the delta method.

    The pseudo-rows of :func:`metric_interval` have all pairs of decisions alike.
    """
    matrices = np.stack([rows.confusion(predicted) for predicted in (one, other)])
    mean, pseudo, labels, n_classes = float(rows.weight.mean()), pseudo_rows(matrices), rows.labels, rows.n_classes
    _, (first, second) = values_and_slopes(metric, matrices + pseudo * mean)
    draws = rows.sums_by_draw(rows.weight * (first[labels, one] - second[labels, other]))
    # the sum of (first[y, a] - second[y, b])^2 over all pairs of decisions, for every class y
    pairs = n_classes * ((first**2).sum(1) + (second**2).sum(1)) - 2.0 * first.sum(1) * second.sum(1)
    squares = float(draws @ draws) + mean**2 * float(pseudo[0][:, 0] @ pairs) / n_classes
    gain, error = float(np.subtract(*np.nan_to_num(metric_values(metric, matrices)))), float(np.sqrt(squares))
    return gain - Z * error, gain + Z * error


def gain_p_value(gain: float, interval: Interval) -> float:
    """P-value of a gain of zero, from the normal interval of the gain."""
    error = (interval[1] - interval[0]) / (2.0 * Z)
    return float(2.0 * ndtr(-abs(gain) / error)) if error > 0.0 else float(gain == 0.0)


@dataclass(frozen=True)
class Judgement:
    """The metric of the answers of a rule, and of plain answers to the same rows."""

    score: float
    score_interval: Interval
    baseline: float
    gain_interval: Interval
    is_cross_fitted: bool  # whether the answers come from rules of the other rows

    @property
    def gain(self) -> float:
        return self.score - self.baseline

    @classmethod
    def of(cls, metric: Metric, predicted: Ints, plain: Ints, rows: Rows, is_cross_fitted: bool) -> Self:
        guard = Guard(rows.labels, rows.weight, rows.n_classes, metric)
        of_score, of_gain = metric_interval(metric, predicted, rows), gain_interval(metric, predicted, plain, rows)
        return cls(guard.value(predicted), of_score, guard.value(plain), of_gain, is_cross_fitted)


def ends(interval: Interval) -> str:
    return f"{interval[0]:.4f} … {interval[1]:.4f}"


def pseudo_rows(matrices: Floats) -> Floats:
    """Four rows for the cells of matrices (..., k, k), in the classes that have rows."""
    return np.where(matrices.sum(-1, keepdims=True) > 0.0, PSEUDO_ROWS / matrices.shape[-1] ** 2, 0.0) * np.ones_like(matrices)


def bounded_interval(value: Floats | float, error: Floats | float, bounds: tuple[float, float]) -> tuple[Floats, Floats]:
    """The normal interval of the logit of the value's position between its bounds."""
    start, width = bounds[0], (bounds[1] - bounds[0]) or 1.0
    position = np.clip((np.asarray(value) - start) / width, 1e-12, 1.0 - 1e-12)
    step = ndtri(0.5 + 0.5 * LEVEL) * np.asarray(error) / (width * position * (1.0 - position))
    low, high = (start + width * expit(logit(position) + side * step) for side in (-1.0, 1.0))
    return np.minimum(low, value), np.maximum(high, value)


def as_share(metric: Metric) -> tuple[Share | None, int]:
    """How a metric is a share of rows, if it is one, and of which class."""
    if metric.counts_hits:
        return ACCURACY, 0
    if isinstance(metric, Precision | Recall | Jaccard | FBeta) and metric.average == "binary":
        if isinstance(metric, FBeta):
            return (SHARES["f1"], metric.positive) if metric.beta == 1.0 else (None, 0)
        return SHARES[type(metric).__name__.lower()], metric.positive
    return None, 0
