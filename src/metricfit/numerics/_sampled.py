r"""The race of normals by sampling, for comparison: Genz's algorithm, as in the EXACT paper, and plain Monte Carlo.

The one-dimensional integral in :mod:`metricfit.numerics._race` is exact and linear in the number of classes, Genz's algorithm
for orthant probabilities of equally coupled normals is random and quadratic.

References: A. Genz, "Numerical computation of multivariate normal probabilities" (1992), section 3; Karpukhin et al.,
arXiv 2205.09615, Theorem 4.3 and appendix B.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from metricfit.numerics._normal import cdf, log_cdf
from metricfit.numerics._operators import forbid_second_derivative
from metricfit.numerics._race import LARGEST_GAP, clip_gaps


def genz_log_label(gaps: Tensor, labels: Tensor, samples: int, generator: torch.Generator | None) -> Tensor:
    r"""Log-probability that the label wins, by Genz's algorithm: Eq. (15) of arXiv 2205.09615, gradient by Theorem 4.3.

    ``gaps`` (n, k) are standardised, :math:`(s_i - s_y)/\sigma`, with the margin applied. The mean of the orthant integral is
    :math:`m = -g` without the label's own entry. Value and gradient are independent estimates, as in the paper. So the
    gradient is not the derivative of the sampled value, but both converge to the exact ones.
    """
    k = gaps.shape[1]
    others = torch.arange(k - 1, device=gaps.device) + (torch.arange(k - 1, device=gaps.device) >= labels[:, None])
    return _GenzLogWin.apply(clip_gaps(-gaps.gather(1, others)), samples, generator)


class _GenzLogWin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mean: Tensor, samples: int, generator: torch.Generator | None) -> Tensor:
        log_p = log_orthant(mean, 1.0, samples, generator)
        if ctx.needs_input_grad[0]:
            slope = torch.exp(log_orthant_slope(mean, samples, generator) - log_p[:, None])
            # far out the two estimates differ by their rounding errors, whose exponential is infinite
            ctx.save_for_backward(slope.clamp(max=LARGEST_GAP[mean.dtype]), mean)
        return log_p

    @staticmethod
    def backward(ctx: Any, incoming: Tensor) -> Any:
        slope, mean = ctx.saved_tensors
        return forbid_second_derivative(incoming[:, None] * slope, incoming, mean), None, None


def monte_carlo_assign(scores: Tensor, samples: int, generator: torch.Generator | None) -> Tensor:
    r"""Share of noisy draws in which each class wins, Eq. (49), with the log-derivative gradient of Eq. (50).

    ``scores`` (n, k) are standardised; the derivative of :math:`\log N(s; \mu, I)` by :math:`\mu` is then the noise itself.
    """
    return _MonteCarloWins.apply(scores, samples, generator)


class _MonteCarloWins(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, samples: int, generator: torch.Generator | None) -> Tensor:
        noise = torch.randn(samples, *scores.shape, generator=generator, dtype=scores.dtype, device=scores.device)
        draws = scores + noise
        winners = draws.argmax(2, keepdim=True)
        wins = torch.zeros_like(draws).scatter_(2, winners, 1.0).mean(0)
        ctx.save_for_backward(noise, winners, scores)
        return wins + (0.0 * scores).sum(1, keepdim=True)  # NaN stays NaN

    @staticmethod
    def backward(ctx: Any, incoming: Tensor) -> Any:
        noise, winners, scores = ctx.saved_tensors
        by_scores = (incoming.expand_as(noise).gather(2, winners) * noise).mean(0)
        return forbid_second_derivative(by_scores, incoming, scores), None, None


def coupled_cholesky(dimension: int, coupling: float) -> tuple[list[float], list[float]]:
    r"""Cholesky factor of :math:`I + c\,11^T`: its diagonal, and the one value below it in each column, Eq. (47).

    .. math:: \alpha_i = \sqrt{\frac{1 + ic}{1 + (i-1)c}}, \qquad \beta_i = \frac{c}{\sqrt{(1 + (i-1)c)(1 + ic)}}

    >>> coupled_cholesky(2, 1.0)                    # sqrt(2), sqrt(3/2); 1/sqrt(2), 1/sqrt(6)
    ([1.4142135623730951, 1.224744871391589], [0.7071067811865475, 0.4082482904638631])
    """
    partial = [1.0 + i * coupling for i in range(dimension + 1)]
    diagonal = [math.sqrt(after / before) for before, after in pairwise(partial)]
    below = [coupling / math.sqrt(before * after) for before, after in pairwise(partial)]
    return diagonal, below


def log_orthant(mean: Tensor, coupling: float, samples: int, generator: torch.Generator | None = None) -> Tensor:
    r"""Logarithm of Genz's estimate of :math:`P(X_1 > 0, \dots, X_d > 0)` for :math:`X \sim N(m, I + c\,11^T)`.

    ``mean`` is (..., d), the result (...). Variables are ordered by their mean, the most restrictive first. Each sample
    draws :math:`y_i` from a normal truncated at a limit that depends on the earlier draws. All entries of a column of the
    Cholesky factor below the diagonal are equal, so one running sum gives all later limits and the cost is O(N d).
    """
    diagonal, below = coupled_cholesky(mean.shape[-1], coupling)
    mean = mean.sort(-1).values
    log_weight = mean.new_zeros(*mean.shape[:-1], samples)
    shift = torch.zeros_like(log_weight)
    for i, (alpha, beta) in enumerate(zip(diagonal, below, strict=True)):
        room = (mean[..., i, None] + shift) / alpha  # the variable is positive if its own noise exceeds -room
        log_weight += log_cdf(room)
        uniform = torch.rand(room.shape, generator=generator, dtype=room.dtype, device=room.device)
        mass = (cdf(room) * (1.0 - uniform)).clamp(min=torch.finfo(room.dtype).tiny)
        shift -= beta * torch.special.ndtri(mass)
    return torch.logsumexp(log_weight, -1) - math.log(samples)


def log_orthant_slope(mean: Tensor, samples: int, generator: torch.Generator | None = None) -> Tensor:
    r"""Logarithm of the derivative of the orthant probability with coupling 1, for every entry of the mean, Theorem 4.3.

    .. math:: \frac{\partial p}{\partial m_i} = N(0; m_i, 2) \int_{\Omega'_+} N(t; \hat m_i, \hat\Sigma_i)\, dt,
        \qquad \hat m_{ij} = m_j - m_i / 2, \qquad \hat\Sigma_i = I + \tfrac12 11^T
    """
    dimension = mean.shape[-1]
    log_density = -0.25 * mean.square() - math.log(2.0 * math.sqrt(math.pi))
    if dimension == 1:
        return log_density
    others = torch.arange(dimension, device=mean.device).expand(dimension, -1)
    others = others[~torch.eye(dimension, dtype=torch.bool, device=mean.device)].view(dimension, dimension - 1)
    conditional = mean[..., others] - 0.5 * mean[..., :, None]
    return log_density + log_orthant(conditional, 0.5, samples, generator)
