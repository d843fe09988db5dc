"""The exact integrals of :mod:`metricfit.numerics._race` as torch operators with hand-written derivatives.

Each has two layers. ``torch.compile`` and other tools see the custom operator as one opaque node. An ``autograd.Function``
around it holds the derivative and the ``vmap`` rule, so that ``torch.func`` works too. Second derivatives raise an error.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from metricfit.numerics import _pair, _race, fused
from metricfit.scores import has_memory, label_gaps, saturate


def _is_fused(scores: Tensor, order: int) -> bool:
    return order == 0 and scores.shape[1] > 2 and fused.covers(scores)


def _portable(scores: Tensor, order: int) -> tuple[ModuleType, int]:
    """The module that computes the integral, in closed form for two classes, and its number of nodes."""
    is_pair = order == 0 and scores.shape[1] == 2
    return _pair if is_pair else _race, order or _race.default_order(scores.dtype)


def _log_win_now(
    scores: Tensor, labels: Tensor, scale: Tensor, margin: float | None, order: int, with_gradient: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """log p (n,), its derivative by the scores (n, k) and by the scale (n,); both are empty without ``with_gradient``.

    An ``order`` of 0 means the default number of nodes, or a fused kernel if one covers the scores.
    """
    if _is_fused(scores, order):
        return fused.kernels().log_win(scores, labels, scale, margin, with_gradient)
    gaps = label_gaps(scores, labels)
    least = -math.inf if margin is None else -margin
    standard = _race.clip_gaps(gaps.clamp(min=least) / scale[:, None])
    engine, order = _portable(scores, order)
    log_p, slope = engine.log_win(standard, labels, order, with_gradient)
    if not with_gradient:
        return log_p, scores.new_empty(0), scores.new_empty(0)
    by_scale = -(slope * standard).sum(1) / scale
    by_scores = (slope / scale[:, None]).masked_fill_(gaps < least, 0.0)
    by_scores.scatter_(1, labels[:, None], -by_scores.sum(1, keepdim=True))
    return log_p, by_scores, by_scale


_log_win = torch.library.custom_op("metricfit::normal_log_win", _log_win_now, mutates_args=())


@_log_win.register_fake
def _(scores, labels, scale, margin, order, with_gradient):  # type: ignore[no-untyped-def]
    by_scores, by_scale = (torch.empty_like(scores), torch.empty_like(scale)) if with_gradient else (scores.new_empty(0),) * 2
    return scores.new_empty(scores.shape[:1]), by_scores, by_scale.clone()


def _win_all_now(scores: Tensor, scale: Tensor, order: int) -> Tensor:
    if _is_fused(scores, order):
        return fused.kernels().win_all(scores, scale)
    engine, order = _portable(scores, order)
    return engine.win_all((scores - scores.amax(1, keepdim=True)) / scale[:, None], order)


_win_all = torch.library.custom_op("metricfit::normal_win_all", _win_all_now, mutates_args=())


@_win_all.register_fake
def _(scores, scale, order):  # type: ignore[no-untyped-def]
    return torch.empty_like(scores)


def _win_all_backward_now(incoming: Tensor, scores: Tensor, scale: Tensor, order: int) -> tuple[Tensor, Tensor]:
    if _is_fused(scores, order):
        return fused.kernels().win_all_gradient(incoming, scores, scale)
    engine, order = _portable(scores, order)
    centred = (scores - scores.amax(1, keepdim=True)) / scale[:, None]
    by_standard = engine.win_all_gradient(centred, incoming, order)
    return by_standard / scale[:, None], -(by_standard * centred).sum(1) / scale


_win_all_backward = torch.library.custom_op("metricfit::normal_win_all_backward", _win_all_backward_now, mutates_args=())


@_win_all_backward.register_fake
def _(incoming, scores, scale, order):  # type: ignore[no-untyped-def]
    return torch.empty_like(scores), torch.empty_like(scale)


@_win_all_backward.register_vmap
def _(info, in_dims, *args):  # type: ignore[no-untyped-def]
    return _fold_rows(_win_all_backward, info, in_dims, args)


def _has_values(scores: Tensor) -> bool:
    """Whether to run at once: an operator takes 50 µs to dispatch, and its first call imports a thousand modules."""
    plain = type(scores) in (Tensor, torch.nn.Parameter) and not scores.is_meta and not torch.compiler.is_compiling()
    return plain and has_memory(scores)


class NormalLogWin(torch.autograd.Function):
    """``apply(scores (n, k), labels (n,), scale (n,), margin, order, with_gradient)``: log p (n,) and its two derivatives."""

    @staticmethod
    def forward(*args: Any) -> Any:
        return (_log_win_now if _has_values(args[0]) else _log_win)(*args)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        scores, _, scale = inputs[:3]
        _, by_scores, by_scale = output
        ctx.mark_non_differentiable(by_scores, by_scale)
        ctx.save_for_backward(by_scores, by_scale, scores, scale)

    @staticmethod
    def backward(ctx: Any, incoming: Tensor, *_: Any) -> Any:
        by_scores, by_scale, scores, scale = ctx.saved_tensors
        by_scores = forbid_second_derivative(incoming[:, None] * by_scores, scores, scale)
        if not ctx.needs_input_grad[2]:
            return by_scores, None, None, None, None, None
        by_scale = forbid_second_derivative(incoming * saturate(by_scale), scores, scale)
        return by_scores, None, by_scale, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        return _fold_rows(NormalLogWin.apply, info, in_dims, args)


def normal_log_win(scores: Tensor, labels: Tensor, scale: Tensor, margin: float | None, order: int) -> Tensor:
    """log p (n,) of the labels, with its gradient if one is needed."""
    with_gradient = torch.is_grad_enabled() and (scores.requires_grad or scale.requires_grad)
    if torch.compiler.is_compiling() and not with_gradient:  # which compiles no function whose outputs have no gradient
        return _log_win(scores, labels, scale, margin, order, False)[0]
    return NormalLogWin.apply(scores, labels, scale, margin, order, with_gradient)[0]


class NormalWinAll(torch.autograd.Function):
    """``apply(scores (n, k), scale (n,), order)``: the probability of winning for every class (n, k)."""

    @staticmethod
    def forward(scores: Tensor, scale: Tensor, order: int) -> Tensor:
        return (_win_all_now if _has_values(scores) else _win_all)(scores, scale, order)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.order = inputs[2]

    @staticmethod
    def backward(ctx: Any, incoming: Tensor) -> Any:
        scores, scale = ctx.saved_tensors
        backward = _win_all_backward_now if _has_values(incoming) and _has_values(scores) else _win_all_backward
        grads = backward(incoming.detach(), scores.detach(), scale.detach(), ctx.order)
        return *(forbid_second_derivative(grad, incoming, scores, scale) for grad in grads), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        return _fold_rows(NormalWinAll.apply, info, in_dims, args)


class _FirstDerivative(torch.autograd.Function):
    """The identity on a first derivative; its own derivative is an error."""

    generate_vmap_rule = True

    @staticmethod
    def forward(derivative: Tensor, *parents: Tensor) -> Tensor:
        return derivative.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(
            "`Normal` has first derivatives only, and a second one was requested. "
            "For Hessians or gradient penalties use `Softmax`."
        )


def forbid_second_derivative(derivative: Tensor, *parents: Tensor) -> Tensor:
    """The derivative itself, in the graph of ``parents`` such that differentiating it again raises an error."""
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():  # with ``create_graph=True``
        return _FirstDerivative.apply(derivative, *parents)
    return derivative


def _fold_rows(function: Any, info: Any, in_dims: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
    """``vmap`` of an operator that works row by row: the mapped dimension becomes more rows."""
    batch = info.batch_size

    def fold(dim: int | None, arg: Any) -> Any:
        if not isinstance(arg, Tensor):
            return arg
        arg = arg.expand(batch, *arg.shape) if dim is None else arg.movedim(dim, 0)
        return arg.flatten(0, 1)

    def unfold(out: Tensor) -> Tensor:
        return out.unflatten(0, (batch, -1)) if out.numel() else out.new_empty(batch, 0)

    outputs = function(*map(fold, in_dims, args))
    if isinstance(outputs, Tensor):
        return unfold(outputs), 0
    return tuple(map(unfold, outputs)), (0,) * len(outputs)
