"""The gradient of a loss over more rows than fit into memory, in two passes over the same rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from metricfit.losses._base import ClassificationLoss
from metricfit.scores import flat_rows, rows_like

Backward = Callable[[Tensor, Tensor], None]  # runs the backward pass of scores, given the gradient by them


def accumulate_gradients(
    model: nn.Module,
    loss: Callable[..., Tensor],
    batches: Iterable[Sequence[Any]],
    scale: float | Tensor | None = None,
) -> Tensor:
    r"""Run ``backward`` on the joint loss of all batches, with one batch's activations in memory.

    Parameters
    ----------
    model : nn.Module
        Maps the first item of a batch to scores. It is called twice per batch, with the same random numbers, so dropout draws
        the same masks. Running averages, such as those of batch normalisation, move once.
    loss : callable
        Any loss of scores and labels, called once. Batches of several processes are combined as in the loss itself.
    batches : iterable of tuple
        ``(inputs, target)`` or ``(inputs, target, sample_weight)``, iterated twice: a list, or a ``DataLoader`` that does not
        shuffle.
    scale : float or Tensor, default=None
        Overrides the width of the smoothing.

    Returns
    -------
    Tensor of shape ()
        The joint loss.

    Notes
    -----
    A metric of all rows is not the mean of the metrics of the batches, so the sum of the gradients of micro-batches is not its
    gradient. Two passes compute it exactly. The first, without a graph, computes the scores :math:`S` of all rows, and from
    them :math:`\partial L/\partial S`. The second adds each batch's share :math:`\langle \partial L/\partial S_\mathrm{batch},
    dS_\mathrm{batch} \rangle` of the gradient.

    Examples
    --------
    >>> import torch
    >>> from metricfit import MetricLoss, accumulate_gradients
    >>> model, loss = torch.nn.Linear(2, 2), MetricLoss("mcc")
    >>> batches = [(torch.eye(2), torch.tensor([0, 1])), (torch.ones(1, 2), torch.tensor([1]))]
    >>> value = accumulate_gradients(model, loss, batches)          # the gradient of all three rows
    >>> model.weight.grad.shape
    torch.Size([2, 2])
    """
    if getattr(loss, "reduction", "mean") == "none":
        raise ValueError('`loss` should have reduction="mean" or "sum" here, got "none".')
    if isinstance(batches, Iterator):
        raise TypeError("`batches` should be iterable more than once, got an iterator. Try `list(batches)`.")
    options = {} if scale is None else {"scale": scale}
    no_sync = getattr(model, "no_sync", contextlib.nullcontext)  # of DistributedDataParallel
    return two_passes(model, model, lambda *rows: loss(*rows, **options), batches, Tensor.backward, no_sync)[0]


def two_passes(
    module: nn.Module,
    scores_of: Callable[[Any], Tensor],
    loss: Callable[..., Tensor],
    batches: Iterable[Sequence[Any]],
    backward: Backward,
    no_sync: Callable[[], contextlib.AbstractContextManager[Any]],
) -> tuple[Tensor, Tensor, Tensor]:
    """The joint loss, its gradient by the scores of all rows, and their labels; parameters get their gradients.

    Args:
        module: what ``scores_of`` calls, whose buffers and random numbers the second pass repeats.
        no_sync: context for all batches but the last, in which processes do not exchange gradients.
    """
    repeat = remember(module)
    with torch.no_grad():
        parts = [(scores_of(inputs), *rest) for inputs, *rest in batches]
    if not parts:
        raise ValueError("`batches` should hold at least one batch, got none.")
    scores, labels, *weight = _join(parts)
    scores.requires_grad_()
    value = loss(scores, labels, *weight)
    value.backward()  # the loss may have parameters of its own
    if scores.grad is None:
        raise ValueError("`loss` should have a gradient with respect to the scores, got none.")
    shares = iter(scores.grad.split([_n_rows(part[0], scores) for part in parts]))
    repeat()
    for index, (part, (inputs, target, *_)) in enumerate(zip(parts, batches, strict=True)):
        if target is not part[1] and not torch.equal(target, part[1]):
            raise ValueError("`batches` should come in the same order twice, got other labels. Try `list(batches)`.")
        with no_sync() if index < len(parts) - 1 else contextlib.nullcontext():
            again = scores_of(inputs)
            share = next(shares)
            backward(again, share if share.shape == again.shape else rows_like(share, again))
    return value.detach(), scores.grad, labels


def _join(parts: list[tuple[Tensor, ...]]) -> list[Tensor]:
    """Scores, labels and weights of all batches; as rows (n, k) where the batches have other lengths, such as sentences."""
    if len({part[0].shape[1:] for part in parts}) > 1:
        parts = [tuple(flat_rows(one) if one.shape == part[0].shape else one.reshape(-1) for one in part) for part in parts]
    return [torch.cat(column) for column in zip(*parts, strict=True)]


def _n_rows(part: Tensor, joined: Tensor) -> int:
    return len(part) if part.shape[1:] == joined.shape[1:] else part.numel() // part.shape[1]


def remember(*modules: nn.Module) -> Callable[[], None]:
    """Save torch's random states and the modules' buffers and generators; the returned function restores them.

    Dropout then draws the same masks again, and the running averages of batch normalisation move once.

    >>> restore = remember(layer := nn.BatchNorm1d(1))
    >>> (layer(torch.tensor([[1.0], [3.0]])), layer.running_mean)[1]
    tensor([0.2000])
    >>> (restore(), layer.running_mean)[1]
    tensor([0.])
    """
    random, buffers = _save_random_states(modules), _save_buffers(modules)

    def restore() -> None:
        random()
        buffers()

    return restore


def _save_random_states(modules: tuple[nn.Module, ...]) -> Callable[[], None]:
    """The random states of the CPU, of the modules' devices and of the modules' own generators."""
    parameters = [parameter for module in modules for parameter in module.parameters()]
    devices = {parameter.device for parameter in parameters if parameter.device.type not in ("cpu", "meta")}
    states = [(torch.get_device_module(device.type), device) for device in devices]
    saved = [(module.set_rng_state, module.get_rng_state(device), device) for module, device in states]
    parts = [part for module in modules for part in module.modules()]
    generators = [value for part in parts for value in vars(part).values() if isinstance(value, torch.Generator)]
    own = [(generator, generator.get_state()) for generator in generators]
    cpu = torch.get_rng_state()

    def restore() -> None:
        torch.set_rng_state(cpu)
        for set_state, state, device in saved:
            set_state(state, device)
        for generator, state in own:
            generator.set_state(state)

    return restore


def _save_buffers(modules: tuple[nn.Module, ...]) -> Callable[[], None]:
    """The buffers, such as running averages, and the memories of losses."""
    saved = [
        (part, name, None if buffer is None else buffer.clone())
        for module in modules
        for part in module.modules()
        for name, buffer in part._buffers.items()
        if buffer is None or not is_lazy(buffer)
    ]
    memories = [
        (part, part.running) for module in modules for part in module.modules() if isinstance(part, ClassificationLoss)
    ]

    def restore() -> None:
        for part, name, before in saved:
            now = part._buffers[name]
            if isinstance(now, Tensor) and before is not None and now.shape == before.shape:
                now.copy_(before)  # others may hold this tensor
            else:
                part._buffers[name] = before
        for loss, running in memories:
            loss.running = running

    return restore
