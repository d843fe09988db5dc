"""Confusion matrices of hard predictions, and the metric of them, in numpy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch

from metricfit._typing import Floats, Ints
from metricfit.metrics import Counts, CountsMetric, Custom, Metric

_BLOCK = 2_000_000  # entries of a table that are copied at a time


def row_blocks(table: Floats) -> Iterator[slice]:
    """Slices of the rows of a table (n, k), so that what is computed from it needs no second table."""
    step = max(_BLOCK // table.shape[1], 1)
    return (slice(start, start + step) for start in range(0, len(table), step))


def largest_class(scores: Floats, offsets: Floats) -> Ints:
    """The class of the largest sum of score and offset, (n,)."""
    return np.concatenate([(scores[rows] + offsets).argmax(1) for rows in row_blocks(scores)])


def hard_confusion(predicted: Ints, labels: Ints, weight: Floats, n_classes: int) -> Floats:
    """Confusion matrix (k, k) of predicted classes.

    >>> hard_confusion(np.array([0, 1, 1]), np.array([0, 0, 1]), np.ones(3), 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return sums_by_cell(labels * n_classes + predicted, weight, (n_classes, n_classes))


def sums_by_cell(cells: Ints, weight: Floats, shape: tuple[int, ...]) -> Floats:
    """The weights that fall into each cell of an array of that shape; cells are counted along its rows.

    >>> sums_by_cell(np.array([0, 2, 2]), np.array([1.0, 1.0, 3.0]), (3,)).tolist()
    [1.0, 0.0, 4.0]
    """
    return np.bincount(cells, weight, math.prod(shape)).astype(np.float64).reshape(shape)


def metric_values(metric: Metric, matrices: Floats) -> Floats:
    """The metric of one matrix or of many at once, (..., k, k) to (...)."""
    tensor = torch.from_numpy(matrices)
    if isinstance(metric, Custom) and tensor.ndim > 2:  # a user's function takes one matrix
        try:
            return torch.func.vmap(metric.function)(tensor).numpy()
        except (RuntimeError, ValueError, TypeError, AttributeError):  # it looks at values, or leaves torch
            return np.array([float(metric(matrix)) for matrix in tensor])
    return metric(tensor).numpy()


def values_and_slopes(metric: Metric, matrices: Floats) -> tuple[Floats, Floats]:
    """The metric of each matrix of (m, k, k) and its derivative by the matrix."""
    leaves = torch.tensor(matrices, requires_grad=True)
    with torch.enable_grad():
        values = torch.stack([metric(one) for one in leaves]) if isinstance(metric, Custom) else metric(leaves)
        (slopes,) = torch.autograd.grad(values.sum(), leaves)
    return values.detach().nan_to_num().numpy(), slopes.nan_to_num().numpy()


def counts_values(metric: CountsMetric, hits: Floats, support: Floats, predicted: Floats) -> Floats:
    """The metric of many predictions at once, from hits and predictions (..., k) and the support (k,)."""
    right, true = torch.from_numpy(hits), torch.from_numpy(support)
    counts = Counts(right, true.expand_as(right), torch.from_numpy(predicted), true.sum().expand(right.shape[:-1]))
    return metric.of_counts(counts).numpy()
