"""Objectives: two pure functions, from rows to statistics and from statistics to a loss.

Statistics are sums over rows. So the joint loss of several batches is a function of the sum of their statistics, and gradient
accumulation, memory and distributed training only add statistics. Labels and images that have sums of their own are leading
axes of the statistics.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from metricfit._checks import Ends, check_flag, check_number, check_option, extremes
from metricfit.confusion import exact_product
from metricfit.links import Linear, Link
from metricfit.losses._rows import AnyRows, LabelRows, ShareRows
from metricfit.metrics import (
    Accuracy,
    Averaged,
    Cost,
    Counts,
    CountsMetric,
    Custom,
    Metric,
    Multilabel,
    needs_counts_only,
)
from metricfit.numerics import occurs, safe_divide, safe_log
from metricfit.scores import label_gaps, limit_gradient, normalize_scores
from metricfit.smoothing import Smoothing


class Objective(ABC):
    by_label: bool = False  # whether each label of mode "multilabel" has statistics of its own
    by_image: bool = False  # whether each image has

    @abstractmethod
    def statistics(self, rows: AnyRows) -> Tensor:
        """Sums over rows that determine the loss."""

    @abstractmethod
    def value(self, statistics: Tensor) -> Tensor:
        """The loss, a scalar."""

    @abstractmethod
    def size(self, statistics: Tensor) -> Tensor:
        """The sum of the rows' weights, a scalar."""

    def size_of(self, rows: AnyRows) -> Tensor:
        """``size`` of the statistics of these rows, from their weights alone; of class probabilities it is their sum."""
        return rows.total_weight() if isinstance(rows, LabelRows) else rows.sum_rows(rows.shares.sum(1))

    def loss(self, rows: AnyRows) -> Tensor:
        """The loss of these rows alone, a scalar."""
        return self.value(self.statistics(rows))

    def total(self, statistics: Tensor) -> Tensor:
        """The loss times the sum of the rows' weights."""
        return self.value(statistics) * self.size(statistics)

    def unflatten(self, statistics: Tensor) -> Tensor:
        """Statistics in their own shape, from a flat tensor."""
        return statistics


class PerRow(Objective):
    """A mean of one loss per row; the statistics are the weighted sum and the sum of weights."""

    @abstractmethod
    def losses(self, rows: AnyRows) -> Tensor:
        """Each row's loss times its weight, (n,)."""

    def statistics(self, rows: AnyRows) -> Tensor:
        return torch.stack([rows.finite(rows.sum_rows(self.losses(rows))), rows.total_weight()], -1)

    def loss(self, rows: AnyRows) -> Tensor:
        if rows.weight is None and len(rows.scores):  # in few operators
            return self.losses(rows).mean()
        return super().loss(rows)

    def value(self, statistics: Tensor) -> Tensor:
        return safe_divide(statistics[..., 0], statistics[..., 1])

    def size(self, statistics: Tensor) -> Tensor:
        return statistics[..., 1]

    def size_of(self, rows: AnyRows) -> Tensor:
        return rows.total_weight()

    def total(self, statistics: Tensor) -> Tensor:
        return statistics[..., 0]


