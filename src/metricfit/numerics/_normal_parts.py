r""":math:`\log\Phi` and its derivative together, by vectorised operations: fast, and without autograd.

``torch.special.log_ndtr`` and ``erfcx`` are not vectorised on a CPU. Here everything comes from the Mills ratio
:math:`m(u) = \Phi(-u)/\varphi(u)`, a polynomial in :math:`t = (u - 4)/(u + 4)` divided by :math:`u + 4`, in some thirty passes
over buffers of ``BUFFER`` numbers, which fit the cache. ``torch.special`` is faster for few numbers, and on other devices,
which compute a special function in one pass.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor

from metricfit.numerics._normal import log_cdf, ratio

FEW = 2**11
BUFFER = 2**16  # with fewer numbers calls cost more than arithmetic, with more memory does
_CENTRE = 4.0
_ZERO_FROM = {torch.float32: 12.0, torch.float64: 36.0}  # beyond, r stays at 2e-32 or 6e-283: denormal numbers are slow
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

# (u + 4) m(u) as a polynomial in t, highest power first: its Chebyshev series, cut where it is below rounding.
# ``tests/numerics/reference/fit_mills.py`` prints them.
# fmt: off
_DEGREE_9 = (
    -0.0003943441879, 0.0003241714095, 0.003919832456, -0.008713460733, -0.01883037159, 0.1513885563, -0.4675531274,
    0.9704099614, -1.523770314, 1.893219055,
)
_DEGREE_22 = (
    -4.23283712866802272e-9, -3.20155372353755968e-9, 4.02749664466792394e-8, 4.9053735092410552e-8, -1.97481207927274511e-7,
    -4.06654396024688942e-7, 6.63589048349551855e-7, 2.57426730781655413e-6, -1.56653014347755118e-6,
    -0.0000148464930104226122, 1.79124196213969378e-6, 0.0000880969606021189732, -4.78183467743632851e-6,
    -0.000579269606507366396, 0.000334244364939136514, 0.00408785572647899554, -0.00872229524820003605,
    -0.0189004508654845016, 0.151391762311047397, -0.467540962998187344, 0.97040955486761768, -1.52377091081998509,
    1.89321906330848526,
)
# fmt: on


def log_cdf_and_ratio(x: Tensor) -> tuple[Tensor, Tensor]:
    r""":math:`\log\Phi(x)` and :math:`r(x) = \varphi(x)/\Phi(x)`, equal to ``log_cdf`` and ``ratio`` of :mod:`._normal`.

    With a scaling under which nothing underflows on the left, :math:`x_- = \min(x, 0)` and :math:`x_+ = \max(x, 0)`:

    .. math::
        \Phi(x)\, e^{x_-^2/2} = \begin{cases} h & x < 0 \\ 1 - h & x \ge 0 \end{cases}
        \qquad h = \varphi(x_+)\, m(|x|), \qquad r(x) = \frac{\varphi(x_+)}{\Phi(x)\, e^{x_-^2/2}}

    >>> log_cdf_and_ratio(torch.tensor([0.0, -100.0]))
    (tensor([-6.9315e-01, -5.0055e+03]), tensor([  0.7979, 100.0100]))
    """
    if x.device.type != "cpu" or x.numel() < FEW:
        return log_cdf(x), ratio(x)
    one, log_peak, *coefficients = _constants(x.dtype, x.device)
    # torch.where is slow: a factor of zero or one selects the side
    left = torch.lt(x, 0.0, out=torch.empty_like(x))
    shrink = x.abs().add_(_CENTRE).reciprocal_()
    t = torch.add(one, shrink, alpha=-2.0 * _CENTRE)
    h = torch.addcmul(coefficients[1], t, coefficients[0])
    for coefficient in coefficients[2:]:
        torch.addcmul(coefficient, h, t, out=h)
    part = torch.clamp(x, 0.0, _ZERO_FROM[x.dtype], out=t)
    density = torch.addcmul(log_peak, part, part, value=-0.5, out=part).exp_()
    h.mul_(shrink).mul_(density)

    signed = torch.addcmul(h, h, left, value=-2.0, out=shrink)  # -h on the left, h on the right
    # the logarithm of h as log1p(h - 1): the lost digits are negligible beside x**2 / 2
    logs = torch.add(signed, left, out=h).neg_().clamp_(min=-1.0 + torch.finfo(x.dtype).eps).log1p_()
    density.div_(left.neg_().add_(1.0).sub_(signed))
    part = torch.clamp(x, max=0.0, out=signed)
    return logs.addcmul_(part, part, value=-0.5), density


@lru_cache(maxsize=16)
def _constants(dtype: torch.dtype, device: torch.device) -> tuple[Tensor, ...]:
    """1, log phi(0) and the polynomial's coefficients, as tensors, which ``addcmul`` needs."""
    coefficients = _DEGREE_22 if dtype == torch.float64 else _DEGREE_9
    return torch.tensor([1.0, -_LOG_SQRT_2PI, *coefficients], dtype=dtype, device=device).unbind()
