"""The gradient of a loss over more rows than fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from metricfit.confusion import anchored
from metricfit.objectives._modules import ClassificationLoss


def accumulate_gradients(model: nn.Module, loss: ClassificationLoss, batches: Iterable[Sequence[Any]]) -> Tensor:
    r"""``backward`` of the loss of all batches together, one batch in memory at a time; returns that loss.

    A metric of the whole is not the mean of the metrics of its parts, so adding up the gradients of micro-batches points the
    wrong way. Two passes do it exactly: the first, without a graph, adds up the statistics :math:`C`; the second takes from
    each batch its share :math:`\langle \partial L/\partial C, dC_\mathrm{batch} \rangle` of the gradient.

    Args:
        model: maps the first item of a batch to scores. It is called twice per batch, with the same random numbers, so
            dropout draws the same masks; batch normalisation's running averages move twice.
        loss: any loss of this package without ``normalize_scores``, which mixes the rows of a batch.
        batches: can be iterated twice, a list or a ``DataLoader`` that does not shuffle, of ``(inputs, target)`` or
            ``(inputs, target, sample_weight)``.

    >>> from metricfit import MetricLoss
    >>> model, loss = torch.nn.Linear(2, 2), MetricLoss("mcc")
    >>> batches = [(torch.eye(2), torch.tensor([0, 1])), (torch.ones(1, 2), torch.tensor([1]))]
    >>> value = accumulate_gradients(model, loss, batches)          # model.weight.grad is that of all three rows
    """
    if getattr(loss, "normalize_scores", False):
        raise ValueError(
            "`loss` should have normalize_scores=False here: the mean and deviation of a micro-batch are not those of all."
        )
    if iter(batches) is batches:
        raise TypeError("`batches` should be something to iterate over twice, got an iterator. Try `list(batches)`.")
    random_state = torch.get_rng_state()
    with torch.no_grad():
        parts = [loss.statistics(model(inputs), *rest) for inputs, *rest in batches]
    if not parts:
        raise ValueError("`batches` should hold at least one batch, got none.")
    total = torch.stack(parts).sum(0)
    torch.set_rng_state(random_state)
    for inputs, *rest in batches:
        part = loss.statistics(model(inputs), *rest)
        loss.from_statistics(anchored(total, part)).backward()
    return loss.from_statistics(total)
