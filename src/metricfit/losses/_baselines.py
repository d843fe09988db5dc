"""The papers' baselines: cross-entropy, hinge and Dice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import torch
from torch import Tensor
from torch.nn import functional as F

from metricfit._checks import check_nonnegative, check_number
from metricfit.losses._base import CrossEntropyOptions, LossOptions, LossWithoutWidth
from metricfit.losses._objectives import Objective, PerRow, check_over, mean_over
from metricfit.losses._rows import AnyRows, LabelRows
from metricfit.metrics import counted_classes
from metricfit.numerics import masked_mean, safe_divide


@dataclass(frozen=True)
class CrossEntropy(PerRow):
    """Cross-entropy of the scores; ``class_weight`` (k,) multiplies the weights of the rows."""

    class_weight: Tensor | None = None

    def losses(self, rows: AnyRows) -> Tensor:
        weight = self._class_weight(rows)
        if isinstance(rows, LabelRows):
            losses = F.cross_entropy(rows.bounded(), rows.labels, reduction="none")
            return rows.weighted(losses if weight is None else losses * rows.at_label(weight))
        shares = rows.shares if weight is None else rows.shares * weight
        return -(shares * rows.bounded().log_softmax(1)).sum(1)

    def statistics(self, rows: AnyRows) -> Tensor:
        weight = self._class_weight(rows)
        if weight is None:
            return super().statistics(rows)
        counted = rows.weighted(rows.at_label(weight)) if isinstance(rows, LabelRows) else (rows.shares * weight).sum(1)
        return torch.stack([rows.finite(rows.sum_rows(self.losses(rows))), rows.sum_rows(counted)], -1)

    def loss(self, rows: AnyRows) -> Tensor:
        return super().loss(rows) if self.class_weight is None else self.value(self.statistics(rows))

    def _class_weight(self, rows: AnyRows) -> Tensor | None:
        """The weights, to multiply scores with."""
        if self.class_weight is None:
            return None
        check_nonnegative(self.class_weight, "leak_weight")
        return rows.per_class(self.class_weight, "leak_weight", first=1.0).expand_as(rows.scores)


class CrossEntropyLoss(LossWithoutWidth):
    """Cross-entropy with the options of this package: sample weights, memory, several processes.

    Parameters
    ----------
    memory : float, default=None
        See :class:`metricfit.losses.ClassificationLoss`.
    distributed : bool, default=None
        See :class:`metricfit.losses.ClassificationLoss`.
    **options : dict
        ``mode``, ``weight``, ``pos_weight``, ``ignore_index``, ``class_dim``, ``reduction``, ``label_smoothing``: see
        :class:`metricfit.losses.ClassificationLoss`.

    Examples
    --------
    >>> import torch
    >>> from metricfit.losses import CrossEntropyLoss
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
            rival = scores.scatter(1, rows.labels[:, None], -torch.inf).max(1).values
            return rows.weighted(rows.finite(rival - rows.at_label(scores) + self.margin).clamp(min=0.0))
        best, second = scores.topk(2, dim=1).values.unbind(1)
        leader = scores.argmax(1, keepdim=True)
        is_leader = torch.zeros_like(scores, dtype=torch.bool).scatter(1, leader, True)
        rivals = torch.where(is_leader, second[:, None], best[:, None])
        return (rows.shares * rows.finite(rivals - scores + self.margin).clamp(min=0.0)).sum(1)


class HingeLoss(LossWithoutWidth):
    """Multi-class hinge of Crammer and Singer, max(0, margin - s_y + max of the others).

    It is a baseline of the EXACT paper.

    Parameters
    ----------
    margin : float, default=1.0
        The lead over the best other class above which the loss is zero.
    **options : dict
        ``memory``, ``distributed``, ``mode``, ``weight``, ``pos_weight``, ``ignore_index``, ``class_dim``, ``reduction``,
        ``label_smoothing``: see :class:`metricfit.losses.ClassificationLoss`.

    Examples
    --------
    >>> import torch
    >>> from metricfit import HingeLoss
    >>> HingeLoss()(torch.tensor([[2.0, 1.5, 0.0]]), torch.tensor([0]))             # 1 - 2 + 1.5
    tensor(0.5000)
    """

    def __init__(self, margin: float = 1.0, **options: Unpack[LossOptions]) -> None:
        super().__init__(**options)
        self.margin = check_number(margin, "margin", 0.0)

    def objective(self) -> Objective:
        return Hinge(self.margin)

    def extra_repr(self) -> str:
        return f"margin={self.margin}"


def hinge_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    sample_weight: Tensor | None = None,
    **options: Unpack[CrossEntropyOptions],
) -> Tensor:
    """Functional form of :class:`metricfit.HingeLoss`.

    Parameters
    ----------
    input, target : Tensor
        Scores and labels, as in :func:`metricfit.functional.metric_loss`.
    margin : optional
        As in :class:`metricfit.HingeLoss`.
    sample_weight : optional
        How much each row counts.
    **options : dict
        All options of :class:`metricfit.losses.ClassificationLoss` except ``memory`` and ``distributed``.

    Returns
    -------
    Tensor
        The loss.

    Examples
    --------
    >>> import torch
    >>> from metricfit.functional import hinge_loss
    >>> hinge_loss(torch.tensor([[2.0, 1.5, 0.0]]), torch.tensor([0]))              # 1 - 2 + 1.5
    tensor(0.5000)
    """
    return HingeLoss(margin, distributed=False, **options)(input, target, sample_weight)


