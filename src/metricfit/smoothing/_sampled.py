"""Normal noise by sampling: the EXACT paper's own algorithm and plain Monte-Carlo. References and baselines."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from metricfit.numerics._orthant import log_orthant, log_orthant_slope


def genz_log_label(gaps: Tensor, labels: Tensor, samples: int, generator: torch.Generator | None) -> Tensor:
    r"""Log-probability that the label wins, by Genz's algorithm: Eq. (15) of arXiv 2205.09615, gradient by Theorem 4.3.

    ``gaps`` (n, k) are standardised, :math:`(s_i - s_y)/\sigma`, with the margin applied. The mean of the orthant integral is
    :math:`m = -g` without the label's own entry. Value and gradient are independent estimates, as in the paper, so the
    gradient is not the derivative of the value that was drawn; both tend to the exact ones.
    """
    k = gaps.shape[1]
    others = torch.arange(k - 1, device=gaps.device) + (torch.arange(k - 1, device=gaps.device) >= labels[:, None])
    return _GenzLogWin.apply(-gaps.gather(1, others), samples, generator)


class _GenzLogWin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mean: Tensor, samples: int, generator: torch.Generator | None) -> Tensor:
        log_p = log_orthant(mean, 1.0, samples, generator)
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(torch.exp(log_orthant_slope(mean, samples, generator) - log_p[:, None]))
        return log_p

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, incoming: Tensor) -> Any:
        (slope,) = ctx.saved_tensors
        return incoming[:, None] * slope, None, None


def monte_carlo_assign(scores: Tensor, samples: int, generator: torch.Generator | None) -> Tensor:
    r"""Share of noisy draws in which each class wins, Eq. (49), with the log-derivative gradient of Eq. (50).

    ``scores`` (n, k) are standardised. Adding :math:`1(\tilde y = j)\,(\log N(s; \mu, I) - \log N(s; \mu, I))`, the second
    logarithm held constant, leaves the value alone and gives it the derivative :math:`1(\tilde y = j)\,\nabla\log N`.
    """
    noise = torch.randn(samples, *scores.shape, generator=generator, dtype=scores.dtype, device=scores.device)
    draws = scores.detach() + noise
    wins = torch.zeros_like(draws).scatter(2, draws.argmax(2, keepdim=True), 1.0)
    log_density = -0.5 * (draws - scores).square().sum(2, keepdim=True)
    return (wins * (1.0 + log_density - log_density.detach())).mean(0)
