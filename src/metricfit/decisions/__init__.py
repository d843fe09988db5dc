"""Decisions: from scores to answers. Offsets, calibration, and a guard that chooses among candidates."""

from metricfit.decisions._calibration import NEVER, best_temperature, cross_entropy, fit_temperature, known_rows
from metricfit.decisions._guard import Guard
from metricfit.decisions._hard import hard_confusion, metric_values
from metricfit.decisions._offsets import cross_fit_offsets, decide, fit_cut, fit_offsets, fit_smooth_offsets, tune_offsets

__all__ = [
    "NEVER",
    "Guard",
    "best_temperature",
    "cross_entropy",
    "cross_fit_offsets",
    "decide",
    "fit_cut",
    "fit_offsets",
    "fit_smooth_offsets",
    "fit_temperature",
    "hard_confusion",
    "known_rows",
    "metric_values",
    "tune_offsets",
]
