"""The hard decision: the limit of every smoothing."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from metricfit.smoothing._base import Smoothing


class Hard(Smoothing):
    """One-hot of the largest score (the first of ties), with zero gradient. For evaluation.

    >>> Hard().assign(torch.tensor([[0.1, 2.0, 2.0]]))
    tensor([[0., 1., 0.]])
    """

    divides_by_width = False

    def __init__(self) -> None:
        super().__init__(1.0)

    def extra_repr(self) -> str:
        return ""

    def _assign(self, scores: Tensor, width: Tensor) -> Tensor:
        one_hot = torch.zeros_like(scores).scatter(1, scores.argmax(1, keepdim=True), 1.0)
        # NaN stays NaN, and the graph has a (zero) gradient
        return one_hot + 0.0 * (scores - scores.detach()).sum(1, keepdim=True)

    def _log_assign(self, scores: Tensor, width: Tensor) -> Tensor:
        log_zero = math.log(torch.finfo(scores.dtype).tiny)  # finite, so that a mean of links stays finite
        return (1.0 - self._assign(scores, width)) * log_zero
