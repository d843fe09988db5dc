"""Estimators for scikit-learn."""

from metricfit.estimators._base import check_label_types, check_limits, check_target
from metricfit.estimators._classifier import MetricClassifier
from metricfit.estimators._forms import MOST_FRAME_ROWS, OutOfReachError
from metricfit.estimators._kinds import CATEGORIES, DATES, DISTINCT_TEXT, NUMBERS, TEXT, kind_of
from metricfit.estimators._offset_classifier import OffsetClassifier
from metricfit.estimators._preprocess import MAX_CATEGORIES, MIN_FREQUENCY
from metricfit.estimators._shared import FitSpec, SharedFits
from metricfit.estimators._storage import UntrustedError, save

__all__ = [
    "CATEGORIES",
    "DATES",
    "DISTINCT_TEXT",
    "MAX_CATEGORIES",
    "MIN_FREQUENCY",
    "MOST_FRAME_ROWS",
    "NUMBERS",
    "TEXT",
    "FitSpec",
    "MetricClassifier",
    "OffsetClassifier",
    "OutOfReachError",
    "SharedFits",
    "UntrustedError",
    "check_label_types",
    "check_limits",
    "check_target",
    "kind_of",
    "save",
]
