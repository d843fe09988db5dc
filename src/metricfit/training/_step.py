"""One step: the gradient of the joint loss of a group of batches, and the move of the weights.

A group of several batches takes two passes, see :func:`metricfit.accumulate_gradients`. An optimizer such as SAM asks for the
gradient twice, at the weights and beside them; both times with the same random numbers, and running averages move once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from metricfit.objectives._accumulate import two_passes
from metricfit.objectives._replay import remember
from metricfit.training._held_out import used_rows

if TYPE_CHECKING:
    from metricfit.training._trainer import Trainer

LIVE = 0.01  # a gradient is live if it exceeds this fraction of the largest in its batch


@dataclass(frozen=True)
class Taken:
    """A step that was taken; the gradient is that at the weights before it, and is measured where it was asked for."""

    loss: Tensor
    gradient_norm: float = math.nan
    live: float = math.nan  # share of the rows with a live gradient


def take_step(trainer: Trainer, group: list[Any], scale: float | None, measure: bool) -> Taken:
    """Compute the gradient of the group's joint loss, and move the weights."""
    if not trainer.takes_two_steps:
        taken = _compute_gradient(trainer, group, scale, measure)
        _adjust_gradient(trainer)
        trainer.optimizer.step()
        return taken
    stateful = [one for one in (trainer.module, trainer.loss) if isinstance(one, nn.Module)]
    repeat = remember(*stateful)
    taken = _compute_gradient(trainer, group, scale, measure)
    keep = remember(*stateful)

    def second_pass() -> Tensor:
        repeat()
        loss = _compute_gradient(trainer, group, scale, measure=False).loss
        _adjust_gradient(trainer)
        return loss

    trainer.optimizer.step(second_pass)
    keep()
    return taken


def takes_two_steps(optimizer: Any) -> bool:
    """Whether an optimizer, such as SAM, first moves to other weights and takes its step by the gradient there."""
    return hasattr(optimizer, "first_step") and hasattr(optimizer, "second_step")


def _compute_gradient(trainer: Trainer, group: list[Any], scale: float | None, measure: bool) -> Taken:
    trainer.optimizer.zero_grad()
    if len(group) == 1:
        ((features, labels, *weight),) = group
        outputs = trainer.outputs(features)
        if measure:
            outputs.retain_grad()
        loss = trainer.loss_of(outputs, labels, *weight, scale=scale)
        trainer.fabric.backward(loss)
        gradient = outputs.grad if measure else None
    else:
        loss, gradient, labels = two_passes(
            trainer.module,
            trainer.outputs,
            lambda *rows: trainer.loss_of(*rows, scale=scale),
            group,
            lambda scores, share: trainer.fabric.backward(scores, gradient=share),
            lambda: trainer.fabric.no_backward_sync(trainer.module),
        )
    if not measure:
        return Taken(loss.detach())
    return Taken(loss.detach(), _gradient_norm(trainer.module), _live_share(gradient, labels, trainer.ignore_index))


def _adjust_gradient(trainer: Trainer) -> None:
    if trainer.clip is not None:
        torch.nn.utils.clip_grad_norm_(trainer.module.parameters(), trainer.clip)
    if trainer.normalizer is not None:
        trainer.normalizer(trainer.module)


def _live_share(gradient: Tensor | None, labels: Tensor, ignore_index: int) -> float:
    """Share of the rows whose gradient is more than ``LIVE`` of the largest."""
    rows = None if gradient is None else used_rows(gradient, labels, ignore_index)[0]
    if rows is None or not len(rows):
        return math.nan
    sizes = rows.flatten(1).abs().amax(1)
    return float((sizes > LIVE * sizes.max()).double().mean())


def _gradient_norm(module: nn.Module) -> float:
    gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    return float(torch.nn.utils.get_total_norm(gradients)) if gradients else math.nan
