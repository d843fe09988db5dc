"""The gradient of a loss over more rows than fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from metricfit.confusion import with_gradient_of
from metricfit.distributed import sum_over_processes
from metricfit.objectives._modules import ClassificationLoss


def accumulate_gradients(
    model: nn.Module,
    loss: ClassificationLoss,
    batches: Iterable[Sequence[Any]],
    scale: float | Tensor | None = None,
) -> Tensor:
    r"""Run ``backward`` on the joint loss of all batches, with one batch in memory at a time, and return that loss.

    A metric of all rows is not the mean of the metrics of the batches, so the sum of the gradients of micro-batches is not the
    gradient. Two passes compute it exactly. The first, without a graph, sums the statistics :math:`C`. The second adds each
    batch's share :math:`\langle \partial L/\partial C, dC_\mathrm{batch} \rangle` of the gradient.

    Args:
        model: maps the first item of a batch to scores. It is called twice per batch, with the same random numbers, so
            dropout draws the same masks; batch normalisation's running averages move twice.
        loss: any loss of this package without ``normalize_scores``, which mixes the rows of a batch, and without ``memory``,
            which this function replaces. Batches of several processes are combined as in the loss itself.
        batches: ``(inputs, target)`` or ``(inputs, target, sample_weight)`` each, iterated twice: a list, or a ``DataLoader``
            that does not shuffle.
        scale: overrides the smoothing's width.

    >>> from metricfit import MetricLoss
    >>> model, loss = torch.nn.Linear(2, 2), MetricLoss("mcc")
    >>> batches = [(torch.eye(2), torch.tensor([0, 1])), (torch.ones(1, 2), torch.tensor([1]))]
    >>> value = accumulate_gradients(model, loss, batches)          # model.weight.grad is the gradient of all three rows
    """
    _check(loss, batches)

    def statistics(batch: Sequence[Any]) -> Tensor:
        inputs, target, sample_weight = (*batch, None)[:3]
        return loss.statistics(model(inputs), target, sample_weight, scale)

    restore = _save_random_states(model)
    with torch.no_grad():
        parts = [statistics(batch) for batch in batches]
    if not parts:
        raise ValueError("`batches` should hold at least one batch, got none.")
    total, processes = torch.stack(parts).sum(0), loss.n_processes()
    if processes > 1:
        total = sum_over_processes(total)
    restore()
    for batch in batches:
        loss.from_statistics(with_gradient_of(total, statistics(batch), processes)).backward()
    return loss.from_statistics(total)


def _check(loss: ClassificationLoss, batches: Iterable[Sequence[Any]]) -> None:
    if not isinstance(loss, ClassificationLoss):
        raise TypeError(f"`loss` should be a loss of metricfit, got {type(loss).__name__}.")
    if getattr(loss, "normalize_scores", False):
        raise ValueError(
            "`loss` should have normalize_scores=False here: a micro-batch has another mean and deviation than all rows."
        )
    if loss.memory is not None:
        raise ValueError(f"`loss` should have memory=None here, because all batches are available, got {loss.memory}.")
    if loss.reduction == "none":
        raise ValueError('`loss` should have reduction="mean" or "sum" here, got "none".')
    if isinstance(batches, Iterator):
        raise TypeError("`batches` should be iterable more than once, got an iterator. Try `list(batches)`.")


def _save_random_states(model: nn.Module) -> Callable[[], None]:
    """Save the random states of the CPU and of the model's devices; the returned function restores them."""
    devices = {parameter.device for parameter in model.parameters() if parameter.device.type not in ("cpu", "meta")}
    states = [(torch.get_device_module(device.type), device) for device in devices]
    saved = [(module.set_rng_state, module.get_rng_state(device), device) for module, device in states]
    cpu = torch.get_rng_state()

    def restore() -> None:
        torch.set_rng_state(cpu)
        for set_state, state, device in saved:
            set_state(state, device)

    return restore
