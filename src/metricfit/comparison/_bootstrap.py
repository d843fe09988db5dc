"""Intervals and p-values on a test set: a paired bootstrap over its rows (Efron and Tibshirani 1993, chapters 13 and 16).

Rows are drawn with replacement and without regard to their classes: another test set would have other class sizes, too. All
contenders see the same draws. The models are fitted once, so that an interval is about these models and new rows; it does
not say how much another training set would change.

A confusion matrix needs only how often each combination of the true class and all predictions occurs. So a draw of n rows is
one draw of a multinomial distribution over the distinct combinations, which are few.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from metricfit._typing import Floats, Ints
from metricfit.comparison._statistics import LEVEL, Estimate, Limits, difference_limits, no_interval
from metricfit.decisions import metric_values
from metricfit.metrics import Metric

N_RESAMPLES = 5000  # enough for intervals that are corrected for several comparisons
FEWEST_TEST_ROWS = 30  # fewer rows give no interval and no p-value
MOST_NUMBERS = 10_000_000  # in memory at once


@dataclass(frozen=True)
class TestScores:
    """The score of every contender on the test set, and its scores on the resampled test sets."""

    __test__ = False  # for pytest: not a test

    scores: Mapping[str, float]
    resampled: Mapping[str, Floats]
    limits: Limits
    n_rows: int

    def estimate(self, name: str) -> Estimate:
        return self._percentiles(self.scores[name], self.resampled[name], LEVEL).within(self.limits)

    def difference(self, name: str, other: str, level: float = LEVEL) -> Estimate:
        value, drawn = self.scores[name] - self.scores[other], self.resampled[name] - self.resampled[other]
        return self._percentiles(value, drawn, level).within(difference_limits(self.limits))

    def _percentiles(self, value: float, drawn: Floats, level: float) -> Estimate:
        return percentile_estimate(value, drawn, level) if self.n_rows >= FEWEST_TEST_ROWS else no_interval(value)


def percentile_estimate(value: float, drawn: Floats, level: float = LEVEL) -> Estimate:
    """The percentile interval, and the p-value that belongs to it: twice the share of draws on the other side of zero.

    The ends are draws. So the interval excludes zero exactly if p is below the level.

    >>> percentile_estimate(0.5, np.linspace(0.0, 1.0, 1001)[1:])  # doctest: +ELLIPSIS
    Estimate(mean=0.5, low=0.025, high=0.976, p=0.00199...)
    """
    ordered, n_draws = np.sort(drawn), len(drawn)
    n_outside = max(math.ceil(level * (n_draws + 1) / 2.0 - 1.0), 1)  # on each side, with the end
    low, high = float(ordered[n_outside - 1]), float(ordered[-n_outside])
    beyond = float((drawn <= 0.0).sum() if value > 0.0 else (drawn >= 0.0).sum() if value < 0.0 else n_draws)
    p = min(1.0, 2.0 * (1.0 + beyond) / (1.0 + n_draws))
    if low == high == value:  # equal in all draws: without variance there is no test
        p = 1.0
    return Estimate(value, min(low, value), max(high, value), p)


def resample_scores(
    measure: Metric, predicted: Mapping[str, Ints], labels: Ints, n_classes: int, seed: int, n_resamples: int = N_RESAMPLES
) -> dict[str, Floats]:
    """The metric of every contender on each of the resampled test sets, the same sets for all."""
    rows = np.stack([labels, *predicted.values()], 1)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    cells = {name: distinct[:, 0] * n_classes + distinct[:, place] for place, name in enumerate(predicted, 1)}
    n_cells = n_classes * n_classes
    sums = {
        name: csr_matrix((np.ones(len(own)), (np.arange(len(own)), own)), shape=(len(own), n_cells))
        for name, own in cells.items()
    }
    random, found = np.random.default_rng(seed), {name: list[Floats]() for name in predicted}
    at_once = max(1, MOST_NUMBERS // max(len(distinct), n_cells))
    for begin in range(0, n_resamples, at_once):
        size = min(at_once, n_resamples - begin)
        drawn = random.multinomial(len(labels), counts / len(labels), size=size).astype(np.float64)
        for name, own in sums.items():
            matrices = np.ascontiguousarray((drawn @ own).reshape(size, n_classes, n_classes))
            found[name].append(metric_values(measure, matrices))
    return {name: np.concatenate(parts) for name, parts in found.items()}
