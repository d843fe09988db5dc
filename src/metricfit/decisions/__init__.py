"""Decisions: from scores to answers. Offsets, calibration, and a guard that chooses among candidates."""

from metricfit.decisions._calibration import cross_entropy, fit_temperature
from metricfit.decisions._guard import Guard
from metricfit.decisions._hard import hard_confusion, metric_values
from metricfit.decisions._offsets import cross_fit_offsets, fit_offsets, tune_offsets

__all__ = [
    "Guard",
    "cross_entropy",
    "cross_fit_offsets",
    "fit_offsets",
    "fit_temperature",
    "hard_confusion",
    "metric_values",
    "tune_offsets",
]
