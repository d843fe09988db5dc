"""Gauss-Legendre nodes, computed once in float64 and cached per order, dtype and device."""

from __future__ import annotations

from functools import lru_cache

import torch
from numpy.polynomial.legendre import leggauss
from torch import Tensor


@lru_cache(maxsize=64)
def legendre_nodes(order: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    r"""Nodes and weights on :math:`[-1, 1]`: :math:`\sum_q w_q f(x_q) = \int_{-1}^1 f`, exact up to degree 2 order - 1.

    >>> nodes, weights = legendre_nodes(2, torch.float64, torch.device("cpu"))
    >>> nodes, weights                              # +-1/sqrt(3), 1
    (tensor([-0.5774,  0.5774], dtype=torch.float64), tensor([1., 1.], dtype=torch.float64))
    """
    nodes, weights = leggauss(order)
    return torch.tensor(nodes, dtype=dtype, device=device), torch.tensor(weights, dtype=dtype, device=device)
