r"""The standard normal distribution, accurate in both tails, in float32 and float64, through autograd.

Worst relative errors over :math:`[-10^4, 12]`, in units in the last place (``tests/numerics/test_normal.py``): a few for the
logarithm unless it is negligible, and at most about :math:`x^2` where a rounded square is exponentiated (the density, and the
two right tails that vanish).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)


def pdf(x: Tensor) -> Tensor:
    r"""Density :math:`\varphi(x) = e^{-x^2/2} / \sqrt{2\pi}`.

    >>> pdf(torch.tensor(0.0))
    tensor(0.3989)
    """
    return 0.5 * _SQRT_2_OVER_PI * torch.exp(-0.5 * x.square())


def cdf(x: Tensor) -> Tensor:
    r"""Distribution function :math:`\Phi(x)`, by ``erfc``, which is accurate in the left tail.

    >>> cdf(torch.tensor([0.0, -10.0]))
    tensor([5.0000e-01, 7.6199e-24])
    """
    return 0.5 * torch.erfc(-_SQRT_HALF * x)


def log_cdf(x: Tensor) -> Tensor:
    r"""Logarithm :math:`\log\Phi(x)`: finite on the left, accurate on the right until it underflows.

    >>> log_cdf(torch.tensor([0.0, -100.0, 10.0]))
    tensor([-6.9315e-01, -5.0055e+03, -7.6199e-24])
    """
    return torch.special.log_ndtr(x)


def ratio(x: Tensor) -> Tensor:
    r"""Density over distribution function, :math:`r(x) = \varphi(x)/\Phi(x) = (\log\Phi)'(x)`: the inverse Mills ratio.

    Positive, decreasing and convex: :math:`-x + 1/|x|` on the far left, zero on the far right.

    >>> ratio(torch.tensor([0.0, -100.0]))
    tensor([  0.7979, 100.0100])
    """
    return _SQRT_2_OVER_PI / torch.special.erfcx(-_SQRT_HALF * x)