@dataclass(frozen=True)
class Assigner:
    """From the scores of rows to soft assignments: offsets, normalisation, margin, smoothing."""

    smoothing: Smoothing
    margin: float | None = None
    normalize: bool = False
    offsets: Tensor | None = None  # (k,), or one per logit, added to the scores

    def __post_init__(self) -> None:
        if not isinstance(self.smoothing, Smoothing):
            raise TypeError(f"`smoothing` should be one of `mf.smoothing`, for example `Softmax()`, got {self.smoothing!r}.")
        if self.margin is not None:
            check_number(self.margin, "margin", 0.0)
        check_flag(self.normalize, "normalize_scores")

    def scores(self, rows: AnyRows) -> tuple[Tensor, Ends]:
        """The scores that are smoothed, and their ends if these are known."""
        scores, ends = rows.scores, rows.ends
        if self.offsets is not None:
            scores = (scores if self.normalize else rows.bounded()) + rows.per_class(self.offsets, "offsets")
            ends = extremes(scores)
        if not self.normalize:
            return scores, ends
        if rows.masked:
            raise ValueError("`input` should be finite with normalize_scores=True, got -inf: it has no mean and no deviation.")
        scores = normalize_scores(scores, rows.weight)
        scores = limit_gradient(scores) if rows.extreme else scores  # it is subtracted from its mean
        return scores, extremes(scores)

    def label(self, rows: LabelRows) -> Tensor:
        return self.smoothing.label_checked(*self.scores(rows), rows.labels, self.margin, rows.scale)

    def log_label(self, rows: LabelRows) -> Tensor:
        return self.smoothing.log_label_checked(*self.scores(rows), rows.labels, self.margin, rows.scale)

    def log_assign(self, rows: ShareRows) -> Tensor:
        self._refuse_margin()
        return self.smoothing.log_assign_checked(*self.scores(rows), rows.scale)

    def assign(self, rows: AnyRows) -> Tensor:
        scores, ends = self.scores(rows)
        if not isinstance(rows, LabelRows):
            self._refuse_margin()
        elif self.margin is not None:
            scores = label_gaps(scores, rows.labels, self.margin)
            ends = extremes(scores)
        return self.smoothing.assign_checked(scores, ends, rows.scale)

    def _refuse_margin(self) -> None:
        if self.margin is not None:
            raise ValueError(
                f"`margin` should be None with class probabilities or label smoothing, got {self.margin}: it needs one label."
            )


@dataclass(frozen=True)
class Hits(PerRow):
    """The link of each row's probability of its label: the loss for accuracy."""

    assigner: Assigner
    link: Link

    def loss(self, rows: AnyRows) -> Tensor:
        if isinstance(rows, LabelRows) and isinstance(self.link, Linear) and rows.weight is None and len(rows.scores):
            return 1.0 - self.assigner.label(rows).mean()  # in fewer operators
        return super().loss(rows)

    def losses(self, rows: AnyRows) -> Tensor:
        if isinstance(rows, LabelRows):
            if isinstance(self.link, Linear):
                return rows.weighted(1.0 - self.assigner.label(rows))
            log_p = self.assigner.log_label(rows)
            return rows.weighted(rows.finite(self.link(log_p.exp(), log_p)))
        if isinstance(self.link, Linear):  # one integral for all classes; logarithms need one per class
            return (rows.shares * (1.0 - self.assigner.assign(rows))).sum(1)
        log_p = self.assigner.log_assign(rows)
        return (rows.shares * rows.finite(self.link(log_p.exp(), log_p))).sum(1)


@dataclass(frozen=True)
class MeanHits(Objective):
    r"""The link of the mean probability of the label, such as :math:`-\log E[p(y|x)]`.

    The log of a mean is no mean over rows. But the mean is: the statistics are the weighted sum of p and the sum of weights.
    """

    assigner: Assigner
    link: Link

    def statistics(self, rows: AnyRows) -> Tensor:
        if isinstance(rows, LabelRows):
            hits = rows.weighted(self.assigner.log_label(rows).exp())
        else:
            hits = (rows.shares * self.assigner.assign(rows)).sum(1)
        statistics = torch.stack([rows.sum_rows(hits), self.size_of(rows)], -1)
        return limit_gradient(statistics) if rows.extreme else statistics  # a logarithm is steep, and weights may be huge

    def value(self, statistics: Tensor) -> Tensor:
        mean = safe_divide(statistics[..., 0], statistics[..., 1], otherwise=1.0)  # no rows, no loss
        return self.link(mean, safe_log(mean))

    def size(self, statistics: Tensor) -> Tensor:
        return statistics[..., 1]


@dataclass(frozen=True)
class Gains(PerRow):
    """The link of each row's expected gain, rescaled to 0 ... 1: the loss for costs."""

    assigner: Assigner
    link: Link
    metric: Cost

    def losses(self, rows: AnyRows) -> Tensor:
        self.metric.check_classes(rows.scores.shape[1])
        assignment = self.assigner.assign(rows)
        gains, span = self.metric.unit_gains(assignment)
        if isinstance(rows, LabelRows):
            gain = (assignment * gains[rows.labels].movedim(-1, 1)).sum(1)
            gain = limit_gradient(gain) if rows.extreme else gain  # a logarithm is steep, and weights may be huge
            return rows.weighted(span * self.link(gain, safe_log(gain)))
        columns = assignment.flatten(2) if assignment.ndim > 2 else assignment[..., None]
        gain = limit_gradient(exact_product(gains, columns).view_as(assignment))  # (n, k, ...): the gain for each true class
        return (rows.shares * span * self.link(gain, safe_log(gain))).sum(1)


