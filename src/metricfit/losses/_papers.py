"""The losses of the papers: each is :class:`metricfit.MetricLoss` with the paper's metric, smoothing and link."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from metricfit import links
from metricfit.links import Link
from metricfit.losses._base import FunctionOptions, LossOptions
from metricfit.losses._metric import MetricLoss, metric_loss
from metricfit.metrics import MetricLike
from metricfit.smoothing import Normal, Softmax, SoftSet


def exact_loss(
    input: Tensor,
    target: Tensor,
    scale: float | Tensor = 1.0,
    margin: float | None = None,
    normalize_scores: bool = True,
    link: str | Link = "linear",
    method: str = "quadrature",
    **options: Unpack[FunctionOptions],
) -> Tensor:
    """The loss of :class:`metricfit.ExactLoss`: expected error under normal noise (arXiv 2205.09615).

    >>> exact_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([0]), normalize_scores=False)    # 1 - Phi(1 / sqrt 2)
    tensor(0.2398)
    """
    noise = Normal(method=method)
    return metric_loss(
        input, target, "accuracy", noise, link, scale=scale, margin=margin, normalize_scores=normalize_scores, **options
    )


class ExactLoss(MetricLoss):
    """EXACT: expected accuracy under normal noise on the scores (arXiv 2205.09615, Eq. 15 to 19, Listing 1).

    Each of the four improvements of its section 4.5 can be switched on or off: ``margin``; ``normalize_scores``; a schedule of
    the scale, by passing ``scale=schedule(step)`` to each call; and :class:`metricfit.GradientNormalizer` after ``backward``.
    The critique of the paper (kexue.fm/archives/9098) asks about its log form. ``link="log_of_mean"`` is -log E[p], as it is
    written there; ``link="log"`` is the mean of -log p, which the critique recommends.

    >>> loss = ExactLoss(normalize_scores=False)
    >>> loss(torch.tensor([[1.0, 0.0]]), torch.tensor([0]))          # 1 - Phi(1 / sqrt 2)
    tensor(0.2398)
    """

    def __init__(
        self,
        scale: float | Tensor = 1.0,
        margin: float | None = None,
        normalize_scores: bool = True,
        link: str | Link = "linear",
        method: str = "quadrature",
        *,
        order: int | None = None,
        samples: int | None = None,
        generator: torch.Generator | None = None,
        **options: Unpack[LossOptions],
    ) -> None:
        smoothing = Normal(scale, method, order=order, samples=samples, generator=generator)
        super().__init__("accuracy", smoothing, link, margin=margin, normalize_scores=normalize_scores, **options)


def expected_error_loss(
    input: Tensor, target: Tensor, temperature: float | Tensor = 1.0, **options: Unpack[FunctionOptions]
) -> Tensor:
    """The loss of :class:`metricfit.ExpectedErrorLoss`, 1 - p_y under the softmax (arXiv 1905.00448, Eq. 3 to 5).

    >>> expected_error_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))
    tensor(0.5000)
    """
    return metric_loss(input, target, "accuracy", Softmax(), "linear", scale=temperature, **options)


class ExpectedErrorLoss(MetricLoss):
    """Expected error of a class drawn from the softmax, 1 - p_y (arXiv 1905.00448, Eq. 3 to 5).

    >>> ExpectedErrorLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))
    tensor(0.5000)
    """

    def __init__(self, temperature: float | Tensor = 1.0, **options: Unpack[LossOptions]) -> None:
        super().__init__("accuracy", Softmax(temperature), "linear", **options)


def leaky_expected_error_loss(
    input: Tensor, target: Tensor, alpha: float = 0.1, temperature: float | Tensor = 1.0, **options: Unpack[FunctionOptions]
) -> Tensor:
    """The loss of :class:`metricfit.LeakyExpectedErrorLoss`, (1 - p_y) - alpha log p_y (arXiv 1905.00448, Eq. 6, plus 1).

    >>> leaky_expected_error_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))             # 0.5 + 0.1 log 2
    tensor(0.5693)
    """
    return metric_loss(input, target, "accuracy", Softmax(), links.Leaky(alpha), scale=temperature, **options)


class LeakyExpectedErrorLoss(MetricLoss):
    """Expected error with a leak of cross-entropy, (1 - p_y) - alpha log p_y (arXiv 1905.00448, Eq. 6, plus the constant 1).

    >>> LeakyExpectedErrorLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))   # 0.5 + 0.1 log 2
    tensor(0.5693)
    """

    def __init__(self, alpha: float = 0.1, temperature: float | Tensor = 1.0, **options: Unpack[LossOptions]) -> None:
        super().__init__("accuracy", Softmax(temperature), links.Leaky(alpha), **options)


def east_loss(
    input: Tensor,
    target: Tensor,
    metric: MetricLike = "f1_macro",
    temperature: float | Tensor = 0.2,
    link: str | Link = "linear",
    **options: Unpack[FunctionOptions],
) -> Tensor:
    """The loss of :class:`metricfit.EastLoss`, a metric of the soft-set confusion matrix (arXiv 2405.20954, Eq. 3 to 6).

    >>> east_loss(torch.tensor([[0.0, 1.0986123]]), torch.tensor([1]), "accuracy")           # 1 - 0.8, see SoftSet
    tensor(0.2000)
    """
    return metric_loss(input, target, metric, SoftSet(), link, scale=temperature, **options)


class EastLoss(MetricLoss):
    """EAST: a metric of the soft-set confusion matrix (arXiv 2405.20954, Eq. 3 to 6).

    For the paper's annealing, train at each T_k = 0.2 r**k until early stopping: :func:`metricfit.training.anneal` does it, or
    pass ``scale=0.2 * r**k`` to each call. The paper's link is ``"linear"``.

    >>> EastLoss("accuracy")(torch.tensor([[0.0, 1.0986123]]), torch.tensor([1]))  # 1 - 0.8, see SoftSet
    tensor(0.2000)
    """

    def __init__(
        self,
        metric: MetricLike = "f1_macro",
        temperature: float | Tensor = 0.2,
        link: str | Link = "linear",
        **options: Unpack[LossOptions],
    ) -> None:
        super().__init__(metric, SoftSet(temperature), link, **options)
