"""Estimators for scikit-learn."""

from metricfit.estimators._classifier import MetricClassifier
from metricfit.estimators._offset_classifier import OffsetClassifier

__all__ = ["MetricClassifier", "OffsetClassifier"]
