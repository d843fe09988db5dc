r"""The race of two normals, in closed form: :math:`p_y = \Phi(-g/\sqrt 2)`. The functions of :mod:`._race`, without nodes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from metricfit.numerics._normal import cdf, pdf
from metricfit.numerics._normal_parts import log_cdf_and_ratio

_SQRT_HALF = math.sqrt(0.5)


def log_win(gaps: Tensor, labels: Tensor, order: int, with_gradient: bool) -> tuple[Tensor, Tensor]:
    """As :func:`._race.log_win`.

    >>> log_win(torch.zeros(1, 2), torch.tensor([0]), 0, True)  # log 1/2; -phi(0) / sqrt(2) / (1/2)
    (tensor([-0.6931]), tensor([[ 0.0000, -0.5642]]))
    """
    rival = 1 - labels[:, None]
    ahead = -_SQRT_HALF * gaps.gather(1, rival)
    log_p, slope = log_cdf_and_ratio(ahead)
    if not with_gradient:
        return log_p.squeeze(1), gaps.new_empty(0)
    return log_p.squeeze(1), torch.zeros_like(gaps).scatter(1, rival, -_SQRT_HALF * slope)


def win_all(scores: Tensor, order: int) -> Tensor:
    """As :func:`._race.win_all`.

    >>> win_all(torch.zeros(1, 2), 0)
    tensor([[0.5000, 0.5000]])
    """
    return cdf(_SQRT_HALF * (scores - scores.flip(1)))


def win_all_gradient(scores: Tensor, incoming: Tensor, order: int) -> Tensor:
    """As :func:`._race.win_all_gradient`."""
    return _SQRT_HALF * pdf(_SQRT_HALF * (scores - scores.flip(1))) * (incoming - incoming.flip(1))
