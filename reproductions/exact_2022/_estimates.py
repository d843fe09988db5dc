"""Appendix C's integral and its gradient, by every method that there is.

One orthant integral, mean m below and covariance I + 11^T. As scores it is 11 classes: 0 for the label, -m for the others,
scale 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

import metricfit as mf

MEAN = (1.0, 2.0, 0.5, 10.0, 6.0, -3.0, -4.0, 5.0, 1.0, 0.0)


class Estimate(NamedTuple):
    """Of the integral (n,) and of its gradient with respect to m (n, 10)."""

    value: Tensor
    gradient: Tensor


Draw = Callable[[int], Estimate]  # so many independent estimates


def by_smoothing(smoothing: mf.smoothing.Normal, n_rows: int = 1, dtype: torch.dtype = torch.float64) -> Estimate:
    """One estimate per row; with a random method each row draws its own noise."""
    mean = torch.tensor(MEAN, dtype=dtype).repeat(n_rows, 1).requires_grad_()
    scores = torch.cat([mean.new_zeros(n_rows, 1), -mean], 1)
    value = smoothing.label_probability(scores, torch.zeros(n_rows, dtype=torch.long))
    (gradient,) = torch.autograd.grad(value.sum(), mean)
    return Estimate(value.detach(), gradient)


@lru_cache(maxsize=1)
def by_mpmath() -> Estimate:
    """Twenty digits, independent of metricfit: given the label's noise z, the comparisons are independent."""
    import mpmath as mp  # type: ignore[import-untyped]

    def integral(by: int | None = None) -> float:
        """Of phi(z) prod_i Phi(z + m_i), or of its derivative by one m_i."""
        factors = [mp.npdf if i == by else mp.ncdf for i in range(len(MEAN))]
        pieces = mp.linspace(-10, 15, 6)
        return float(mp.quad(lambda z: mp.npdf(z) * mp.fprod(f(z + m) for f, m in zip(factors, MEAN, strict=True)), pieces))

    with mp.workdps(20):
        value, gradient = integral(), [integral(i) for i in range(len(MEAN))]
    return Estimate(torch.tensor([value], dtype=torch.float64), torch.tensor([gradient], dtype=torch.float64))


def drawing(method: str, samples: int) -> Draw:
    """A random method with its generator."""
    generator = torch.Generator().manual_seed(samples)
    if method == "plain Genz":
        return lambda n_rows: _plain_genz(n_rows, samples, generator)
    names = {"Genz": "genz", "Monte-Carlo": "monte_carlo"}
    smoothing = mf.smoothing.Normal(method=names[method], samples=samples, generator=generator)
    return lambda n_rows: by_smoothing(smoothing, n_rows)


def _plain_genz(n_rows: int, samples: int, generator: torch.Generator) -> Estimate:
    """Genz's algorithm without two refinements of ours: variables in the order given, one sample for value and gradient.

    The derivative by m_i is the same integral with variable i held at zero and its density in place of its probability
    (Theorem 4.3). Here the variables before i are drawn before that is known. The last of the 11 columns is the value.
    """
    factor = torch.linalg.cholesky(torch.eye(len(MEAN), dtype=torch.float64) + 1.0)
    weight = torch.ones(n_rows, samples, len(MEAN) + 1, dtype=torch.float64)
    shift = torch.zeros_like(weight)
    for i, m in enumerate(MEAN):
        room = (m + shift) / factor[i, i]
        uniform = torch.rand(n_rows, samples, 1, generator=generator, dtype=torch.float64)
        mass = torch.special.ndtr(room)
        noise = -torch.special.ndtri((mass * (1.0 - uniform)).clamp(min=1e-300))
        noise[..., i] = -room[..., i]
        mass[..., i] = torch.exp(-0.5 * room[..., i].square()) / (math.sqrt(2.0 * math.pi) * factor[i, i])
        weight *= mass
        shift += factor[-1, i] * noise
    means = weight.mean(1)
    return Estimate(means[:, -1], means[:, :-1])
