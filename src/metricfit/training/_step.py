"""One step: the gradient of the joint loss of a group of batches, and the update of the weights.

A group of several batches takes two passes, see :func:`metricfit.accumulate_gradients`. An optimizer such as SAM needs the
gradient twice, at the weights and near them. Both use the same random numbers, and running averages are updated once.

A module returns scores, or scores and the standard deviation of the noise on them (EXACT, Eq. 8 and Figure 2). Both are kept
as one tensor, with sigma as a last column, so that batches are joined, filtered and differentiated in one way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from metricfit.losses import remember, two_passes
from metricfit.scores import binary_scores
from metricfit.training._data import used_rows

if TYPE_CHECKING:
    from metricfit.training._trainer import Trainer

LIVE = 0.01  # a gradient is live if it exceeds this fraction of the largest in its batch


@dataclass(frozen=True)
class Step:
    """The loss of a step; its gradient, at the weights before the step, is measured on request only."""

    loss: Tensor
    gradient_norm: float = math.nan
    live: float = math.nan  # share of the rows with a live gradient


def take_step(trainer: Trainer, group: list[Any], scale: float | None, measure: bool) -> Step:
    """Compute the gradient of the group's joint loss, and update the weights."""
    if not trainer.takes_two_steps:
        step = _compute_gradient(trainer, group, scale, measure)
        _adjust_gradient(trainer)
        trainer.optimizer.step()
        return step
    stateful = [one for one in (trainer.module, trainer.loss) if isinstance(one, nn.Module)]
    repeat = remember(*stateful)
    step = _compute_gradient(trainer, group, scale, measure)
    keep = remember(*stateful)

    def second_pass() -> Tensor:
        repeat()
        loss = _compute_gradient(trainer, group, scale, measure=False).loss
        _adjust_gradient(trainer)
        return loss

    trainer.optimizer.step(second_pass)
    keep()
    return step


def _compute_gradient(trainer: Trainer, group: list[Any], scale: float | None, measure: bool) -> Step:
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
        return Step(loss.detach())
    return Step(loss.detach(), _gradient_norm(trainer.module), _live_share(gradient, labels, trainer.ignore_index))


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


def join_outputs(found: Any) -> tuple[Tensor, bool]:
    """Scores (n, k, ...), or scores with sigma as a last entry of dimension 1; and whether there is a sigma.

    >>> join_outputs((torch.zeros(2, 3), torch.tensor([1.0, 0.5])))
    (tensor([[0.0000, 0.0000, 0.0000, 1.0000],
            [0.0000, 0.0000, 0.0000, 0.5000]]), True)
    """
    if isinstance(found, Tensor):
        return _two_columns(found), False
    if isinstance(found, tuple) and len(found) == 2 and all(isinstance(one, Tensor) for one in found):
        scores, sigma = _two_columns(found[0]), found[1]
        if sigma.shape == scores.shape[:1] + scores.shape[2:]:
            return torch.cat([scores, sigma.unsqueeze(1).to(scores)], 1), True
        raise ValueError(
            f"`module` should return scores and one sigma per row, got shapes {tuple(scores.shape)} and {tuple(sigma.shape)}. "
            "Try `sigma.squeeze(1)`."
        )
    got = f"a tuple of {len(found)}" if isinstance(found, tuple) else f"a {type(found).__name__}"
    raise TypeError(f"`module` should return scores (n, k), or scores and sigma (n,), got {got}.")


def split_outputs(outputs: Tensor, has_sigma: bool) -> tuple[Tensor, Tensor | None]:
    """The scores, and sigma where there is one."""
    return (outputs[:, :-1], outputs[:, -1]) if has_sigma else (outputs, None)


def _two_columns(scores: Tensor) -> Tensor:
    return binary_scores(scores) if scores.ndim == 2 and scores.shape[1] == 1 else scores
