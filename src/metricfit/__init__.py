"""Train a classifier for the metric it will be judged on.

``scores -> smoothing -> confusion -> metric -> objective``: each arrow is a function on tensors, and one can stop half-way.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from metricfit import functional, links, metrics, schedules, smoothing
from metricfit._checks import set_default_validate_args
from metricfit.confusion import confusion_matrix
from metricfit.gradients import GradientNormalizer
from metricfit.objectives import (
    DiceLoss,
    EastLoss,
    ExactLoss,
    ExpectedErrorLoss,
    HingeLoss,
    LeakyExpectedErrorLoss,
    MetricLoss,
    accumulate_gradients,
)
from metricfit.scores import binary_scores

if TYPE_CHECKING:
    from metricfit.estimators import MetricClassifier, OffsetClassifier, tune_offsets

__version__ = version("metricfit")
_ESTIMATORS = ("MetricClassifier", "OffsetClassifier", "tune_offsets")

__all__ = [
    "DiceLoss",
    "EastLoss",
    "ExactLoss",
    "ExpectedErrorLoss",
    "GradientNormalizer",
    "HingeLoss",
    "LeakyExpectedErrorLoss",
    "MetricClassifier",
    "MetricLoss",
    "OffsetClassifier",
    "__version__",
    "accumulate_gradients",
    "binary_scores",
    "confusion_matrix",
    "functional",
    "links",
    "metrics",
    "schedules",
    "set_default_validate_args",
    "smoothing",
    "tune_offsets",
]


def __getattr__(name: str) -> Any:
    """The estimators, when they are first asked for: a training loop does not wait for scikit-learn."""
    if name in _ESTIMATORS:
        from metricfit import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
