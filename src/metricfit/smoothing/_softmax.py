"""Softmax: the assignment under Gumbel noise on every score."""

from __future__ import annotations

from torch import Tensor

from metricfit.smoothing._base import Smoothing, Width


class Softmax(Smoothing):
    r"""Softmax with a temperature, :math:`A_j = e^{s_j/T} / \sum_i e^{s_i/T}`.

    Cross-entropy, expected error and leaky expected error use it (arXiv 1905.00448, Eq. 1 to 6). For two classes, about 0.8 is
    similar to normal noise of scale 1; for more classes, a smaller temperature is.

    >>> Softmax().assign(torch.tensor([[0.0, 1.0986123]]))          # 1/4, 3/4
    tensor([[0.2500, 0.7500]])
    """

    width_name = "temperature"

    def __init__(self, temperature: Width = 1.0) -> None:
        super().__init__(temperature)

    def _log_assign(self, scores: Tensor, width: Tensor) -> Tensor:
        return (scores / width).log_softmax(1)

    def _assign(self, scores: Tensor, width: Tensor) -> Tensor:
        return (scores / width).softmax(1)
