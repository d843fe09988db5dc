r"""Confidence intervals and p-values for means over repeated cross-validation splits.

Training sets of repeated splits overlap. So scores are not independent, and the usual variance :math:`s^2/m` is too small.
Nadeau and Bengio ("Inference for the generalization error", Machine Learning 52, 2003, Section 3) add the ratio of test to
training rows:

.. math:: \mathrm{Var} \approx s^2 \left(\frac1m + \frac{n_\text{test}}{n_\text{train}}\right)

Several differences share one error level. Holm's method gives each p-value a factor, and the interval of the same difference
has the level 0.05 divided by that factor (Serlin, "Confidence intervals and the scientific method", Journal of Experimental
Education 61, 1993). So an interval excludes zero exactly if its p-value after Holm is below 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import stats

from metricfit.metrics import Cost, Metric
from metricfit.metrics._base import Custom

LEVEL = 0.05  # of intervals and of p-values after Holm
FEWEST_SCORES = 5  # of a contender; fewer give no interval and no p-value

Limits = tuple[float, float] | None  # the smallest and the largest possible value, if these are known


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, and the two-sided p-value of the hypothesis that it is zero.

    The interval of one of several differences is corrected for their number, ``p`` is not. Without an interval (``known`` is
    false) the ends are infinite and p is 1.
    """

    mean: float
    low: float
    high: float
    p: float

    @property
    def known(self) -> bool:
        """Whether there is an interval; with too few scores there is none."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def is_constant(self) -> bool:
        """Whether all values were equal: then there is no scatter, and no p-value."""
        return self.low == self.high

    def within(self, limits: Limits) -> Estimate:
        """The interval cut off at the limits of the metric; the mean stays in it.

        >>> Estimate(0.9, 0.7, 1.1, 0.01).within((0.0, 1.0))
        Estimate(mean=0.9, low=0.7, high=1.0, p=0.01)
        """
        if limits is None or not self.known:
            return self
        low, high = min(max(self.low, limits[0]), self.mean), max(min(self.high, limits[1]), self.mean)
        return Estimate(self.mean, low, high, self.p)


def corrected_estimate(values: Sequence[float], test_share: float, level: float = LEVEL) -> Estimate:
    r"""Mean of one value per split; ``test_share`` is :math:`n_\text{test}/n_\text{train}`, 1/4 for five folds.

    ``level`` is one minus the confidence of the interval.

    For 1, 2 and 3 the mean is 2, the variance :math:`1 \cdot (1/3 + 1/4)`, and t with two degrees of freedom is 2.62:

    >>> corrected_estimate([1.0, 2.0, 3.0], 0.25)  # doctest: +ELLIPSIS
    Estimate(mean=2.0, low=-1.286..., high=5.286..., p=0.1201...)
    """
    mean, n_values = float(np.mean(values)), len(values)
    if n_values < 2:
        return no_interval(mean)
    error = math.sqrt(float(np.var(values, ddof=1)) * (1.0 / n_values + test_share))
    if error <= 1e-12 * abs(mean):  # equal on all splits: without variance there is no test
        return Estimate(mean, mean, mean, 1.0)
    reach = error * float(stats.t.isf(level / 2.0, n_values - 1))
    return Estimate(mean, mean - reach, mean + reach, float(2.0 * stats.t.sf(abs(mean) / error, n_values - 1)))


def no_interval(mean: float) -> Estimate:
    return Estimate(mean, -math.inf, math.inf, 1.0)


def limits_of(measure: Metric) -> Limits:
    """The limits of the metric; a user's own function has none unless it says so."""
    return None if isinstance(measure, Custom) and measure.limits is None else measure.bounds


def margin_in_units(margin: float, measure: Metric, constant: float) -> float:
    """The margin in units of the metric: as it is, or for costs a share of the cost of a constant answer.

    A function without limits may have any unit, too.

    >>> from metricfit import metrics
    >>> margin_in_units(0.01, metrics.get("f1"), 0.5), margin_in_units(0.01, metrics.Cost([[0, 1], [5, 0]]), -0.5)
    (0.01, 0.005)
    """
    return margin * abs(constant) if isinstance(measure, Cost) or limits_of(measure) is None else margin


def difference_limits(limits: Limits) -> Limits:
    """The limits of a difference of two values.

    >>> difference_limits((0.0, 1.0)), difference_limits((-1.0, 1.0))
    ((-1.0, 1.0), (-2.0, 2.0))
    """
    return None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])


class Scores(Protocol):
    """What the scores of all contenders say: estimates of each, and of the paired difference of any two."""

    def estimate(self, name: str) -> Estimate: ...

    def difference(self, name: str, other: str, level: float = LEVEL) -> Estimate: ...


@dataclass(frozen=True)
class SplitScores:
    """One score per contender and split; ``test_share`` is the mean ratio of test to training rows."""

    scores: Mapping[str, Sequence[float]]
    test_share: float
    limits: Limits

    def estimate(self, name: str) -> Estimate:
        return self._corrected(self.scores[name], LEVEL).within(self.limits)

    def difference(self, name: str, other: str, level: float = LEVEL) -> Estimate:
        paired = [own - base for own, base in zip(self.scores[name], self.scores[other], strict=True)]
        return self._corrected(paired, level).within(difference_limits(self.limits))

    def _corrected(self, values: Sequence[float], level: float) -> Estimate:
        if len(values) < FEWEST_SCORES:
            return no_interval(float(np.mean(values)))
        return corrected_estimate(values, self.test_share, level)


def differences(
    scores: Scores, names: Sequence[str], other: str, planned: str | None = None
) -> dict[str, tuple[Estimate, float]]:
    """The difference of every contender to one of them, with an interval and a p-value that agree: both are after Holm.

    A ``planned`` contender was named before there were scores. Its p-value stands as it is, and does not count for the others:
    it has one half of the two-sided level, in which only gains count, and all others have the other half.
    """
    p_values = {name: scores.difference(name, other).p for name in names}
    compared = [name for name in names if name not in (other, planned)]
    adjusted = dict(zip(compared, holm([p_values[name] for name in compared]), strict=True))
    if planned is not None:
        adjusted[planned] = p_values[planned]
    found = {}
    for name, p in p_values.items():
        p_holm = adjusted.get(name, 1.0)
        factor = p_holm / p if p else len(compared)
        found[name] = scores.difference(name, other, LEVEL / factor), p_holm
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values: with m of them the smallest is multiplied by m, the next by m - 1, ...

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
