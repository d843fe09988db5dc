r"""Confidence intervals and p-values for means over repeated cross-validation splits.

Training sets of repeated splits overlap. So scores are not independent, and the usual variance :math:`s^2/m` is too small.
Nadeau and Bengio ("Inference for the generalization error", Machine Learning 52, 2003, Section 3) add the ratio of test to
training rows:

.. math:: \mathrm{Var} \approx s^2 \left(\frac1m + \frac{n_\text{test}}{n_\text{train}}\right)

Several differences share one error level. Holm's method gives each p-value a factor, and the interval of the same difference
has the level 0.05 divided by that factor (Serlin, "Confidence intervals and the scientific method", Journal of Experimental
Education 61, 1993). So an interval excludes zero exactly if its p-value after Holm is below 0.05.

On a test set there is a paired bootstrap over its rows (Efron and Tibshirani 1993, chapters 13 and 16). Rows are drawn with
replacement and without regard to their classes: another test set would have other class sizes, too. All contenders see the
same draws. The models are fitted once, so that an interval is about these models and new rows; it does not say how much
another training set would change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.sparse import csr_matrix

from metricfit._typing import Floats, Ints
from metricfit.decisions import hard_confusion, metric_values
from metricfit.metrics import Cost, Custom, Metric

LEVEL = 0.05  # of intervals and of p-values after Holm
FEWEST_SCORES = 5  # of a contender; fewer give no interval and no p-value
FEWEST_TEST_ROWS = 30  # the same of a test set
N_RESAMPLES = 5000  # enough for intervals that are corrected for several comparisons
MOST_NUMBERS = 10_000_000  # in memory at once
MOST_ANSWERS = 50  # classes that are tried as a constant answer
BETTER, WORSE, CHANCE, UNKNOWN = "better", "worse", "chance", "unknown"  # what is known of a difference

Bounds = tuple[float, float] | None  # the smallest and the largest possible value, if these are known


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, and the two-sided p-value of the hypothesis that it is zero.

    Without an interval (``known`` is false) the ends are infinite and p is 1.
    """

    mean: float
    low: float
    high: float
    p: float

    @property
    def known(self) -> bool:
        """Whether there is an interval; with too few scores there is none."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def within(self, bounds: Bounds) -> Estimate:
        """The interval cut off at the bounds of the metric; the mean stays in it.

        >>> Estimate(0.9, 0.7, 1.1, 0.01).within((0.0, 1.0))
        Estimate(mean=0.9, low=0.7, high=1.0, p=0.01)
        """
        if bounds is None or not self.known:
            return self
        low, high = min(max(self.low, bounds[0]), self.mean), max(min(self.high, bounds[1]), self.mean)
        return Estimate(self.mean, low, high, self.p)


@dataclass(frozen=True)
class Difference(Estimate):
    """The paired difference of two contenders. Its interval agrees with its p-value after Holm; ``p`` is before."""

    p_holm: float = 1.0

    @property
    def evidence(self) -> str:
        """What is known of a difference: an interval above or below zero shows one, and so does its p-value, which agrees.

        >>> Difference(0.1, 0.05, 0.15, 0.001, 0.003).evidence, Difference(0.1, -0.05, 0.25, 0.1, 0.3).evidence
        ('better', 'chance')
        """
        if not self.known:
            return UNKNOWN
        return BETTER if self.low > 0.0 else WORSE if self.high < 0.0 else CHANCE

    @property
    def is_constant(self) -> bool:
        """Whether all values were equal: then there is no scatter, and no p-value."""
        return self.low == self.high

    @property
    def is_tested(self) -> bool:
        """Whether there is a p-value."""
        return self.known and not self.is_constant


def corrected_estimate(values: Sequence[float] | Floats, test_share: float, level: float = LEVEL) -> Estimate:
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


def bounds_of(measure: Metric) -> Bounds:
    """The bounds of the metric; a user's own function has none unless it says so."""
    return None if isinstance(measure, Custom) and measure.limits is None else measure.bounds


