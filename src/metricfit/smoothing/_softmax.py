"""Softmax: the assignment under Gumbel noise on every score."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from metricfit.smoothing._base import Smoothing, Width, subtract_best

_FEW, _MANY = 16, 1024  # classes, the numbers of a vector; and scores, for which the two more operators pay


class Softmax(Smoothing):
    r"""Softmax with a temperature, :math:`A_j = e^{s_j/T} / \sum_i e^{s_i/T}`.

    Cross-entropy, expected error and leaky expected error use it. For two classes a temperature of about 0.8 is similar to
    normal noise of scale 1; for more classes it is smaller.

    Parameters
    ----------
    temperature : float or Tensor, default=1.0
        The temperature T.

    References
    ----------
    İrsoy, "On Expected Accuracy", arXiv 1905.00448, Eq. (1) to (6).

    Examples
    --------
    >>> import torch
    >>> from metricfit.smoothing import Softmax
    >>> Softmax().assign(torch.tensor([[0.0, 1.0986123]]))          # 1/4, 3/4
    tensor([[0.2500, 0.7500]])
    """

    width_name = "temperature"
    centres_itself = True

    def __init__(self, temperature: Width = 1.0) -> None:
        super().__init__(temperature)

    def _log_assign(self, scores: Tensor, width: Width) -> Tensor:
        return _by_columns(torch.log_softmax, _over_width(scores, width))

    def _assign(self, scores: Tensor, width: Width) -> Tensor:
        return _by_columns(torch.softmax, _over_width(scores, width))

    def _label(self, scores: Tensor, labels: Tensor, margin: float | None, width: Width) -> Tensor:
        if margin is not None:
            return super()._label(scores, labels, margin, width)
        return -F.nll_loss(self._assign(scores, width), labels, reduction="none")  # in fewer operators than `gather`

    def _log_label(self, scores: Tensor, labels: Tensor, margin: float | None, width: Width) -> Tensor:
        if margin is not None:
            return super()._log_label(scores, labels, margin, width)
        return -F.nll_loss(self._log_assign(scores, width), labels, reduction="none")


def _by_columns(function: Callable[[Tensor, int], Tensor], scores: Tensor) -> Tensor:
    """A softmax of every row. Torch's is scalar code along a short last dimension, and vector code along any other."""
    compiles = torch.compiler.is_compiling()  # first, because a comparison with a size would become a condition of the graph
    if not compiles and scores.ndim == 2 and scores.shape[1] < _FEW and scores.numel() > _MANY:
        return function(scores.t(), 0).t()
    return function(scores, 1)


def _over_width(scores: Tensor, width: Width) -> Tensor:
    """Scores over the temperature; torch's softmax subtracts the best of them, but only after the division."""
    if isinstance(width, float) and width == 1.0:
        return scores
    return subtract_best(scores) / width
