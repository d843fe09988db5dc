r"""Confidence intervals and p-values for means over repeated cross-validation splits.

Training sets of repeated splits overlap. So scores are not independent, and the usual variance :math:`s^2/m` is too small.
Nadeau and Bengio ("Inference for the generalization error", Machine Learning 52, 2003, Section 3) add the ratio of test to
training rows:

.. math:: \mathrm{Var} \approx s^2 \left(\frac1m + \frac{n_\text{test}}{n_\text{train}}\right)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, and the two-sided p-value of the hypothesis that it is zero."""

    mean: float
    low: float
    high: float
    p: float


def corrected_estimate(values: Sequence[float], test_share: float) -> Estimate:
    r"""Mean of one value per split; ``test_share`` is :math:`n_\text{test}/n_\text{train}`, 1/4 for five folds.

    For 1, 2 and 3 the mean is 2, the variance :math:`1 \cdot (1/3 + 1/4)`, and t with two degrees of freedom is 2.62:

    >>> corrected_estimate([1.0, 2.0, 3.0], 0.25)  # doctest: +ELLIPSIS
    Estimate(mean=2.0, low=-1.286..., high=5.286..., p=0.1201...)
    """
    mean, n_values = float(np.mean(values)), len(values)
    if n_values < 2:
        return Estimate(mean, -math.inf, math.inf, 1.0)
    error = math.sqrt(float(np.var(values, ddof=1)) * (1.0 / n_values + test_share))
    if error <= 1e-12 * abs(mean):  # equal on all splits: without variance there is no test
        return Estimate(mean, mean, mean, 1.0)
    reach = error * float(stats.t.ppf(0.975, n_values - 1))
    return Estimate(mean, mean - reach, mean + reach, float(2.0 * stats.t.sf(abs(mean) / error, n_values - 1)))


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
