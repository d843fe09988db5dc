"""Losses: smoothing, confusion matrix, metric and link combined into a value to minimise."""

from metricfit.objectives._accumulate import accumulate_gradients
from metricfit.objectives._modules import (
    ClassificationLoss,
    CrossEntropyLoss,
    DiceLoss,
    EastLoss,
    ExactLoss,
    ExpectedErrorLoss,
    HingeLoss,
    LeakyExpectedErrorLoss,
    MetricLoss,
)

__all__ = [
    "ClassificationLoss",
    "CrossEntropyLoss",
    "DiceLoss",
    "EastLoss",
    "ExactLoss",
    "ExpectedErrorLoss",
    "HingeLoss",
    "LeakyExpectedErrorLoss",
    "MetricLoss",
    "accumulate_gradients",
]
