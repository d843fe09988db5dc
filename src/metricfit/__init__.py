"""Train a classifier for the metric it will be judged on.

``scores -> smoothing -> confusion -> metric -> objective``: each arrow is a function on tensors, and one can stop half-way.
"""

from importlib.metadata import version

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

__version__ = version("metricfit")

__all__ = [
    "DiceLoss",
    "EastLoss",
    "ExactLoss",
    "ExpectedErrorLoss",
    "GradientNormalizer",
    "HingeLoss",
    "LeakyExpectedErrorLoss",
    "MetricLoss",
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
]
