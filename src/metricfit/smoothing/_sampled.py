"""Normal noise by sampling, for comparison: the EXACT paper's own algorithm and plain Monte Carlo."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from metricfit.numerics import LARGEST_GAP, clip_gaps, forbid_second_derivative, log_orthant, log_orthant_slope


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
