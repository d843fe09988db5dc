"""Numerically accurate building blocks: the race of normal noise, safe division. Not a public interface."""

from metricfit.numerics._operators import NormalWinAll, forbid_second_derivative, normal_log_win
from metricfit.numerics._safe import floor_of, safe_divide, safe_log, safe_sqrt
from metricfit.numerics._sampled import genz_log_label, monte_carlo_assign

__all__ = [
    "NormalWinAll",
    "floor_of",
    "forbid_second_derivative",
    "genz_log_label",
    "monte_carlo_assign",
    "normal_log_win",
    "safe_divide",
    "safe_log",
    "safe_sqrt",
]
