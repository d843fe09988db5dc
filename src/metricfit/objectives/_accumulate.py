"""The gradient of a loss over more rows than fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from metricfit.confusion import anchored
from metricfit.distributed import sum_over_processes
from metricfit.objectives._modules import ClassificationLoss


def accumulate_gradients(
    model: nn.Module,
    loss: ClassificationLoss,
    batches: Iterable[Sequence[Any]],
    scale: float | Tensor | None = None,
) -> Tensor:
    r"""``backward`` of the loss of all batches together, one batch in memory at a time; returns that loss.

    A metric of the whole is not the mean of the metrics of its parts, so adding up the gradients of micro-batches points the
    wrong way. Two passes do it exactly: the first, without a graph, adds up the statistics :math:`C`; the second takes from
    each batch its share :math:`\langle \partial L/\partial C, dC_\mathrm{batch} \rangle` of the gradient.

    Args:
        model: maps the first item of a batch to scores. It is called twice per batch, with the same random numbers, so
            dropout draws the same masks; batch normalisation's running averages move twice.
        loss: any loss of this package without ``normalize_scores``, which mixes the rows of a batch, and without a memory,
            which this takes the place of. Several processes are taken together as in the loss itself.
        batches: can be iterated twice, a list or a ``DataLoader`` that does not shuffle, of ``(inputs, target)`` or
            ``(inputs, target, sample_weight)``.
        scale: overrides the smoothing's width.

    >>> from metricfit import MetricLoss
    >>> model, loss = torch.nn.Linear(2, 2), MetricLoss("mcc")
    >>> batches = [(torch.eye(2), torch.tensor([0, 1])), (torch.ones(1, 2), torch.tensor([1]))]
    >>> value = accumulate_gradients(model, loss, batches)          # model.weight.grad is that of all three rows
    """
    _check(loss, batches)

    def statistics(batch: Sequence[Any]) -> Tensor:
        inputs, target, sample_weight = (*batch, None)[:3]
        return loss.statistics(model(inputs), target, sample_weight, scale)

    restore = _random_states(model)
    with torch.no_grad():
        parts = [statistics(batch) for batch in batches]
    if not parts:
        raise ValueError("`batches` should hold at least one batch, got none.")
    total, processes = torch.stack(parts).sum(0), loss.shared_by()
    if processes > 1:
        total = sum_over_processes(total)
    restore()
    for batch in batches:
        loss.from_statistics(anchored(total, statistics(batch), processes)).backward()
    return loss.from_statistics(total)


def _check(loss: ClassificationLoss, batches: Iterable[Sequence[Any]]) -> None:
    if not isinstance(loss, ClassificationLoss):
        raise TypeError(f"`loss` should be a loss of metricfit, got {type(loss).__name__}.")
    if getattr(loss, "normalize_scores", False):
        raise ValueError(
            "`loss` should have normalize_scores=False here: the mean and deviation of a micro-batch are not those of all."
        )
    if loss.memory is not None:
        raise ValueError(f"`loss` should have memory=None here, where all batches are at hand, got {loss.memory}.")
    if loss.reduction == "none":
        raise ValueError('`loss` should have reduction="mean" or "sum" here, got "none".')
    if isinstance(batches, Iterator):
        raise TypeError("`batches` should be something to iterate over twice, got an iterator. Try `list(batches)`.")


def _random_states(model: nn.Module) -> Callable[[], None]:
    """Remembers where the random numbers of the CPU and of the model's devices stand; call it to go back there."""
    devices = {parameter.device for parameter in model.parameters() if parameter.device.type not in ("cpu", "meta")}
    states = [(torch.get_device_module(device.type), device) for device in devices]
    saved = [(module.set_rng_state, module.get_rng_state(device), device) for module, device in states]
    cpu = torch.get_rng_state()

    def restore() -> None:
        torch.set_rng_state(cpu)
        for set_state, state, device in saved:
            set_state(state, device)

    return restore
