"""Numerically accurate building blocks: the race of normal noise, safe division. Not a public interface."""

from metricfit.numerics._operators import NormalLogWin, NormalWinAll, forbid_second_derivative, normal_log_win
from metricfit.numerics._orthant import log_orthant, log_orthant_slope
from metricfit.numerics._race import LARGEST_GAP, clip_gaps
from metricfit.numerics._safe import floor_of, safe_divide, safe_log, safe_sqrt

__all__ = [
    "LARGEST_GAP",
    "NormalLogWin",
    "NormalWinAll",
    "clip_gaps",
    "floor_of",
    "forbid_second_derivative",
    "log_orthant",
    "log_orthant_slope",
    "normal_log_win",
    "safe_divide",
    "safe_log",
    "safe_sqrt",
]
