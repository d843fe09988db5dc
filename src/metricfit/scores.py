"""Raw scores in one convention: (n, k), one column per class; a larger score is more likely."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from metricfit._checks import Ends, check_floating

__all__ = [
    "binary_scores",
    "bounded_scores",
    "flat_rows",
    "has_memory",
    "in_float64",
    "label_gaps",
    "limit_gradient",
    "normalize_scores",
    "rows_like",
    "saturate",
    "working_precision",
]

_HALF_OF_RANGE = {dtype: 0.5 * torch.finfo(dtype).max for dtype in (torch.float32, torch.float64)}


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
    """Scores of two classes from one logit per row; the negative class has the score zero.

    Parameters
    ----------
    scores : Tensor of shape (n,), (n, 1) or (N, 1, H, W)
        Logits of the positive class.

    Returns
    -------
    Tensor of shape (n, 2) or (N, 2, H, W)
        The scores.

    Examples
    --------
    >>> import torch
    >>> from metricfit import binary_scores
    >>> binary_scores(torch.tensor([1.5, -2.0]))
    tensor([[ 0.0000,  1.5000],
            [ 0.0000, -2.0000]])
    """
    check_floating(scores, "scores")
    scores = scores[:, None] if scores.ndim == 1 else scores
    if scores.ndim == 0 or scores.shape[1] != 1:
        raise ValueError(f"`scores` should have shape (n,), (n, 1) or (N, 1, H, W), got {tuple(scores.shape)}.")
    return torch.cat([torch.zeros_like(scores), scores], 1)


def in_float64(values: Tensor) -> Tensor:
    """The values in float64, or unchanged on a device that does not have it."""
    return values if values.device.type == "mps" else values.double()


def flat_rows(scores: Tensor) -> Tensor:
    """Scores (n, k, d1, ...) as rows (n * d1 * ..., k).

    >>> flat_rows(torch.arange(6.0).view(1, 3, 2))
    tensor([[0., 2., 4.],
            [1., 3., 5.]])
    """
    return scores if scores.ndim == 2 else scores.movedim(1, -1).flatten(0, -2)


def rows_like(rows: Tensor, scores: Tensor) -> Tensor:
    """Rows (m, k) in the layout (n, k, d1, ...) of their scores: the inverse of :func:`flat_rows`."""
    if scores.ndim == 2:
        return rows
    return rows.view(*scores.shape[:1], *scores.shape[2:], -1).movedim(-1, 1)


def label_gaps(scores: Tensor, labels: Tensor, margin: float | None = None) -> Tensor:
    r"""How far every score is ahead of the label's: :math:`g_i = s_i - s_y`, at least :math:`-r` with a margin :math:`r`.

    The margin is an upper limit of :math:`s_y - s_i`, Eq. (19) of arXiv 2205.09615.

    >>> label_gaps(torch.tensor([[3.0, 1.0, 2.5]]), torch.tensor([0]), margin=1.0)
    tensor([[ 0.0000, -1.0000, -0.5000]])
    """
    gaps = scores - scores.gather(1, labels[:, None])
    return gaps if margin is None else gaps.clamp(min=-margin)


def bounded_scores(scores: Tensor, ends: Ends, width: float | Tensor = 1.0) -> Tensor:
    """Scores (n, k, ...) whose differences in a row are finite, also after division by ``width``.

    In a row with scores near the dtype's maximum they are replaced by their differences to the best of them, and a difference
    that would overflow by the largest number. The gradient is that of the true difference. Other rows are unchanged. If
    ``ends`` and a number for a width show that all rows are, this takes no operator.

    >>> bounded_scores(torch.tensor([[2e38, -2e38]]), (-2e38, 2e38))
    tensor([[ 0.0000e+00, -3.4028e+38]])
    """
    if not isinstance(width, Tensor):
        half = _HALF_OF_RANGE[scores.dtype] * min(width, 1.0)
        if ends is not None and -half <= ends[0] and ends[1] <= half:
            return scores
        width = scores.new_full([1] * scores.ndim, width)  # rounded as in the division, whose result would overflow otherwise
    limit, plain = width.detach().clamp(max=1.0) * torch.finfo(scores.dtype).max, scores.detach()
    best = plain.amax(1, keepdim=True)
    is_huge = (best > 0.5 * limit) | (plain.amin(1, keepdim=True) < -0.5 * limit)
    return _StraightThrough.apply(scores, torch.where(is_huge, torch.maximum(plain - best, -limit), plain))


def saturate(numbers: Tensor) -> Tensor:
    """The largest number of the dtype instead of infinity, with the gradient of the identity.

    >>> saturate(torch.tensor([1.0, float("inf")]))
    tensor([1.0000e+00, 3.4028e+38])
    """
    largest = torch.finfo(numbers.dtype).max
    return _StraightThrough.apply(numbers, numbers.detach().clamp(-largest, largest))


class _StraightThrough(torch.autograd.Function):
    """The values of the second tensor with the gradient of the first."""

    generate_vmap_rule = True

    @staticmethod
    def forward(numbers: Tensor, values: Tensor) -> Tensor:
        return values.view_as(values)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, incoming: Tensor) -> Any:
        return incoming, None


def limit_gradient(numbers: Tensor) -> Tensor:
    """The numbers themselves; gradients by them are cut off at 8e28 in float32, beyond which products would overflow."""
    if not numbers.requires_grad:
        return numbers
    if torch.compiler.is_compiling() or not has_memory(numbers):
        return _LimitedGradient.apply(numbers)
    numbers.register_hook(_limited)  # takes a tenth of the time of a function
    return numbers


def _limited(gradient: Tensor | None) -> Tensor | None:
    if gradient is None:  # nothing depends on these numbers
        return None
    limit = torch.finfo(gradient.dtype).max ** 0.75
    return gradient.clamp(-limit, limit)


def has_memory(numbers: Tensor) -> bool:
    """Whether it is a plain tensor, not one of ``torch.func`` or without storage."""
    try:
        return numbers.data_ptr() is not None
    except RuntimeError:
        return False


class _LimitedGradient(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(numbers: Tensor) -> Tensor:
        return numbers.view_as(numbers)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, incoming: Tensor) -> Tensor | None:
        return _limited(incoming)


def normalize_scores(scores: Tensor, counts: Tensor | None = None) -> Tensor:
    r"""Scores minus their mean, over their standard deviation, both taken over the whole batch at once.

    Listing 1 of arXiv 2205.09615: one mean and one (unbiased) deviation for all n x k scores, not one per class. Only rows
    with a positive entry in ``counts`` (n, ...) enter the statistics. If all scores are equal, they are only centred. The
    result does not depend on the scale of the scores, from the smallest to the largest numbers of the dtype.

    >>> normalize_scores(torch.tensor([[0.0, 2.0], [4.0, 2.0]]))
    tensor([[-1.2247,  0.0000],
            [ 1.2247,  0.0000]])
    """
    used = torch.ones_like(scores) if counts is None else (counts > 0).to(scores).unsqueeze(1).expand_as(scores)
    centred, mean, variance = _moments(scores, used)
    if not scores.numel() or _is_ordinary(variance):
        return centred / _deviation(mean, variance)[0]
    scores = scores * used  # the others may be larger by any factor
    size = scores.detach().abs().amax().clamp(min=torch.finfo(scores.dtype).tiny)
    centred, mean, variance = _moments(_Quotient.apply(scores, size), used)
    deviation, constant = _deviation(mean, variance)
    return torch.where(constant, scores - size * mean.detach(), centred / deviation)


def _moments(scores: Tensor, used: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scores minus their mean, the mean, and the unbiased variance."""
    n_used = used.sum()
    mean = (scores * used).sum() / n_used.clamp(min=1.0)
    centred = scores - mean
    return centred, mean, (centred.square() * used).sum() / (n_used - 1.0).clamp(min=1.0)


def _deviation(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """The standard deviation, or 1 if it is only rounding error; and whether it is."""
    limits = torch.finfo(variance.dtype)
    constant = variance <= (4.0 * limits.eps * mean.detach()).square() + limits.tiny
    return variance.masked_fill(constant, 1.0).sqrt(), constant


def _is_ordinary(variance: Tensor) -> bool:
    """Whether squares of these scores, and gradients over them, are far from the ends of the range; False if not known."""
    if torch.compiler.is_compiling() or not variance.is_cpu:
        return False
    try:
        return 1e-8 < float(variance.detach()) < 1e8
    except RuntimeError:  # vmap and fake tensors have no values
        return False


class _Quotient(torch.autograd.Function):
    """Scores over a positive number; a gradient that overflows becomes the largest number."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, divisor: Tensor) -> Tensor:
        return scores / divisor

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, incoming: Tensor) -> Any:
        (divisor,) = ctx.saved_tensors
        return saturate(incoming / divisor), None
