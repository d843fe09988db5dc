r"""Orthant probabilities of equally coupled normals by Genz's algorithm, as in the EXACT paper.

This is a reference and a baseline for the one-dimensional integral in :mod:`metricfit.numerics._race`. That integral is exact
and linear in the number of classes, this algorithm is random and quadratic.

References: A. Genz, "Numerical computation of multivariate normal probabilities" (1992), section 3; Karpukhin et al.,
arXiv 2205.09615, Theorem 4.3 and appendix B.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor

from metricfit.numerics._normal import cdf, log_cdf


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
