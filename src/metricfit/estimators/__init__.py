"""Estimators for scikit-learn."""

from metricfit.estimators._classifier import MetricClassifier
from metricfit.estimators._offset_classifier import OffsetClassifier
from metricfit.estimators._offsets import tune_offsets

__all__ = ["MetricClassifier", "OffsetClassifier", "tune_offsets"]
