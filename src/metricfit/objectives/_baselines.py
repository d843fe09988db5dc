"""The papers' baselines: hinge and Dice."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from metricfit._checks import check_number
from metricfit.confusion import sums_by_class
from metricfit.numerics._safe import safe_divide
from metricfit.objectives._objective import Objective, PerRow
from metricfit.objectives._rows import AnyRows, LabelRows


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


@dataclass(frozen=True)
class Dice(Objective):
    r"""Soft Dice of Milletari et al., averaged over classes.

    .. math:: 1 - \frac1k \sum_c \frac{2 \sum_i p_{ic} g_{ic}}{\sum_i p_{ic}^2 + \sum_i g_{ic}^2}

    :math:`p` is the softmax and :math:`g` the target. The mean leaves out classes that are absent from the batch.
    """

    def statistics(self, rows: AnyRows) -> Tensor:
        p = rows.scores.softmax(1)
        if isinstance(rows, LabelRows):
            weight, n_classes = torch.ones_like(p[:, 0]) if rows.weight is None else rows.weight, p.shape[1]
            overlap = sums_by_class(rows.weighted(p.gather(1, rows.labels[:, None]).squeeze(1)), rows.labels, n_classes)
            true = sums_by_class(weight, rows.labels, n_classes)
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
