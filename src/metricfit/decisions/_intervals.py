"""Confidence intervals of metrics and shares."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri

from metricfit._typing import Floats, Ints
from metricfit.decisions._constraints import ACCURACY, SHARES, Share
from metricfit.decisions._guard import Guard
from metricfit.decisions._hard import hard_confusion
from metricfit.metrics import FBeta, Jaccard, Metric, Precision, Recall

LEVEL = 0.95
Interval = tuple[float, float]


def binomial_interval(hits: Floats | float, trials: Floats | float, level: float = LEVEL) -> tuple[Floats, Floats]:
    """The exact interval of Clopper and Pearson for a share of which ``hits`` of ``trials`` were drawn.

    >>> low, high = binomial_interval(8, 10)
    >>> round(float(low), 3), round(float(high), 3)
    (0.444, 0.975)
    """
    hits, trials, tail = np.asarray(hits, np.float64), np.asarray(trials, np.float64), 0.5 * (1.0 - level)
    misses = trials - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-300), misses + 1.0, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1.0, np.maximum(misses, 1e-300), 1.0 - tail), 1.0)
    return low, high


def share_interval(share: Share, matrix: Floats, index: int, level: float = LEVEL) -> Interval:
    """The exact interval of a share of rows."""
    low, high = binomial_interval(*share.counts(matrix, index), level)
    return float(share.value(low)), float(share.value(high))


def metric_interval(
    metric: Metric,
    predicted: Ints,
    labels: Ints,
    weight: Floats,
    n_classes: int,
    groups: Ints | None = None,
    level: float = LEVEL,
) -> Interval:
    """The interval of a metric of decisions: exact where the metric is a share of rows, else by the delta method.

    The delta method is applied to the logit of the metric's position between its bounds, so the interval stays within them.
    Rows of one group count as one draw.
    """
    share, index = _as_share(metric)
    if share is not None and groups is None and (weight == 1.0).all():
        return share_interval(share, hard_confusion(predicted, labels, weight, n_classes), index, level)
    guard = Guard(labels, weight, n_classes, metric)
    low, high = bounded_interval(guard.value(predicted), guard.standard_error(predicted, groups), metric.bounds, level)
    return float(low), float(high)


def bounded_interval(
    value: Floats | float, error: Floats | float, bounds: tuple[float, float], level: float = LEVEL
) -> tuple[Floats, Floats]:
    """The normal interval of the logit of the value's position between its bounds; a value at a bound has no width."""
    start, width = bounds[0], (bounds[1] - bounds[0]) or 1.0
    position = np.clip((np.asarray(value) - start) / width, 1e-12, 1.0 - 1e-12)
    step = ndtri(0.5 + 0.5 * level) * np.asarray(error) / (width * position * (1.0 - position))
    low, high = (start + width * expit(logit(position) + side * step) for side in (-1.0, 1.0))
    return np.minimum(low, value), np.maximum(high, value)


def _as_share(metric: Metric) -> tuple[Share | None, int]:
    """How a metric is a share of rows, if it is one, and of which class."""
    if metric.counts_hits:
        return ACCURACY, 0
    if isinstance(metric, Precision | Recall | Jaccard | FBeta) and metric.average == "binary":
        if isinstance(metric, FBeta):
            return (SHARES["f1"], metric.positive) if metric.beta == 1.0 else (None, 0)
        return SHARES[type(metric).__name__.lower()], metric.positive
    return None, 0