@dataclass(frozen=True)
class MatrixObjective(Objective):
    """The link of a metric of the whole confusion matrix; the statistics are that matrix."""

    assigner: Assigner
    link: Link
    metric: Metric

    @property
    def by_label(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, Multilabel)

    def statistics(self, rows: AnyRows) -> Tensor:
        self.metric.check_classes(rows.n_labels if self.by_label else rows.scores.shape[1])
        assignment = self.assigner.assign(rows)
        matrix = rows.confusion(assignment)
        return limit_gradient(matrix) if rows.extreme or _is_steep(matrix.sum(-2), matrix.dtype) else matrix

    def value(self, statistics: Tensor) -> Tensor:
        matrix = self.metric.cast(statistics)
        everywhere = (-3, -2, -1) if self.by_label else (-2, -1)
        value = self.metric.value(matrix) + 0.0 * matrix.sum(everywhere)  # NaN in any entry gives NaN
        return _apply_link(value, self.metric, self.link).to(statistics.dtype)

    def size(self, statistics: Tensor) -> Tensor:
        return statistics.sum()

    def unflatten(self, statistics: Tensor) -> Tensor:
        n_classes = 2 if self.by_label else math.isqrt(statistics.numel())
        return statistics.view(*[-1] * self.by_label, n_classes, n_classes)


