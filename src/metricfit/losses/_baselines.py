"""The papers' baselines: cross-entropy, hinge and Dice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import torch
from torch import Tensor
from torch.nn import functional as F

from metricfit._checks import check_nonnegative, check_number, check_shape
from metricfit.confusion import sums_by_class
from metricfit.losses._base import FunctionOptions, LossOptions, LossWithoutWidth, loss_function
from metricfit.losses._objectives import Objective, PerRow
from metricfit.losses._rows import AnyRows, LabelRows
from metricfit.numerics import safe_divide


@dataclass(frozen=True)
class CrossEntropy(PerRow):
    """Cross-entropy of the scores; ``class_weight`` (k,) multiplies the weights of the rows."""

    class_weight: Tensor | None = None

    def losses(self, rows: AnyRows) -> Tensor:
        weight = self._class_weight(rows)
        if isinstance(rows, LabelRows):
            losses = F.cross_entropy(rows.bounded(), rows.labels, reduction="none")
            return rows.weighted(losses if weight is None else losses * weight[rows.labels])
        shares = rows.shares if weight is None else rows.shares * weight
        return -(shares * rows.bounded().log_softmax(1)).sum(1)

    def statistics(self, rows: AnyRows) -> Tensor:
        weight = self._class_weight(rows)
        if weight is None:
            return super().statistics(rows)
        counted = rows.weighted(weight[rows.labels]) if isinstance(rows, LabelRows) else rows.shares * weight
        return torch.stack([rows.finite(self.losses(rows).sum()), counted.sum()])

    def loss(self, rows: AnyRows) -> Tensor:
        return super().loss(rows) if self.class_weight is None else self.value(self.statistics(rows))

    def _class_weight(self, rows: AnyRows) -> Tensor | None:
        if self.class_weight is None:
            return None
        check_shape(self.class_weight, rows.scores.shape[1:], "leak_weight")
        check_nonnegative(self.class_weight, "leak_weight")
        return self.class_weight.to(rows.scores)


class CrossEntropyLoss(LossWithoutWidth):
    """Cross-entropy with the options of this package: sample weights, memory, several processes.

    >>> CrossEntropyLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))           # log 2
    tensor(0.6931)
    """

    def objective(self) -> Objective:
        return CrossEntropy()


@dataclass(frozen=True)
class Hinge(PerRow):
    """Multi-class hinge of Crammer and Singer: max(0, margin - (s_y - max of the others))."""

    margin: float

    def __post_init__(self) -> None:
        check_number(self.margin, "margin", 0.0)

    def losses(self, rows: AnyRows) -> Tensor:
        scores = rows.bounded()
        if isinstance(rows, LabelRows):
            labels = rows.labels[:, None]
            rival = scores.scatter(1, labels, -torch.inf).max(1).values
            own = scores.gather(1, labels).squeeze(1)
            return rows.weighted(rows.finite(rival - own + self.margin).clamp(min=0.0))
        best, second = scores.topk(2, dim=1).values.unbind(1)
        leader = scores.argmax(1, keepdim=True)
        is_leader = torch.zeros_like(scores, dtype=torch.bool).scatter(1, leader, True)
        rivals = torch.where(is_leader, second[:, None], best[:, None])
        return (rows.shares * rows.finite(rivals - scores + self.margin).clamp(min=0.0)).sum(1)


def hinge_loss(input: Tensor, target: Tensor, margin: float = 1.0, **options: Unpack[FunctionOptions]) -> Tensor:
    """The loss behind :class:`metricfit.HingeLoss`: max(0, margin - s_y + max of the others).

    >>> hinge_loss(torch.tensor([[2.0, 1.5, 0.0]]), torch.tensor([0]))
    tensor(0.5000)
    """
    return loss_function(Hinge(margin), input, target, **options)


class HingeLoss(LossWithoutWidth):
    """Multi-class hinge of Crammer and Singer, max(0, margin - s_y + max of the others): a baseline of the EXACT paper.

    >>> HingeLoss()(torch.tensor([[2.0, 1.5, 0.0]]), torch.tensor([0]))
    tensor(0.5000)
    """

    def __init__(self, margin: float = 1.0, **options: Unpack[LossOptions]) -> None:
        super().__init__(**options)
        self.margin = check_number(margin, "margin", 0.0)

    def objective(self) -> Objective:
        return Hinge(self.margin)

    def extra_repr(self) -> str:
        return f"margin={self.margin}"


@dataclass(frozen=True)
class Dice(Objective):
    r"""Soft Dice of Milletari et al., averaged over classes.

    .. math:: 1 - \frac1k \sum_c \frac{2 \sum_i p_{ic} g_{ic}}{\sum_i p_{ic}^2 + \sum_i g_{ic}^2}

    :math:`p` is the softmax and :math:`g` the target. The mean leaves out classes that are absent from the batch.
    """

    def statistics(self, rows: AnyRows) -> Tensor:
        p = rows.scores.softmax(1)
        if isinstance(rows, LabelRows):
            hits = rows.weighted(p.gather(1, rows.labels[:, None]).squeeze(1))
            overlap, true = sums_by_class(hits, rows.labels, p.shape[1]), rows.support()
        else:
            weight = rows.weight[:, None] if rows.weight is not None else torch.ones_like(p[:, :1])
            target = safe_divide(rows.shares, weight)
            overlap, true = (rows.shares * p).sum(0), (weight * target.square()).sum(0)
        return torch.stack([overlap, rows.weighted(p.square()).sum(0), true, rows.total_weight().expand(p.shape[1])])

    def value(self, statistics: Tensor) -> Tensor:
        overlap, predicted, true, _ = statistics
        present = (true > 0.0).to(overlap)
        dice = safe_divide(2.0 * overlap, predicted + true) * present
        return 1.0 - safe_divide(dice.sum(), present.sum())

    def size(self, statistics: Tensor) -> Tensor:
        return statistics[3, 0]


def dice_loss(input: Tensor, target: Tensor, **options: Unpack[FunctionOptions]) -> Tensor:
    """The loss behind :class:`metricfit.DiceLoss`: soft Dice with squares in the denominator, averaged over classes.

    >>> dice_loss(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))              # 1 - 2 * 0.5 / (0.5 + 1)
    tensor(0.3333)
    """
    return loss_function(Dice(), input, target, **options)


class DiceLoss(LossWithoutWidth):
    """Soft Dice of Milletari et al., squares in the denominator, mean over the batch's classes: a baseline of the EAST paper.

    >>> DiceLoss()(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))  # 1 - 2 * 0.5 / (0.5 + 1)
    tensor(0.3333)
    """

    def objective(self) -> Objective:
        return Dice()
