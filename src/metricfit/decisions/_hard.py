"""Confusion matrices of hard predictions, and the metric of them, in numpy."""

from __future__ import annotations

import numpy as np
import torch

from metricfit._typing import Floats, Ints
from metricfit.metrics import Custom, Metric


def hard_confusion(predicted: Ints, labels: Ints, weight: Floats, n_classes: int) -> Floats:
    """Confusion matrix (k, k) of predicted classes.

    >>> hard_confusion(np.array([0, 1, 1]), np.array([0, 0, 1]), np.ones(3), 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    cells = np.bincount(labels * n_classes + predicted, weight, n_classes * n_classes)
    return cells.astype(np.float64).reshape(n_classes, n_classes)


def metric_values(metric: Metric, matrices: Floats) -> Floats:
    """The metric of one matrix or of many at once, (..., k, k) to (...)."""
    tensor = torch.from_numpy(matrices)
    if isinstance(metric, Custom) and tensor.ndim > 2:  # a user's function takes one matrix
        try:
            return torch.func.vmap(metric.function)(tensor).numpy()
        except (RuntimeError, ValueError, TypeError, AttributeError):  # it looks at values, or leaves torch
            return np.array([float(metric(matrix)) for matrix in tensor])
    return metric(tensor).numpy()
