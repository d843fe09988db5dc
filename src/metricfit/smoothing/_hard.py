"""The hard decision: the limit of every smoothing."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from metricfit.smoothing._base import Smoothing, Width


class Hard(Smoothing):
    """One-hot of the largest score (the first of ties), with zero gradient: for evaluation.

    Examples
    --------
    >>> import torch
    >>> from metricfit.smoothing import Hard
    >>> Hard().assign(torch.tensor([[0.1, 2.0, 2.0]]))
    tensor([[0., 1., 0.]])
    """

    divides_by_width = False

    def __init__(self) -> None:
        super().__init__(1.0)

    def extra_repr(self) -> str:
        return ""

    def _assign(self, scores: Tensor, width: Width) -> Tensor:
        one_hot = torch.zeros_like(scores).scatter(1, scores.argmax(1, keepdim=True), 1.0)
        return one_hot + (0.0 * scores).sum(1, keepdim=True)  # a zero gradient; NaN stays NaN

    def _log_assign(self, scores: Tensor, width: Width) -> Tensor:
        log_zero = math.log(torch.finfo(scores.dtype).tiny)  # finite, so that a mean of links stays finite
        return (1.0 - self._assign(scores, width)) * log_zero
