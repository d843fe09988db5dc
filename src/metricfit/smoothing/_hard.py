"""The hard decision: the limit that every smoothing reaches."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from metricfit.smoothing._base import Smoothing


class Hard(Smoothing):
    """One-hot of the largest score, the first of equals, with zero gradient. For evaluating what is trained softly.

    >>> Hard().assign(torch.tensor([[0.1, 2.0, 2.0]]))
    tensor([[0., 1., 0.]])
    """

    def __init__(self) -> None:
        super().__init__(1.0)

    def extra_repr(self) -> str:
        return ""

    def _assign(self, scores: Tensor, width: Tensor) -> Tensor:
        one_hot = torch.zeros_like(scores).scatter(1, scores.argmax(1, keepdim=True), 1.0)
        # NaN stays NaN, and there is a (zero) gradient to take
        return one_hot + 0.0 * (scores - scores.detach()).sum(1, keepdim=True)

    def _log_assign(self, scores: Tensor, width: Tensor) -> Tensor:
        log_zero = math.log(torch.finfo(scores.dtype).tiny)  # finite, so that a link of it can still be averaged
        return (1.0 - self._assign(scores, width)) * log_zero
