"""EAST's soft sets: a piecewise-linear step at a threshold that follows the two best classes."""

from __future__ import annotations

import torch
from torch import Tensor

from metricfit.smoothing._base import Smoothing, Width, as_column


class SoftSet(Smoothing):
    r"""Soft-set membership of EAST.

    Let :math:`p` be the softmax of the scores, :math:`\tau` the mean of its two largest entries and
    :math:`\tau_m = 5T \min(\tau, 1 - \tau)`. Three linear pieces replace the step at :math:`\tau`:

    .. math:: H(p) = \begin{cases} m_1 p & p < \tau - \tau_m/2 \\ 1/2 + m_2 (p - \tau) & \text{between} \\
        1 - T + m_3 (p - \tau - \tau_m/2) & p > \tau + \tau_m/2 \end{cases}

    with :math:`m_1 = T/(\tau - \tau_m/2)`, :math:`m_2 = (1 - 2T)/\tau_m`, :math:`m_3 = T/(1 - \tau - \tau_m/2)`. The
    assignment is :math:`H(p_j) / \sum_i H(p_i)`. The gradient includes that of :math:`\tau`. For two classes, T = 0.2 is the
    step of Tsoi et al.

    Parameters
    ----------
    temperature : float or Tensor, default=0.2
        The temperature T, strictly between 0 and 0.4, where :math:`m_1` would divide by zero.

    References
    ----------
    Li et al., "Evaluation Aligned Surrogate Training", arXiv 2405.20954, Eq. (3) to (5). H is Eq. (4), the assignment
    is Eq. (5).

    Examples
    --------
    For p = (0.25, 0.75) and T = 0.2 tau and tau_m are 1/2, and both p lie on a corner, H = (T, 1 - T):

    >>> import torch
    >>> from metricfit.smoothing import SoftSet
    >>> SoftSet().assign(torch.tensor([[0.0, 1.0986123]]))
    tensor([[0.2000, 0.8000]])
    """

    width_name = "temperature"
    width_limit = 0.4
    divides_by_width = False
    width_power = 1.0

    def __init__(self, temperature: Width = 0.2) -> None:
        super().__init__(temperature)

    def _assign(self, scores: Tensor, width: Width) -> Tensor:
        step, _, _ = _soft_step(scores.softmax(1), as_column(width, scores))
        return step / step.sum(1, keepdim=True)

    def _log_assign(self, scores: Tensor, width: Width) -> Tensor:
        log_p, width = scores.log_softmax(1), as_column(width, scores)
        step, below, corner = _soft_step(log_p.exp(), width)
        # on the lowest piece H = p T / corner, and log p is accurate where p underflows
        log_step = torch.where(below, width.log() - corner.log() + log_p, step.masked_fill(below, 1.0).log())
        return log_step - step.sum(1, keepdim=True).log()


def _soft_step(p: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Eq. (4) at the dynamic threshold, the mask of its lowest piece (n, k), and the end of that piece (n, 1)."""
    threshold = p.topk(2, dim=1).values.mean(1, keepdim=True)
    reach = 2.5 * torch.minimum(threshold, 1.0 - threshold)
    half_width = temperature * reach
    corner = threshold - half_width
    high_slope = temperature / (1.0 - threshold - half_width)

    below, above = p < corner, p > threshold + half_width
    distance = (p - threshold).masked_fill(below | above, 0.0)  # elsewhere its slope, 1 / half_width, may overflow
    # narrower than rounding errors of p, 3e-8 in float32, only its slope would grow
    least = torch.finfo(p.dtype).tiny ** 0.2
    between = 0.5 + (0.5 - temperature) * (distance / (temperature.clamp(min=least) * reach))
    high = 1.0 - temperature + high_slope * (p - threshold - half_width)
    return torch.where(below, temperature / corner * p, torch.where(above, high, between)), below, corner
