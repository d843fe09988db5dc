r"""The loss of a metric: a link of the metric of the smoothed confusion matrix, plus a leak of cross-entropy.

.. math:: L + \alpha\,\mathrm{CE}(S)

For accuracy under the softmax this is leaky expected error (arXiv 1905.00448, Eq. 6, plus 1). Offsets enter L only. So
:math:`\alpha \to \infty` gives logistic regression with tuned offsets, and :math:`\alpha \to 0` gives training for L alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import torch
from torch import Tensor, nn

from metricfit import links, metrics
from metricfit._checks import check_floating, check_number
from metricfit.links import Link
from metricfit.losses._base import ClassificationLoss, CrossEntropyOptions, LossOptions, rows_for
from metricfit.losses._baselines import CrossEntropy
from metricfit.losses._objectives import (
    Assigner,
    CountsObjective,
    Objective,
    PerRow,
    check_over,
    mean_over,
    objective_for,
)
from metricfit.losses._rows import AnyRows
from metricfit.metrics import Averaged, Metric, MetricLike, Multilabel
from metricfit.smoothing import Smoothing, Softmax


class MetricOptions(CrossEntropyOptions, total=False):
    """The options of :func:`metric_loss`, as documented in :class:`MetricLoss`."""

    margin: float | None
    normalize_scores: bool
    leak: float
    leak_weight: Tensor | None
    offsets: Tensor | None
    over: str
    ignore_classes: Sequence[int]


class MetricLoss(ClassificationLoss):
    """Loss that trains for a metric: write ``MetricLoss("mcc")`` instead of ``nn.CrossEntropyLoss()``.

    Parameters
    ----------
    metric : str, Metric or callable, default="accuracy"
        A name (``metricfit.metrics.names()``), a metric, or a function of the confusion matrix.
    smoothing : Smoothing, default=None
        How scores become soft assignments; by default ``Softmax()``.
    link : str or Link, default="linear"
        "linear", "log", "leaky(alpha)" or "power(q)". For a metric that is a mean over samples (accuracy, a cost) it applies
        to each sample, for the others to the metric. "log_of_mean" always applies to the metric: for accuracy it is -log E[p].
    margin : float, default=None
        Upper limit on how far the label's score counts as ahead of another, Eq. (19) of EXACT.
    normalize_scores : bool, default=False
        Subtract the batch's mean score and divide by its standard deviation, Listing 1 of EXACT.
    leak : float, default=0.0
        Weight alpha of a cross-entropy of the same scores that is added to the loss of the metric. For "accuracy" under the
        softmax, the sum is :class:`LeakyExpectedErrorLoss`.
    leak_weight : Tensor of shape (k,), default=None
        Weights of the classes in that cross-entropy but not in the metric; for logits, of the positives.
    offsets : Tensor of shape (k,), default=None
        One number per class, or per logit, added to the scores in the metric but not in the leak. An ``nn.Parameter`` is
        trained.
    over : {"batch", "image"}, default="batch"
        The metric of all rows of the batch, or the mean over images (N, C, H, W).
    ignore_classes : sequence of int, default=()
        Classes, or labels, that averages leave out, such as [0] for the background.
    **options : dict
        ``memory``, ``distributed``, ``mode``, ``weight``, ``pos_weight``, ``ignore_index``, ``class_dim``, ``reduction``,
        ``label_smoothing``: see :class:`metricfit.losses.ClassificationLoss`.

    References
    ----------
    Karpukhin et al., "EXACT", arXiv 2205.09615.

    Examples
    --------
    >>> import torch
    >>> from metricfit import MetricLoss
    >>> loss = MetricLoss("f1_macro")
    >>> loss(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]), torch.tensor([0, 1]))      # both are right with 1 / (1 + exp(-2))
    tensor(0.1192)
    >>> MetricLoss("mcc", leak=0.1)(torch.zeros(2, 2), torch.tensor([0, 1]))      # MCC is 0: 1 + 0.1 log 2
    tensor(1.0693)
    """

    smoothing: Smoothing
    offsets: Tensor | None
    leak_weight: Tensor | None

    def __init__(
        self,
        metric: MetricLike = "accuracy",
        smoothing: Smoothing | None = None,
        link: str | Link = "linear",
        *,
        margin: float | None = None,
        normalize_scores: bool = False,
        leak: float = 0.0,
        leak_weight: Tensor | None = None,
        offsets: Tensor | None = None,
        over: str = "batch",
        ignore_classes: Sequence[int] = (),
        **options: Unpack[LossOptions],
    ) -> None:
        super().__init__(**options)
        self.metric = _resolve(metrics.get(metric), self.mode, ignore_classes)
        self.over = check_over(over, self.memory)
        self.smoothing = Softmax() if smoothing is None else smoothing
        self.link = links.get(link)
        self.margin = None if margin is None else check_number(margin, "margin", 0.0)
        self.normalize_scores = normalize_scores
        self.leak = check_number(leak, "leak", 0.0)
        for name, value in (("leak_weight", leak_weight), ("offsets", offsets)):
            if value is not None:
                check_floating(value, name)
        self.register_buffer("leak_weight", leak_weight)
        if isinstance(offsets, nn.Parameter):
            self.register_parameter("offsets", offsets)
        else:
            self.register_buffer("offsets", offsets)
        objective = self.objective()  # checks the options
        if self.reduction == "none" and not isinstance(objective, PerRow):
            what = f"{self.link} of {self.metric}" if self.link.of_mean else self.metric
            raise ValueError(f'`reduction` should be "mean" or "sum" for {what}, a function of the whole batch, got "none".')
        if self.margin is not None and self.label_smoothing > 0.0:
            raise ValueError(f"`margin` should be None with label smoothing, got {self.margin}: it needs one label per row.")

    def objective(self) -> Objective:
        assigner = Assigner(self.smoothing, self.margin, self.normalize_scores, self.offsets)
        objective = mean_over(self.over, objective_for(self.metric, assigner, self.link))
        return add_leak(objective, self.leak, self.leak_weight)

    @torch.no_grad()
    def per_class(self, input: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Metric of every class in this batch, for logging.

        Parameters
        ----------
        input, target, sample_weight : Tensor
            The rows, as in :func:`metricfit.functional.metric_loss`.

        Returns
        -------
        Tensor of shape (k,)
            The metric of every class, or of every label, under the smoothing. With ``smoothing=Hard()`` it is that of the
            decisions.

        Examples
        --------
        >>> import torch
        >>> from metricfit import MetricLoss
        >>> from metricfit.smoothing import Hard
        >>> loss = MetricLoss("iou_macro", Hard())
        >>> loss.per_class(torch.tensor([[2.0, 1.0], [0.0, 3.0], [0.5, 0.1]]), torch.tensor([0, 1, 1]))
        tensor([0.5000, 0.5000])
        """
        if not metrics.needs_counts_only(self.metric):
            raise ValueError(f"`metric` {self.metric} is not an average over classes, so it has no values per class.")
        assigner = Assigner(self.smoothing, self.margin, self.normalize_scores, self.offsets)
        objective = CountsObjective(assigner, self.link, self.metric)
        rows = rows_for(objective, input, target, sample_weight, None, self._row_options())
        statistics = objective.statistics(rows)
        return self.metric.per_class(objective.counts(statistics)).to(statistics)

    def extra_repr(self) -> str:
        extra = (f", margin={self.margin}" if self.margin is not None else "") + (f", leak={self.leak}" if self.leak else "")
        return f"metric={self.metric}, link={self.link}{extra}" + (", normalize_scores=True" if self.normalize_scores else "")


