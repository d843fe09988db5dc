"""The soft confusion matrix: rows are true classes, columns are predicted classes."""

from __future__ import annotations

import torch
from torch import Tensor

from metricfit._checks import check_labels, check_nonnegative, check_scores, check_shape, check_tensor
from metricfit.scores import flat_rows, in_float64, working_precision

__all__ = [
    "confusion_matrix",
    "exact_product",
    "one_hot",
    "sums_by_class",
    "with_gradient_of",
]


_FEW_ROWS = 512


def confusion_matrix(assignment: Tensor, labels: Tensor, sample_weight: Tensor | None = None) -> Tensor:
    r"""Soft confusion matrix of an assignment.

    .. math:: C_{cj} = \sum_i w_i\, 1(y_i = c)\, A_{ij}

    Parameters
    ----------
    assignment : Tensor of shape (n, k) or (n, k, d1, ...)
        Shares of the classes, as from :meth:`metricfit.smoothing.Smoothing.assign`.
    labels : Tensor of shape (n,), (n, d1, ...) or (n, k)
        Classes, or shares of classes, by which a row counts for several classes.
    sample_weight : Tensor of the shape of the classes, default=None
        How much each row counts.

    Returns
    -------
    Tensor of shape (k, k)
        The matrix, summed in float32 or float64; rows are true classes.

    Examples
    --------
    >>> import torch
    >>> from metricfit import confusion_matrix
    >>> confusion_matrix(torch.tensor([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]), torch.tensor([0, 1, 1]))
    tensor([[0.9000, 0.1000],
            [0.6000, 1.4000]])
    """
    check_scores(assignment, "assignment")
    check_nonnegative(assignment, "assignment", " For raw scores, try `smoothing.assign(scores)`.")
    check_tensor(labels, "labels")
    assignment = working_precision(assignment)
    per_row, k = assignment.shape[:1] + assignment.shape[2:], assignment.shape[1]
    if sample_weight is not None:
        check_shape(sample_weight, per_row, "sample_weight")
        check_nonnegative(sample_weight, "sample_weight")
        assignment = assignment * sample_weight.to(assignment)[:, None]
    rows = flat_rows(assignment)
    if labels.is_floating_point() and labels.shape == assignment.shape:
        check_nonnegative(labels, "labels")
        return exact_product(flat_rows(labels).to(rows).T, rows)
    check_labels(labels, k, per_row)
    return sums_by_class(rows, labels.flatten(), k)


def sums_by_class(values: Tensor, labels: Tensor, n_classes: int) -> Tensor:
    """The sum of the values (n, ...) of each class, (n_classes, ...).

    A running sum in float32 has an error of one percent after a million rows and stops growing at 2**24. So sums of many rows
    are in float64.

    >>> sums_by_class(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 1, 0]), 3)
    tensor([5., 2., 0.])
    """
    if not torch.compiler.is_compiling() and len(values) <= _FEW_ROWS:
        return values.new_zeros(n_classes, *values.shape[1:]).index_add(0, labels.long(), values)
    wide = in_float64(values)
    return wide.new_zeros(n_classes, *values.shape[1:]).index_add(0, labels.long(), wide).to(values.dtype)


def exact_product(left: Tensor, right: Tensor) -> Tensor:
    """``left @ right`` in the precision of its operands, also under autocast."""
    if not torch.amp.is_autocast_available(left.device.type):
        return left @ right
    with torch.autocast(left.device.type, enabled=False):
        return left @ right


def one_hot(labels: Tensor, like: Tensor) -> Tensor:
    """1 at each label, (n,) to the shape and dtype of ``like`` (n, k)."""
    return torch.zeros_like(like).scatter(1, labels[:, None], 1.0)


def with_gradient_of(total: Tensor, local: Tensor, factor: Tensor | float = 1.0) -> Tensor:
    r"""The value of ``total`` with ``factor`` times the gradient of ``local``.

    For a sum over micro-batches, recent batches or processes, where only one part has a graph in this process.
    A function of the result is then linearised at the total, :math:`dM = \langle \partial M/\partial C, dC \rangle`.
    """
    return total.detach() + factor * (local - local.detach())
