r"""Derivatives of cross-entropy, hinge and EXACT by the scores of many linear models at once, without autograd.

Scores have the shape (g, k, m, b): g groups of models that see the same rows, k classes, m models in each group, b rows.
Labels are (g, b). Each function returns the derivative of the mean loss over the b rows of each model.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from reproductions.exact_2022._trapezoid import trapezoid_slopes

SQRT_2, SQRT_2PI = math.sqrt(2.0), math.sqrt(2.0 * math.pi)


def is_own(scores: Tensor, labels: Tensor) -> Tensor:
    """True at the label, (g, k, 1, b)."""
    return labels[:, None, None] == torch.arange(scores.shape[1]).view(1, -1, 1, 1)


def cross_entropy_slopes(scores: Tensor, labels: Tensor) -> Tensor:
    """Softmax minus label.

    >>> cross_entropy_slopes(torch.zeros(1, 2, 1, 1), torch.tensor([[0]])).flatten()
    tensor([-0.5000,  0.5000])
    """
    shares = (scores - scores.amax(1, keepdim=True)).exp_()
    shares /= shares.sum(1, keepdim=True)
    return shares.sub_(is_own(scores, labels).to(scores)).div_(scores.shape[-1])


def hinge_slopes(scores: Tensor, labels: Tensor, margin: Tensor) -> Tensor:
    """Crammer and Singer: 1 at the best other class and -1 at the label, where it is not ahead by the margin (g, 1, m, 1).

    >>> scores, margin = torch.tensor([0.0, 2.0, 1.5]).view(1, 3, 1, 1), torch.ones(1, 1, 1, 1)
    >>> hinge_slopes(scores, torch.tensor([[1]]), margin).flatten()
    tensor([ 0., -1.,  1.])
    """
    own = is_own(scores, labels)
    best, index = scores.masked_fill(own, -math.inf).max(1, keepdim=True)
    label = (scores * own).sum(1, keepdim=True)
    classes = torch.arange(scores.shape[1]).view(1, -1, 1, 1)
    moved = (classes == index).to(scores) - own.to(scores)
    return moved.mul_(best - label + margin >= 0.0).div_(scores.shape[-1])


def exact_slopes(scores: Tensor, labels: Tensor, margin: Tensor, sigma: Tensor | float) -> tuple[Tensor, Tensor]:
    r"""Derivatives of 1 - p by the scores, and by sigma (g, 1, m, b).

    Listing 1 of arXiv 2205.09615. With :math:`u = (s - \bar s) / \mathrm{sd}(s)` over the k b scores of a model,
    :math:`d_i = \min(u_y - u_i, r) / \sigma`, and p the probability of Eq. (15).
    """
    own, n_scores = is_own(scores, labels), scores.shape[1] * scores.shape[3]
    standard = scores - scores.sum((1, 3), keepdim=True) / n_scores
    deviation = (standard.square().sum((1, 3), keepdim=True) / (n_scores - 1)).sqrt_().clamp_(min=1e-20)
    standard /= deviation
    ahead = (standard * own).sum(1, keepdim=True) - standard
    is_clipped = ahead > margin
    gaps = torch.minimum(ahead, margin) / sigma
    slopes = win_slopes(gaps, labels)
    by_sigma = (slopes * gaps).sum(1, keepdim=True) / (sigma * scores.shape[3])
    by_standard = slopes.masked_fill_(is_clipped, 0.0) / (sigma * scores.shape[3])
    by_standard = torch.where(own, -by_standard.sum(1, keepdim=True), by_standard)
    shrinkage = (by_standard * standard).sum((1, 3), keepdim=True) / (n_scores - 1)
    return (by_standard - standard * shrinkage) / deviation, by_sigma


def win_slopes(gaps: Tensor, labels: Tensor) -> Tensor:
    r"""Derivatives of the probability that all gaps stay positive by each of them (Theorem 4.3), zero at the label.

    For two classes it is :math:`\varphi(d / \sqrt 2) / \sqrt 2`. For three it is that, times
    :math:`\Phi\bigl((d_j - d_i / 2) / \sqrt{3/2}\bigr)`. For more it is an integral
    along the label's own noise.

    >>> win_slopes(torch.zeros(1, 3, 1, 1), torch.tensor([[0]])).flatten()         # 1 / (2 sqrt(pi)) / 2
    tensor([0.0000, 0.1410, 0.1410])
    """
    if gaps.shape[1] > 3:
        return torch.from_numpy(trapezoid_slopes(gaps.contiguous().numpy(), labels.numpy()))
    slopes = gaps.square().mul_(-0.25).exp_().div_(SQRT_2 * SQRT_2PI)
    if gaps.shape[1] == 3:
        rival = gaps.sum(1, keepdim=True) - gaps  # the gap of the label is zero, so the sum has two terms
        slopes *= torch.special.ndtr((rival - 0.5 * gaps) / math.sqrt(1.5))
    return slopes.masked_fill_(is_own(gaps, labels), 0.0)
