"""The soft confusion matrix: rows are true classes, columns are predicted classes."""

from __future__ import annotations

import torch
from torch import Tensor

from metricfit._checks import check_labels, check_nonnegative, check_scores, check_shape, check_tensor
from metricfit.scores import working_precision

__all__ = [
    "confusion_matrix",
    "exact_product",
    "labels_confusion",
    "one_hot",
    "shares_confusion",
    "sums_by_class",
    "with_gradient_of",
]


def confusion_matrix(assignment: Tensor, labels: Tensor, sample_weight: Tensor | None = None) -> Tensor:
    r"""Soft counts :math:`C_{cj} = \sum_i w_i\, 1(y_i = c)\, A_{ij}`, (k, k), summed in float32 or float64.

    ``labels`` are classes (n,), or shares of classes (n, k), in which case each row counts for every class by its share.

    >>> confusion_matrix(torch.tensor([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]), torch.tensor([0, 1, 1]))
    tensor([[0.9000, 0.1000],
            [0.6000, 1.4000]])
    """
    check_scores(assignment, "assignment")
    check_nonnegative(assignment, "assignment", " For raw scores, try `smoothing.assign(scores)`.")
    check_tensor(labels, "labels")
    assignment = working_precision(assignment)
    n, k = assignment.shape
    if sample_weight is not None:
        check_shape(sample_weight, (n,), "sample_weight")
        check_nonnegative(sample_weight, "sample_weight")
        assignment = assignment * sample_weight.to(assignment)[:, None]
    if labels.is_floating_point() and labels.shape == assignment.shape:
        check_nonnegative(labels, "labels")
        return shares_confusion(assignment, labels)
    check_labels(labels, k, assignment.shape[:1])
    return labels_confusion(assignment, labels)


def labels_confusion(assignment: Tensor, labels: Tensor) -> Tensor:
    """The sum of the assignment's rows for each class, O(n k)."""
    return sums_by_class(assignment, labels, assignment.shape[1])


def sums_by_class(values: Tensor, labels: Tensor, n_classes: int) -> Tensor:
    """The sum of the values (n, ...) of each class, (n_classes, ...).

    A running sum in float32 has an error of one percent after a million rows and stops growing at 2**24. So each block of rows
    is summed first, and then the blocks, which together take no more memory than (n, n_classes).

    >>> sums_by_class(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 1, 0]), 3)
    tensor([5., 2., 0.])
    """
    n, rest = len(values), values.shape[1:]
    n_blocks = min(n // 256, n // n_classes)
    if n_blocks <= 1:
        return values.new_zeros(n_classes, *rest).index_add(0, labels.long(), values)
    block = torch.arange(n, device=labels.device) * n_blocks // n
    sums = values.new_zeros(n_blocks * n_classes, *rest).index_add(0, block * n_classes + labels.long(), values)
    return sums.view(n_blocks, n_classes, *rest).sum(0)


def shares_confusion(assignment: Tensor, shares: Tensor) -> Tensor:
    """The sum of the assignment's rows for each class, weighted by its shares, O(n k**2)."""
    return exact_product(shares.to(assignment).T, assignment)


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
