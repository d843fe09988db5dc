"""The losses as functions, with arguments in the order of ``torch.nn.functional.cross_entropy``.

Each takes ``input`` and ``target`` in the layouts of ``nn.CrossEntropyLoss``, its own parameters, and as keywords
``weight``, ``ignore_index``, ``reduction``, ``label_smoothing`` and ``sample_weight``.
"""

from __future__ import annotations

from typing import TypedDict, Unpack

from torch import Tensor

from metricfit import links, metrics
from metricfit._checks import check_number
from metricfit.links import Link
from metricfit.metrics._registry import MetricLike
from metricfit.objectives._baselines import Dice, Hinge
from metricfit.objectives._compute import check_options, compute_loss
from metricfit.objectives._leak import add_leak
from metricfit.objectives._objective import Assigner, Objective, objective_for
from metricfit.objectives._rows import RowOptions
from metricfit.smoothing import Normal, Smoothing, Softmax, SoftSet

__all__ = [
    "dice_loss",
    "east_loss",
    "exact_loss",
    "expected_error_loss",
    "hinge_loss",
    "leaky_expected_error_loss",
    "metric_loss",
]


class LossOptions(TypedDict, total=False):
    """The keywords that every function takes."""

    weight: Tensor | None
    ignore_index: int
    reduction: str
    label_smoothing: float
    sample_weight: Tensor | None


def metric_loss(
    input: Tensor,
    target: Tensor,
    metric: MetricLike = "accuracy",
    smoothing: Smoothing | None = None,
    link: str | Link = "linear",
    *,
    scale: float | Tensor | None = None,
    margin: float | None = None,
    normalize_scores: bool = False,
    leak: float = 0.0,
    leak_weight: Tensor | None = None,
    offsets: Tensor | None = None,
    **options: Unpack[LossOptions],
) -> Tensor:
    """The loss behind :class:`metricfit.MetricLoss`: a link of a metric of the smoothed confusion matrix, plus a leak.

    >>> metric_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([0]), "accuracy", link="log")   # log 2
    tensor(0.6931)
    """
    assigner = Assigner(Softmax() if smoothing is None else smoothing, margin, normalize_scores, offsets)
    objective = objective_for(metrics.get(metric), assigner, links.get(link))
    return _loss(add_leak(objective, check_number(leak, "leak", 0.0), leak_weight), input, target, scale, **options)


def exact_loss(
    input: Tensor,
    target: Tensor,
    scale: float | Tensor = 1.0,
    margin: float | None = None,
    normalize_scores: bool = True,
    link: str | Link = "linear",
    method: str = "quadrature",
    **options: Unpack[LossOptions],
) -> Tensor:
    """The loss behind :class:`metricfit.ExactLoss`: expected error under normal noise (arXiv 2205.09615).

    >>> exact_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([0]), normalize_scores=False)    # 1 - Phi(1 / sqrt 2)
    tensor(0.2398)
    """
    noise = Normal(method=method)
    return metric_loss(
        input, target, "accuracy", noise, link, scale=scale, margin=margin, normalize_scores=normalize_scores, **options
    )


def expected_error_loss(
    input: Tensor, target: Tensor, temperature: float | Tensor = 1.0, **options: Unpack[LossOptions]
) -> Tensor:
    """The loss behind :class:`metricfit.ExpectedErrorLoss`, 1 - p_y under the softmax (arXiv 1905.00448, Eq. 3 to 5).

    >>> expected_error_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))
    tensor(0.5000)
    """
    return metric_loss(input, target, "accuracy", Softmax(), "linear", scale=temperature, **options)


def leaky_expected_error_loss(
    input: Tensor, target: Tensor, alpha: float = 0.1, temperature: float | Tensor = 1.0, **options: Unpack[LossOptions]
) -> Tensor:
    """The loss behind :class:`metricfit.LeakyExpectedErrorLoss`, (1 - p_y) - alpha log p_y (arXiv 1905.00448, Eq. 6, plus 1).

    >>> leaky_expected_error_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))             # 0.5 + 0.1 log 2
    tensor(0.5693)
    """
    return metric_loss(input, target, "accuracy", Softmax(), links.Leaky(alpha), scale=temperature, **options)


def east_loss(
    input: Tensor,
    target: Tensor,
    metric: MetricLike = "f1_macro",
    temperature: float | Tensor = 0.2,
    link: str | Link = "linear",
    **options: Unpack[LossOptions],
) -> Tensor:
    """The loss behind :class:`metricfit.EastLoss`, a metric of the soft-set confusion matrix (arXiv 2405.20954, Eq. 3 to 6).

    >>> east_loss(torch.tensor([[0.0, 1.0986123]]), torch.tensor([1]), "accuracy")           # 1 - 0.8, see SoftSet
    tensor(0.2000)
    """
    return metric_loss(input, target, metric, SoftSet(), link, scale=temperature, **options)


def hinge_loss(input: Tensor, target: Tensor, margin: float = 1.0, **options: Unpack[LossOptions]) -> Tensor:
    """The loss behind :class:`metricfit.HingeLoss`: max(0, margin - s_y + max of the others).

    >>> hinge_loss(torch.tensor([[2.0, 1.5, 0.0]]), torch.tensor([0]))
    tensor(0.5000)
    """
    return _loss(Hinge(margin), input, target, None, **options)


def dice_loss(input: Tensor, target: Tensor, **options: Unpack[LossOptions]) -> Tensor:
    """The loss behind :class:`metricfit.DiceLoss`: soft Dice with squares in the denominator, averaged over classes.

    >>> dice_loss(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))              # 1 - 2 * 0.5 / (0.5 + 1)
    tensor(0.3333)
    """
    return _loss(Dice(), input, target, None, **options)


def _loss(
    objective: Objective,
    input: Tensor,
    target: Tensor,
    scale: float | Tensor | None,
    *,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    sample_weight: Tensor | None = None,
) -> Tensor:
    check_options(weight, ignore_index, reduction, label_smoothing)
    rows: RowOptions = {"weight": weight, "ignore_index": ignore_index, "label_smoothing": label_smoothing}
    return compute_loss(objective, input, target, sample_weight, scale, reduction, **rows)
