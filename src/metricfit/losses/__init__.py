"""Losses: smoothing, confusion matrix, metric and link combined into a value to minimise."""

from metricfit.losses._accumulate import accumulate_gradients, remember, two_passes
from metricfit.losses._base import ClassificationLoss, compute_loss_func
from metricfit.losses._baselines import CrossEntropyLoss, DiceLoss, HingeLoss, dice_loss, hinge_loss
from metricfit.losses._metric import MetricLoss, metric_loss
from metricfit.losses._objectives import PerRow
from metricfit.losses._papers import (
    EastLoss,
    ExactLoss,
    ExpectedErrorLoss,
    LeakyExpectedErrorLoss,
    east_loss,
    exact_loss,
    expected_error_loss,
    leaky_expected_error_loss,
)
from metricfit.losses._rows import LabelRows

__all__ = [
    "ClassificationLoss",
    "CrossEntropyLoss",
    "DiceLoss",
    "EastLoss",
    "ExactLoss",
    "ExpectedErrorLoss",
    "HingeLoss",
    "LabelRows",
    "LeakyExpectedErrorLoss",
    "MetricLoss",
    "PerRow",
    "accumulate_gradients",
    "compute_loss_func",
    "dice_loss",
    "east_loss",
    "exact_loss",
    "expected_error_loss",
    "hinge_loss",
    "leaky_expected_error_loss",
    "metric_loss",
    "remember",
    "two_passes",
]
