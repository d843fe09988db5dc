"""Raw scores in one convention: (n, k), one column per class; a larger score is more likely."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from metricfit._checks import check_floating

__all__ = ["binary_scores", "label_gaps", "normalize_scores", "working_precision"]


def working_precision(scores: Tensor) -> Tensor:
    """Half precision to float32, because sums over a batch need more than 8 or 11 bits; float32 and float64 are unchanged.

    In the backward pass a gradient beyond the range of float16 becomes the largest float16, not infinity.
    """
    return _FromHalf.apply(scores) if scores.dtype in (torch.float16, torch.bfloat16) else scores


class _FromHalf(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor) -> Tensor:
        return scores.float()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.dtype = inputs[0].dtype

    @staticmethod
    def backward(ctx: Any, incoming: Tensor) -> Tensor:
        limit = torch.finfo(ctx.dtype).max
        return incoming.clamp(-limit, limit).to(ctx.dtype)


def binary_scores(scores: Tensor) -> Tensor:
    """Two columns from one score per sample, (n,) or (n, 1) to (n, 2); the score of the negative class is zero.

    >>> binary_scores(torch.tensor([1.5, -2.0]))
    tensor([[ 0.0000,  1.5000],
            [ 0.0000, -2.0000]])
    """
    check_floating(scores, "scores")
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.ndim != 1:
        raise ValueError(f"`scores` should have shape (n,) or (n, 1), got {tuple(scores.shape)}.")
    return torch.stack([torch.zeros_like(scores), scores], 1)


def label_gaps(scores: Tensor, labels: Tensor, margin: float | None = None) -> Tensor:
    r"""How far every score is ahead of the label's: :math:`g_i = s_i - s_y`, at least :math:`-r` with a margin :math:`r`.

    The margin is an upper limit of :math:`s_y - s_i`, Eq. (19) of arXiv 2205.09615.

    >>> label_gaps(torch.tensor([[3.0, 1.0, 2.5]]), torch.tensor([0]), margin=1.0)
    tensor([[ 0.0000, -1.0000, -0.5000]])
    """
    gaps = scores - scores.gather(1, labels[:, None])
    return gaps if margin is None else gaps.clamp(min=-margin)


def normalize_scores(scores: Tensor, counts: Tensor | None = None) -> Tensor:
    r"""Scores minus their mean, over their standard deviation, both taken over the whole batch at once.

    Listing 1 of arXiv 2205.09615: one mean and one (unbiased) deviation for all n x k scores, not one per class. Only rows
    with a positive entry in ``counts`` (n,) enter the statistics. If all scores are equal, they are only centred.

    >>> normalize_scores(torch.tensor([[0.0, 2.0], [4.0, 2.0]]))
    tensor([[-1.2247,  0.0000],
            [ 1.2247,  0.0000]])
    """
    used = torch.ones_like(scores) if counts is None else (counts > 0).to(scores)[:, None].expand_as(scores)
    n_used = used.sum()
    mean = (scores * used).sum() / n_used.clamp(min=1.0)
    centred = scores - mean
    variance = (centred.square() * used).sum() / (n_used - 1.0).clamp(min=1.0)
    rounding = (4.0 * torch.finfo(scores.dtype).eps * mean.detach()).square() + torch.finfo(scores.dtype).tiny
    constant = variance <= rounding
    return centred / variance.masked_fill(constant, 1.0).sqrt()