def metric_loss(
    input: Tensor,
    target: Tensor,
    metric: MetricLike = "accuracy",
    smoothing: Smoothing | None = None,
    link: str | Link = "linear",
    *,
    scale: float | Tensor | None = None,
    sample_weight: Tensor | None = None,
    **options: Unpack[MetricOptions],
) -> Tensor:
    """Functional form of :class:`metricfit.MetricLoss`, which has the same options.

    Parameters
    ----------
    input : Tensor of shape (n, k), (k,) or (n, k, d1, ...)
        The scores.
    target : Tensor of shape (n,), () or (n, d1, ...), or of the shape of ``input``
        Labels, or class probabilities.
    metric, smoothing, link : optional
        As in :class:`metricfit.MetricLoss`.
    scale : float or Tensor, default=None
        Overrides the width of the smoothing.
    sample_weight : Tensor of the shape of the labels, default=None
        How much each row counts.
    **options : dict
        All options of :class:`metricfit.MetricLoss` except ``memory`` and ``distributed``.

    Returns
    -------
    Tensor
        The loss.

    Examples
    --------
    >>> import torch
    >>> from metricfit.functional import metric_loss
    >>> metric_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([0]), "accuracy", link="log")   # log 2
    tensor(0.6931)
    """
    loss = MetricLoss(metric, smoothing, link, distributed=False, **options)
    return loss(input, target, sample_weight, scale)