@dataclass(frozen=True)
class Dice(Objective):
    r"""Soft Dice of Milletari et al., averaged over classes.

    .. math:: 1 - \frac1k \sum_c \frac{2 \sum_i p_{ic} g_{ic}}{\sum_i p_{ic}^2 + \sum_i g_{ic}^2}

    :math:`p` is the softmax and :math:`g` the target. The mean leaves out classes that are absent from the batch.
    """

    ignore_classes: Sequence[int] = ()
    by_label = True

    def statistics(self, rows: AnyRows) -> Tensor:
        overlap, predicted, true = self._sums(rows)
        sums = torch.stack([overlap, predicted, true, rows.total_weight()[..., None].expand_as(true)], -2)  # (..., 4, k)
        return sums[..., 1].mT if rows.n_labels else sums  # the positive class of K labels: (..., 4, K)

    def value(self, statistics: Tensor) -> Tensor:
        return self._value(*statistics.unbind(-2)[:3])

    def loss(self, rows: AnyRows) -> Tensor:
        return super().loss(rows) if rows.n_labels else self._value(*self._sums(rows))  # in fewer operators

    def _sums(self, rows: AnyRows) -> tuple[Tensor, Tensor, Tensor]:
        """The three sums of the formula by class, (k,) each, or (..., k) for groups."""
        p = rows.scores.softmax(1)
        if isinstance(rows, LabelRows):
            overlap, true = rows.sums_at_label(rows.weighted(p))
        else:
            weight = rows.weight.unsqueeze(1) if rows.weight is not None else torch.ones_like(p[:, :1])
            target = safe_divide(rows.shares, weight)
            overlap, true = rows.sum_classes(rows.shares * p), rows.sum_classes(weight * target.square())
        return overlap, rows.sum_classes(rows.weighted(p.square())), true

    def _value(self, overlap: Tensor, predicted: Tensor, true: Tensor) -> Tensor:
        present = true > 0.0
        if self.ignore_classes:
            present = present & counted_classes(true, self.ignore_classes)
        return 1.0 - masked_mean(safe_divide(2.0 * overlap, predicted + true), present)

    def size(self, statistics: Tensor) -> Tensor:
        return statistics[..., 3, 0].sum()

    def unflatten(self, statistics: Tensor) -> Tensor:
        return statistics.view(4, -1)


class DiceOptions(CrossEntropyOptions, total=False):
    """The options of :func:`dice_loss`."""

    ignore_classes: Sequence[int]
    over: str


class DiceLoss(LossWithoutWidth):
    """Soft Dice of Milletari et al. with squares in the denominator, averaged over the classes of the batch.

    It is a baseline of the EAST paper. In the modes "binary" and "multilabel" it is the Dice of the positive class, averaged
    over the labels.

    Parameters
    ----------
    ignore_classes : sequence of int, default=()
        Classes, such as the background, that the mean leaves out.
    over : {"batch", "image"}, default="batch"
        The loss of all rows of the batch, or the mean over images.
    **options : dict
        ``memory``, ``distributed``, ``mode``, ``weight``, ``pos_weight``, ``ignore_index``, ``class_dim``, ``reduction``,
        ``label_smoothing``: see :class:`metricfit.losses.ClassificationLoss`.

    Examples
    --------
    >>> import torch
    >>> from metricfit import DiceLoss
    >>> DiceLoss()(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))  # 1 - 2 * 0.5 / (0.5 + 1)
    tensor(0.3333)
    """

    def __init__(self, *, ignore_classes: Sequence[int] = (), over: str = "batch", **options: Unpack[LossOptions]) -> None:
        super().__init__(**options)
        self.ignore_classes, self.over = tuple(ignore_classes), check_over(over, self.memory)

    def objective(self) -> Objective:
        return mean_over(self.over, Dice(self.ignore_classes))


def dice_loss(input: Tensor, target: Tensor, sample_weight: Tensor | None = None, **options: Unpack[DiceOptions]) -> Tensor:
    """Functional form of :class:`metricfit.DiceLoss`, which has the same options.

    Parameters
    ----------
    input, target, sample_weight : Tensor
        The rows, as in :func:`metricfit.functional.metric_loss`.
    **options : dict
        All options of :class:`metricfit.DiceLoss` except ``memory`` and ``distributed``.

    Returns
    -------
    Tensor
        The loss.

    Examples
    --------
    >>> import torch
    >>> from metricfit.functional import dice_loss
    >>> dice_loss(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))              # 1 - 2 * 0.5 / (0.5 + 1)
    tensor(0.3333)
    """
    return DiceLoss(distributed=False, **options)(input, target, sample_weight)
