"""Division, logarithm, square root and mean that stay finite at zero, in value and in gradient.

Each equals the plain function away from zero. Near zero, where the plain gradient would overflow, it continues as a straight
line or a constant. So values are continuous, and gradients are those of the computed values.
"""

from __future__ import annotations

import torch
from torch import Tensor


def floor_of(x: Tensor) -> float:
    """A positive number far below any count or probability and far above where 1/x overflows: 4e-29 in float32."""
    return float(torch.finfo(x.dtype).tiny ** 0.75)


def safe_divide(numerator: Tensor, denominator: Tensor, otherwise: float = 0.0) -> Tensor:
    """``numerator / denominator``, or ``otherwise``, with zero gradient, if the denominator is not positive.

    No other function defines 0/0. NaN stays NaN.

    >>> safe_divide(torch.tensor([1.0, 0.0]), torch.tensor([4.0, 0.0]))
    tensor([0.2500, 0.0000])
    """
    undefined = denominator <= floor_of(denominator)
    quotient = numerator / denominator.masked_fill(undefined, torch.inf)
    return quotient if otherwise == 0.0 else quotient + otherwise * undefined


def safe_log(x: Tensor, floor: float | None = None) -> Tensor:
    """``log(x)``, continued below a floor by its tangent: -67 at zero in float32, falling steeply below.

    If x is a difference, pass a floor above its rounding error.

    >>> safe_log(torch.tensor([1.0, 0.0, -1e-29]))
    tensor([  0.0000, -66.5024, -66.7825])
    """
    floor = floor_of(x) if floor is None else floor
    return torch.log(x.clamp(min=floor)) + (x - floor).clamp(max=0.0) / floor


def safe_sqrt(x: Tensor) -> Tensor:
    """``sqrt(x)``, a straight line from (0, 0) below a floor so that the slope at zero is finite.

    >>> safe_sqrt(torch.tensor([4.0, 0.0]))
    tensor([2., 0.])
    """
    floor = float(torch.finfo(x.dtype).eps ** 2)
    return torch.where(x > floor, torch.sqrt(x.clamp(min=floor)), x * floor**-0.5)


def occurs(count: Tensor) -> Tensor:
    """Whether a count is positive.

    Parameters
    ----------
    count : Tensor
        Counts of any shape.

    Returns
    -------
    Tensor
        Booleans of the same shape.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import occurs
    >>> occurs(torch.tensor([3.0, 0.0]))
    tensor([ True, False])
    """
    return count > floor_of(count)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the last dimension of the entries where ``mask`` is true.

    Parameters
    ----------
    values : Tensor of shape (..., k)
        The numbers.
    mask : Tensor of shape (..., k)
        Booleans.

    Returns
    -------
    Tensor of shape (...)
        The mean; 0 if the mask is empty.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import masked_mean
    >>> masked_mean(torch.tensor([1.0, 2.0, 6.0]), torch.tensor([True, False, True]))
    tensor(3.5000)
    """
    kept = mask.to(values)
    share = kept / kept.sum(-1, keepdim=True).clamp(min=1.0)
    return values.dot(share) if values.ndim == 1 else (values * share).sum(-1)