def margin_in_units(margin: float, measure: Metric, constant: float) -> float:
    """The margin in units of the metric: as it is, or for costs a share of the cost of a constant answer.

    A function without bounds may have any unit, too.

    >>> from metricfit import metrics
    >>> margin_in_units(0.01, metrics.get("f1"), 0.5), margin_in_units(0.01, metrics.Cost([[0, 1], [5, 0]]), -0.5)
    (0.01, 0.005)
    """
    return margin * abs(constant) if isinstance(measure, Cost) or bounds_of(measure) is None else margin


def difference_bounds(bounds: Bounds) -> Bounds:
    """The bounds of a difference of two values.

    >>> difference_bounds((0.0, 1.0)), difference_bounds((-1.0, 1.0))
    ((-1.0, 1.0), (-2.0, 2.0))
    """
    return None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])


def score_of(metric: Metric, predicted: Ints, labels: Ints, n_classes: int) -> float:
    """The metric of predictions, all rows alike."""
    return float(metric_values(metric, hard_confusion(predicted, labels, np.ones(len(labels)), n_classes)))


def constant_scores(metric: Metric, counts: Ints) -> dict[int, float]:
    """The metric of every constant answer, for classes of these sizes. Of many classes only the largest are tried.

    >>> from metricfit import metrics
    >>> constant_scores(metrics.get("accuracy"), np.array([1, 3]))
    {1: 0.75, 0: 0.25}
    """
    largest = np.argsort(-counts, kind="stable")[:MOST_ANSWERS]
    matrices = np.zeros((len(largest), len(counts), len(counts)))
    matrices[np.arange(len(largest)), :, largest] = counts
    values = np.nan_to_num(metric_values(metric, matrices), nan=-np.inf)
    return dict(zip(largest.tolist(), values.tolist(), strict=True))


@dataclass(frozen=True)
class Scores:
    """The scores of all contenders, and the estimates that follow: of each, and of the paired difference of any two.

    A contender has one score per split, or its score on the test set and then those on the resampled test sets.
    """

    values: Mapping[str, Floats]
    estimate_of: Callable[[Floats, float], Estimate]  # by values and a level
    bounds: Bounds

    def estimate(self, name: str) -> Estimate:
        return self.estimate_of(self.values[name], LEVEL).within(self.bounds)

    def difference(self, name: str, other: str, level: float = LEVEL) -> Estimate:
        return self.estimate_of(self.values[name] - self.values[other], level).within(difference_bounds(self.bounds))


def estimate_of_splits(values: Floats, level: float, *, test_share: float) -> Estimate:
    """The corrected estimate; with too few scores there is no interval."""
    return corrected_estimate(values, test_share, level) if len(values) >= FEWEST_SCORES else no_interval(float(values.mean()))


def estimate_of_test(values: Floats, level: float, *, n_rows: int) -> Estimate:
    """The bootstrap's estimate; with too few test rows there is no interval."""
    value = float(values[0])
    return percentile_estimate(value, values[1:], level) if n_rows >= FEWEST_TEST_ROWS else no_interval(value)


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
    """The metric of every contender on each of the resampled test sets, the same sets for all.

    A confusion matrix needs only how often each combination of the true class and all predictions occurs. So a draw of n rows
    is one draw of a multinomial distribution over the distinct combinations, which are few.
    """
    rows = np.stack([labels, *predicted.values()], 1)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    cells = {name: distinct[:, 0] * n_classes + distinct[:, index] for index, name in enumerate(predicted, 1)}
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


def differences(scores: Scores, names: Sequence[str], other: str, planned: str | None = None) -> dict[str, Difference]:
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
        own = scores.difference(name, other, LEVEL / factor)
        found[name] = Difference(own.mean, own.low, own.high, own.p, p_holm)
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
