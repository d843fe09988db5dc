"""The normal distribution function of one number, in float64."""

from __future__ import annotations

import math

from numba import njit

from metricfit.numerics.fused._lattice import LOG_SQRT_2PI, SQRT_2
from metricfit.numerics.fused._options import INNER


@njit(**INNER)
def cdf_parts(x):
    r""":math:`\log\Phi(x)` and :math:`r(x) = \varphi(x)/\Phi(x)`, in float64."""
    if x < -12.0:  # continued fraction of the Mills ratio: sixteen levels are exact to rounding here
        fraction = 0.0
        for level in range(16, 0, -1):
            fraction = level / (fraction - x)
        r = fraction - x
        return -0.5 * x * x - LOG_SQRT_2PI - math.log(r), r
    density = math.exp(-0.5 * x * x - LOG_SQRT_2PI)
    if x < 0.0:
        below = 0.5 * math.erfc(-x / SQRT_2)
        return math.log(below), density / below
    above = 0.5 * math.erfc(x / SQRT_2)
    return math.log1p(-above), density / (1.0 - above)
