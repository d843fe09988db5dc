"""Metrics: functions of the confusion matrix (k, k); larger is better."""

from metricfit.metrics._accuracy import Accuracy, BalancedAccuracy, GMean
from metricfit.metrics._agreement import CohenKappa, MatthewsCorrelation
from metricfit.metrics._averaged import FBeta, FowlkesMallows, Jaccard, Precision, Recall
from metricfit.metrics._base import Custom, Metric
from metricfit.metrics._cost import Cost
from metricfit.metrics._registry import MetricLike, get, name_of, names

__all__ = [
    "Accuracy",
    "BalancedAccuracy",
    "CohenKappa",
    "Cost",
    "Custom",
    "FBeta",
    "FowlkesMallows",
    "GMean",
    "Jaccard",
    "MatthewsCorrelation",
    "Metric",
    "MetricLike",
    "Precision",
    "Recall",
    "get",
    "name_of",
    "names",
]
