r"""Links: from a probability or a metric to a loss.

A link is a function of a value :math:`p`, 1 at best, and of its logarithm. At :math:`p = 1` it is zero with slope -1
(-1 - alpha for ``Leaky``). Links differ in their slope at small :math:`p`. The critique of EXACT (kexue.fm/archives/9098) asks
for a loss that grows without bound for wrong predictions, as ``Log`` does.

A metric that is a mean over samples has a :math:`p` for every sample, and its loss is the mean of their links. ``LogOfMean``
is the exception: it takes the mean first.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from metricfit._checks import check_number
from metricfit._printable import did_you_mean

__all__ = ["Leaky", "Linear", "Link", "Log", "LogOfMean", "Power", "get"]


class Link(ABC):
    """Base class of the links: from a probability or a metric, 1 at best, to a loss.

    A subclass defines ``__call__(value, log_value)``, elementwise. ``log_value`` is the logarithm, which stays accurate where
    the value underflows.

    Examples
    --------
    >>> import torch
    >>> from metricfit.links import Link
    >>> class Squared(Link):
    ...     def __call__(self, value, log_value):
    ...         return (1 - value) ** 2
    >>> from metricfit import MetricLoss
    >>> MetricLoss("accuracy", link=Squared())(torch.zeros(1, 2), torch.tensor([0]))     # (1 - 1/2)**2
    tensor(0.2500)
    """

    of_mean = False  # whether it applies to the mean over samples rather than to each sample

    @abstractmethod
    def __call__(self, value: Tensor, log_value: Tensor) -> Tensor:
        """The loss, elementwise."""


@dataclass(frozen=True)
class Linear(Link):
    """The link 1 - p of expected error, EXACT and EAST.

    Examples
    --------
    >>> import torch
    >>> from metricfit.links import Linear
    >>> quarter = torch.tensor(0.25)
    >>> Linear()(quarter, quarter.log())
    tensor(0.7500)
    """

    def __call__(self, value: Tensor, log_value: Tensor) -> Tensor:
        return 1.0 - value


@dataclass(frozen=True)
class Log(Link):
    """The link -log p of cross-entropy, which the critique of EXACT recommends for other smoothings too.

    References
    ----------
    kexue.fm/archives/9098.

    Examples
    --------
    >>> import torch
    >>> from metricfit.links import Log
    >>> half = torch.tensor(0.5)
    >>> Log()(half, half.log())                     # log 2
    tensor(0.6931)
    """

    def __call__(self, value: Tensor, log_value: Tensor) -> Tensor:
        return -log_value


@dataclass(frozen=True)
class LogOfMean(Link):
    r"""The link -log E[p]: the logarithm of the mean over the batch, instead of the mean of the logarithms.

    .. math:: -\log \mathbb{E}_{(x, y) \sim \mathcal{D}}[p(y | x)]

    It has the minima of :class:`Linear`, and its gradient divided by :math:`E[p]`. So a sample with small p has a small
    gradient, as with :class:`Linear` and unlike with :class:`Log`. For metrics that are not a mean over samples, such as F1,
    it is :class:`Log` of the metric.

    References
    ----------
    The log form of EXACT in its critique, kexue.fm/archives/9098.

    Examples
    --------
    For two samples with p = 1/2 and 1/4 it is -log(3/8), and ``Log`` is 3/2 log 2:

    >>> import torch
    >>> from metricfit.links import LogOfMean
    >>> from metricfit import MetricLoss
    >>> scores, labels = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).log(), torch.tensor([0, 0])
    >>> MetricLoss("accuracy", link=LogOfMean())(scores, labels), MetricLoss("accuracy", link="log")(scores, labels)
    (tensor(0.9808), tensor(1.0397))
    """

    of_mean = True

    def __call__(self, value: Tensor, log_value: Tensor) -> Tensor:
        return -log_value


@dataclass(frozen=True)
class Leaky(Link):
    """The link (1 - p) - alpha log p of leaky expected error.

    Parameters
    ----------
    alpha : float, default=0.1
        The weight of the logarithm.

    References
    ----------
    İrsoy, "On Expected Accuracy", arXiv 1905.00448, Eq. (6) plus the constant 1.

    Examples
    --------
    >>> import torch
    >>> from metricfit.links import Leaky
    >>> half = torch.tensor(0.5)
    >>> Leaky(0.1)(half, half.log())                # 0.5 + 0.1 log 2
    tensor(0.5693)
    """

    alpha: float = 0.1

    def __post_init__(self) -> None:
        check_number(self.alpha, "alpha", 0.0)

    def __call__(self, value: Tensor, log_value: Tensor) -> Tensor:
        return 1.0 - value - self.alpha * log_value


@dataclass(frozen=True)
class Power(Link):
    """The link (1 - p**q) / q, from cross-entropy (q towards 0) to expected error (q = 1).

    Parameters
    ----------
    q : float, default=0.5
        The power.

    Examples
    --------
    >>> import torch
    >>> from metricfit.links import Power
    >>> quarter = torch.tensor(0.25)
    >>> Power(0.5)(quarter, quarter.log())          # (1 - 1/2) / (1/2)
    tensor(1.)
    """

    q: float = 0.5

    def __post_init__(self) -> None:
        check_number(self.q, "q", 0.0, 1.0, open_low=True)

    def __call__(self, value: Tensor, log_value: Tensor) -> Tensor:
        return -torch.expm1(self.q * log_value) / self.q


_LINKS: dict[str, type[Link]] = {
    "linear": Linear,
    "log": Log,
    "log_of_mean": LogOfMean,
    "leaky": Leaky,
    "power": Power,
}


def get(link: str | Link) -> Link:
    """Find a link by its name.

    Parameters
    ----------
    link : str or Link
        "linear", "log", "log_of_mean", "leaky" or "power", with a parameter in brackets: "power(0.7)". A link is returned
        unchanged.

    Returns
    -------
    Link
        The link.

    Examples
    --------
    >>> from metricfit.links import get
    >>> get("linear"), get("leaky"), get("power(0.7)")
    (Linear(), Leaky(alpha=0.1), Power(q=0.7))
    """
    if isinstance(link, Link):
        return link
    if not isinstance(link, str):
        raise TypeError(f"`link` should be a name or a link such as `mf.links.Leaky(0.1)`, got {link!r}.")
    match = re.fullmatch(r"(\w+)(?:\((\d*\.?\d+(?:e-?\d+)?)\))?", link)
    name, number = match.groups() if match else (link, None)
    if name not in _LINKS or (number and name not in ("leaky", "power")):
        raise ValueError(
            f"`link` should be 'linear', 'log', 'log_of_mean', 'leaky(alpha)' or 'power(q)', got {link!r}."
            f"{did_you_mean(name, _LINKS)}"
        )
    return _LINKS[name](*([float(number)] if number else []))