def _resolve(metric: Metric, mode: str | None, ignore_classes: Sequence[int]) -> Metric:
    """The metric of this mode, without the classes to ignore."""
    if len(ignore_classes):
        if not isinstance(metric, Averaged):
            raise ValueError(f"`ignore_classes` is for averages over classes such as 'iou_macro', got {metric}.")
        metric = replace(metric, ignore_classes=tuple(ignore_classes))  # type: ignore[type-var]
    return Multilabel(metric) if mode == "multilabel" and not isinstance(metric, Multilabel) else metric


@dataclass(frozen=True)
class LeakyRows(PerRow):
    """The objective plus the leak, row by row."""

    objective: PerRow
    cross_entropy: CrossEntropy
    leak: float

    def losses(self, rows: AnyRows) -> Tensor:
        return self.objective.losses(rows) + self.leak * self.cross_entropy.losses(rows)


@dataclass(frozen=True)
class LeakyTotal(Objective):
    """The objective plus the leak, each over all rows; their statistics and the sum of weights are concatenated.

    Scores do not change the sum of weights. Its own entry says so: as the sum of a matrix it would have, times a huge leak, a
    rounding error for a gradient.
    """

    objective: Objective
    cross_entropy: CrossEntropy
    leak: float

    @property
    def by_label(self) -> bool:  # type: ignore[override]
        return self.objective.by_label

    @property
    def by_image(self) -> bool:  # type: ignore[override]
        return self.objective.by_image

    def statistics(self, rows: AnyRows) -> Tensor:
        together = replace(rows, groups=())
        leak, size = self.cross_entropy.statistics(together), self.objective.size_of(together)[None]
        return torch.cat([self.objective.statistics(rows).flatten(), leak, size])

    def value(self, statistics: Tensor) -> Tensor:
        value = self.objective.value(self.objective.unflatten(statistics[:-3]))
        return value + self.leak * self.cross_entropy.value(statistics[-3:-1])

    def size(self, statistics: Tensor) -> Tensor:
        return statistics[-1]

    def size_of(self, rows: AnyRows) -> Tensor:
        return self.objective.size_of(rows)


def add_leak(objective: Objective, leak: float, class_weight: Tensor | None = None) -> Objective:
    """The objective plus ``leak`` times cross-entropy; row by row if both are means over the same weights."""
    if not leak:
        return objective
    cross_entropy = CrossEntropy(class_weight)
    if isinstance(objective, PerRow) and class_weight is None:
        return LeakyRows(objective, cross_entropy, leak)
    return LeakyTotal(objective, cross_entropy, leak)
