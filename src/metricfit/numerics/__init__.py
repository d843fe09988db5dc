"""Accurate building blocks: the race of normal noise, division and means defined at zero. Not a public interface."""

from metricfit.numerics._operators import NormalWinAll, forbid_second_derivative, normal_log_win
from metricfit.numerics._safe import masked_mean, occurs, safe_divide, safe_log, safe_sqrt
from metricfit.numerics._sampled import genz_log_label, monte_carlo_assign

__all__ = [
    "NormalWinAll",
    "forbid_second_derivative",
    "genz_log_label",
    "masked_mean",
    "monte_carlo_assign",
    "normal_log_win",
    "occurs",
    "safe_divide",
    "safe_log",
    "safe_sqrt",
]