@dataclass(frozen=True)
class CountsObjective(Objective):
    """The link of a metric of counts per class; the statistics are hits, support and predictions, (3, k).

    So time and memory grow with the number of classes, not with its square. A macro average is over the classes that occur in
    the labels: softly every class is predicted, and an absent one would count as a complete miss.
    """

    assigner: Assigner
    link: Link
    metric: CountsMetric

    @property
    def by_label(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, Multilabel)

    def statistics(self, rows: AnyRows) -> Tensor:
        return torch.stack(self._sums(rows), -2)

    def value(self, statistics: Tensor) -> Tensor:
        return self._value(self.counts(statistics)).to(statistics.dtype)

    def loss(self, rows: AnyRows) -> Tensor:
        sums = self._sums(rows, torch.float64 if rows.scores.is_cpu else None)  # at once in the precision of ``cast``
        wide = sums if sums[0].dtype == torch.float64 else map(self.metric.cast, sums)
        return self._value(_as_counts(*wide)).to(rows.scores.dtype)

    def counts(self, statistics: Tensor) -> Counts:
        return _as_counts(*self.metric.cast(statistics).unbind(-2))

    def _sums(self, rows: AnyRows, dtype: torch.dtype | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Hits, support and predictions per class, (k,) each, or (..., k) for groups."""
        self.metric.check_classes(rows.n_labels if self.by_label else rows.scores.shape[1])
        assignment = self.assigner.assign(rows)
        if isinstance(rows, LabelRows):
            assignment = rows.weighted(assignment)
            hits, support = rows.sums_at_label(assignment, dtype)
            predicted = rows.sum_classes(assignment, dtype)
        else:
            hits, support = rows.sum_classes(rows.shares * assignment), rows.support()
            predicted = rows.sum_classes(rows.shares.sum(1, keepdim=True) * assignment)
        if rows.ends is None:
            hits = hits + 0.0 * predicted.sum()  # NaN in any row gives NaN, also if the metric ignores its class
        sums = hits, support, predicted
        if rows.extreme or _is_steep(predicted, rows.scores.dtype):  # gradients have to fit into the dtype of the scores
            return tuple(limit_gradient(one.to(rows.scores.dtype)) for one in sums)  # type: ignore[return-value]
        return sums

    def _value(self, counts: Counts) -> Tensor:
        return _apply_link(self.metric.of_counts(counts), self.metric, self.link)

    def size(self, statistics: Tensor) -> Tensor:
        return statistics[..., 1, :].sum()

    def unflatten(self, statistics: Tensor) -> Tensor:
        return statistics.view(-1, 3, 2) if self.by_label else statistics.view(3, -1)


@dataclass(frozen=True)
class MeanOverImages(Objective):
    """The mean of an objective of every image; the statistics are the sum and the number of images.

    Images without rows do not count, nor, for a metric of the positive class, images without that class.
    """

    objective: Objective
    by_image = True

    @property
    def by_label(self) -> bool:  # type: ignore[override]
        return self.objective.by_label

    def statistics(self, rows: AnyRows) -> Tensor:
        losses = self.objective.value(self.objective.statistics(rows))  # one per image, or per image and label
        weight, metric = rows.total_weight(), getattr(self.objective, "metric", None)
        if isinstance(metric, Averaged) and metric.average == "binary":
            weight = rows.support()[..., metric.positive]
        counted = occurs(weight if weight.ndim == losses.ndim else weight.sum(-1))
        return torch.stack([torch.where(counted, losses, 0.0).sum(), counted.to(losses).sum()])

    def value(self, statistics: Tensor) -> Tensor:
        return safe_divide(statistics[0], statistics[1])

    def size(self, statistics: Tensor) -> Tensor:
        return statistics[1]

    def size_of(self, rows: AnyRows) -> Tensor:
        return self.statistics(rows)[1]


def check_over(over: str, memory: float | None) -> str:
    """Check what a loss is a mean over; a memory has the counts of whole batches."""
    if check_option(over, "over", ("batch", "image")) == "image" and memory is not None:
        raise ValueError(f'`memory` should be None with over="image", got {memory}: it keeps the counts of whole batches.')
    return over


def mean_over(over: str, objective: Objective) -> Objective:
    """The objective of the whole batch, or the mean over its images."""
    return MeanOverImages(objective) if over == "image" else objective


def objective_for(metric: Metric, assigner: Assigner, link: Link) -> Objective:
    """A mean over rows if the metric is a mean over samples and the link is of each, else a function of the whole batch."""
    if isinstance(metric, Custom) and metric.limits is None and not isinstance(link, Linear):
        raise ValueError(
            f"`link` should be 'linear' for a function whose values have no known limits, got {link}. "
            "Try `mf.metrics.Custom(function, limits=(0, 1))`."
        )
    if isinstance(metric, Multilabel) and isinstance(metric.metric, Accuracy | Cost):
        metric = metric.metric  # a mean over all labels of all rows
    if metric.counts_hits:
        return MeanHits(assigner, link) if link.of_mean else Hits(assigner, link)
    if isinstance(metric, Cost) and not link.of_mean:
        return Gains(assigner, link, metric)
    if needs_counts_only(metric):
        return CountsObjective(assigner, link, metric)
    return MatrixObjective(assigner, link, metric)


def _as_counts(hits: Tensor, support: Tensor, predicted: Tensor) -> Counts:
    return Counts(hits, support, predicted, support.sum(-1), averaged=occurs(support))


def _is_steep(predicted: Tensor, dtype: torch.dtype) -> bool:
    """Whether gradients may be near overflow in this dtype, because a class is hardly predicted; True if not known."""
    if torch.compiler.is_compiling() or not predicted.is_cpu:
        return True
    try:
        return not predicted.detach().amin().item() > (1e-100 if dtype == torch.float64 else 1e-15)
    except RuntimeError:  # vmap and fake tensors have no values
        return True


def _apply_link(value: Tensor, metric: Metric, link: Link) -> Tensor:
    r"""The link of a metric with bounds :math:`(a, b)`: :math:`(b - a)\, L\bigl((M - a)/(b - a)\bigr)`.

    For bounds (0, 1) this is :math:`L(M)`, and for the linear link it is always :math:`b - M`. The other links have
    about the same slope at the best value, and are steepest at the worst, which is -1 for a correlation.
    """
    low, high = metric.bounds
    if isinstance(link, Linear):
        return high - value
    span = (high - low) or 1.0
    unit = (value - low) / span
    return span * link(unit, safe_log(unit, torch.finfo(unit.dtype).eps))
