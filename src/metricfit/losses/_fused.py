"""Accuracy under normal noise as one operator, for the plain case.

The pipeline in :mod:`metricfit.losses._objectives` computes the same loss by about forty small operators, each with its own
node in the graph. For a batch of 256 and a few classes, these operators take longer than the integral.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from metricfit.links import Leaky, Linear, Link, Log, Power
from metricfit.losses._layout import RowOptions
from metricfit.losses._objectives import Hits, Objective
from metricfit.numerics import forbid_second_derivative, fused
from metricfit.scores import flat_rows, has_memory, rows_like
from metricfit.smoothing import Normal


def fused_loss(
    objective: Objective, scores: Tensor, labels: Tensor, scale: float | Tensor | None, options: RowOptions, reduction: str
) -> Tensor | None:
    """The mean or sum over rows. None if no kernel covers the case or the input is invalid: the pipeline raises the error."""
    if not isinstance(objective, Hits) or not isinstance(scores, Tensor) or not isinstance(labels, Tensor):
        return None
    assigner, smoothing = objective.assigner, objective.assigner.smoothing
    if not (type(smoothing) is Normal and smoothing.method == "quadrature" and smoothing.order is None):
        return None
    if scores.ndim < 2 or (scores.ndim > 2 and options.class_dim != 1) or scores.dtype != torch.float32 or scores.shape[1] < 2:
        return None
    if labels.dtype != torch.int64 or labels.shape != scores.shape[:1] + scores.shape[2:]:
        return None
    width, code = smoothing.width if scale is None else scale, _link_code(objective.link)
    if code is None or assigner.offsets is not None or torch.compiler.is_compiling():
        return None
    if not _has_values(scores, labels, width) or not fused.covers(scores):
        return None
    width = float(width)
    if not 0.0 < width < math.inf:
        return None
    rows, flat_labels = flat_rows(scores.detach()).contiguous(), labels.flatten()
    with_gradient = torch.is_grad_enabled() and scores.requires_grad
    loss, gradient = fused.kernels().hits_loss(
        rows,
        flat_labels,
        width,
        assigner.margin,
        assigner.normalize,
        code,
        options.ignore_index,
        reduction == "mean",
        with_gradient,
    )
    if math.isnan(loss):
        return None
    return _LossWithGradient.apply(scores, loss, rows_like(gradient, scores)) if with_gradient else _scalar(loss)


class _LossWithGradient(torch.autograd.Function):
    """A loss whose gradient was computed with its value."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, loss: float, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient, scores)
        return _scalar(loss)

    @staticmethod
    def backward(ctx: Any, incoming: Tensor) -> Any:
        gradient, scores = ctx.saved_tensors
        return forbid_second_derivative(incoming * gradient, incoming, scores), None, None


def _scalar(loss: float) -> Tensor:
    return torch.from_numpy(np.array(loss, np.float32))  # five times as fast as torch.tensor


def _link_code(link: Link) -> tuple[int, float] | None:
    """The kernels' number for a link, and its parameter; None if they do not have it."""
    match link:
        case Linear():
            return 0, 0.0
        case Log():
            return 1, 0.0
        case Leaky(alpha):
            return 2, alpha
        case Power(q):
            return 3, q
    return None


def _has_values(scores: Tensor, labels: Tensor, width: float | Tensor) -> bool:
    """Whether the tensors have memory, as they do not under ``vmap``, and the width is one number without gradient."""
    if not isinstance(width, Tensor | Real) or isinstance(width, bool):
        return False
    if isinstance(width, Tensor) and (width.numel() != 1 or width.requires_grad or not width.is_cpu):
        return False
    return scores.is_cpu and labels.is_cpu and has_memory(scores) and has_memory(labels)
