"""Metrics: functions of the confusion matrix (k, k); larger is better."""

from metricfit.metrics._accuracy import Accuracy, BalancedAccuracy, GMean
from metricfit.metrics._agreement import CohenKappa, MatthewsCorrelation
from metricfit.metrics._averaged import (
    Averaged,
    FBeta,
    FowlkesMallows,
    Jaccard,
    Multilabel,
    Precision,
    Recall,
    counted_classes,
)
from metricfit.metrics._base import Counts, CountsMetric, Custom, Metric, needs_counts_only
from metricfit.metrics._cost import Cost
from metricfit.metrics._plain import metric_from_plain, metric_to_plain
from metricfit.metrics._registry import REGISTRY, MetricLike, get, name_of, names
from metricfit.metrics._resolve import Resolved, order_of, positive_of, resolve_metric, with_average
from metricfit.numerics import masked_mean, occurs

__all__ = [
    "REGISTRY",
    "Accuracy",
    "Averaged",
    "BalancedAccuracy",
    "CohenKappa",
    "Cost",
    "Counts",
    "CountsMetric",
    "Custom",
    "FBeta",
    "FowlkesMallows",
    "GMean",
    "Jaccard",
    "MatthewsCorrelation",
    "Metric",
    "MetricLike",
    "Multilabel",
    "Precision",
    "Recall",
    "Resolved",
    "counted_classes",
    "get",
    "masked_mean",
    "metric_from_plain",
    "metric_to_plain",
    "name_of",
    "names",
    "needs_counts_only",
    "occurs",
    "order_of",
    "positive_of",
    "resolve_metric",
    "with_average",
]
