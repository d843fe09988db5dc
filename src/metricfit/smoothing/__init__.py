"""Smoothing: scores (n, k) to a soft assignment (n, k) whose rows sum to one."""

from metricfit.smoothing._base import Smoothing
from metricfit.smoothing._hard import Hard
from metricfit.smoothing._normal import Normal
from metricfit.smoothing._softmax import Softmax
from metricfit.smoothing._softset import SoftSet

__all__ = ["Hard", "Normal", "Smoothing", "SoftSet", "Softmax"]
