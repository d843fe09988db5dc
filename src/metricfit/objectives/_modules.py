"""Losses as modules: thin shells that keep options and call the objective behind them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

import torch
from torch import Tensor, nn

from metricfit import links, metrics
from metricfit._checks import check_flag, check_floating, check_number
from metricfit.confusion import anchored
from metricfit.distributed import sum_over_processes, world_size
from metricfit.links import Link
from metricfit.metrics._registry import MetricLike
from metricfit.numerics._safe import safe_divide
from metricfit.objectives._baselines import Dice, Hinge
from metricfit.objectives._compute import check_options, compute_loss, reduce_statistics
from metricfit.objectives._leak import CrossEntropy, add_leak
from metricfit.objectives._objective import Objective, PerRow, Smoothed, objective_for
from metricfit.objectives._rows import as_rows
from metricfit.smoothing import Normal, Smoothing, Softmax, SoftSet


class CrossEntropyOptions(TypedDict, total=False):
    """The options of ``nn.CrossEntropyLoss``, as :class:`ClassificationLoss` explains them."""

    weight: Tensor | None
    ignore_index: int
    reduction: str
    label_smoothing: float


class LossOptions(CrossEntropyOptions, total=False):
    """The options that every loss takes."""

    memory: float | None
    distributed: bool | None


class ClassificationLoss(nn.Module, ABC):
    """Layouts, options and reduction of ``nn.CrossEntropyLoss`` around an objective.

    Args:
        weight: one weight per class, (k,).
        ignore_index: rows with this target take no part.
        reduction: ``"mean"``; ``"sum"``, the mean times the sum of the rows' weights; or, where the loss is a mean over
            samples, ``"none"``.
        label_smoothing: share of each label that is spread over all classes.
        memory: None, or how much of the running statistics survives each step, in 0 ... 1. With a memory the loss is
            that of recent batches together and each batch is trained on its linearisation, which makes small batches
            as good as large ones for metrics that are not a mean over samples. Updated in training mode only.
        distributed: whether to take the loss over the batches of all processes; None does so in training mode if there
            is a process group. Gradients then are those of the joint batch once averaged over processes, as
            ``DistributedDataParallel`` does.
    """

    weight: Tensor | None
    running: Tensor | None

    def __init__(
        self,
        *,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        memory: float | None = None,
        distributed: bool | None = None,
    ) -> None:
        super().__init__()
        check_options(weight, ignore_index, reduction, label_smoothing)
        self.register_buffer("weight", weight)
        self.register_buffer("running", None)
        self.ignore_index, self.reduction, self.label_smoothing = ignore_index, reduction, float(label_smoothing)
        self.memory = None if memory is None else check_number(memory, "memory", 0.0, 1.0)
        if memory is not None and reduction != "mean":
            raise ValueError(f'`reduction` should be "mean" with a memory, got {reduction!r}.')
        self.distributed = None if distributed is None else check_flag(distributed, "distributed")

    @abstractmethod
    def objective(self) -> Objective:
        """What this module minimises."""

    def forward(
        self, input: Tensor, target: Tensor, sample_weight: Tensor | None = None, scale: float | Tensor | None = None
    ) -> Tensor:
        """The loss of raw scores ``input`` (n, k), (k,) or (n, k, d1, ...) against labels or class probabilities.

        ``sample_weight`` has the shape of the labels; ``scale`` overrides the smoothing's width for this call.
        """
        self._check_scale(scale)
        joint = self._joint if self.memory is not None or self.shared_by() > 1 else None
        return compute_loss(
            self.objective(),
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
            sample_weight=sample_weight,
            scale=scale,
            joint=joint,
        )

    def statistics(
        self, input: Tensor, target: Tensor, sample_weight: Tensor | None = None, scale: float | Tensor | None = None
    ) -> Tensor:
        """What the loss is a function of, for this batch alone. Statistics of several batches add up."""
        self._check_scale(scale)
        rows = as_rows(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            sample_weight=sample_weight,
            scale=scale,
        )
        return self.objective().statistics(rows)

    def from_statistics(self, statistics: Tensor) -> Tensor:
        """The loss of everything that went into the (added-up) statistics."""
        return reduce_statistics(self.objective(), statistics, self.reduction)

    def forget(self) -> None:
        """Empty the memory."""
        self.running = None

    def _check_scale(self, scale: float | Tensor | None) -> None:
        """Raise an error if this loss has no width that ``scale`` could override."""

    def shared_by(self) -> int:
        """How many processes the loss is taken over."""
        together = self.training if self.distributed is None else self.distributed
        return world_size() if together else 1

    def _joint(self, objective: Objective, local: Tensor) -> Tensor:
        """The batch's statistics with those of the other processes and of recent batches."""
        total, factor = local, torch.ones_like(objective.size(local))
        if (processes := self.shared_by()) > 1:
            total, factor = sum_over_processes(local), factor * processes
        if self.memory is not None and self.training:
            fresh = total.detach()
            before = self._remembered(fresh)
            total = before + fresh
            factor = factor * safe_divide(objective.size(total), objective.size(fresh))
            self.running = torch.where(fresh.isfinite().all(), total, before)  # a batch of NaN is not remembered for ever
        return local if total is local else anchored(total, local, factor)

    def _remembered(self, like: Tensor) -> Tensor:
        if self.running is None:
            return torch.zeros_like(like)
        if self.running.shape != like.shape:
            raise ValueError(
                f"`input` should have {self.running.shape[-1]} classes as in the batches before, got {like.shape[-1]}. "
                "Call `forget()` to start the memory anew."
            )
        return (self.memory or 0.0) * self.running.to(like)

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        # the memory has a shape only after the first batch; take whatever shape was saved
        saved = state_dict.get(prefix + "running")
        self.running = None if saved is None else torch.empty_like(saved)
        super()._load_from_state_dict(state_dict, prefix, *args)


class MetricLoss(ClassificationLoss):
    """Train for a metric: ``loss = MetricLoss("mcc")`` where ``nn.CrossEntropyLoss()`` stood.

    Args:
        metric: a name (``metricfit.metrics.names()``), a metric, or a function of the confusion matrix.
        smoothing: how scores become soft assignments; ``Softmax()`` by default.
        link: ``"linear"``, ``"log"``, ``"leaky(alpha)"`` or ``"power(q)"``. For a metric that is a mean over samples
            (accuracy, a cost) it applies sample by sample, for the others to the metric.
        margin: a class beaten by more than this counts as beaten by this (arXiv 2205.09615, Eq. 19).
        normalize_scores: subtract the batch's mean score and divide by its standard deviation (arXiv 2205.09615, Listing 1).
        leak: alpha, the weight of cross-entropy of the same scores, which is added to the loss of the metric. With
            ``"accuracy"`` under the softmax this is :class:`LeakyExpectedErrorLoss`, for any other metric the same idea.
        leak_weight: one weight per class in that cross-entropy, (k,); the metric does not see it.
        offsets: one number per class, (k,), added to the scores in the metric; the leak does not see them. An
            ``nn.Parameter`` is trained.
        **options: those of :class:`ClassificationLoss`.

    >>> loss = MetricLoss("f1_macro")
    >>> loss(torch.tensor([[5.0, -5.0], [-5.0, 5.0]]), torch.tensor([0, 1]))
    tensor(4.5419e-05)
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
        memory: float | None = None,
        distributed: bool | None = None,
        **options: Unpack[CrossEntropyOptions],
    ) -> None:
        super().__init__(memory=memory, distributed=distributed, **options)
        self.metric = metrics.get(metric)
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
        objective = self.objective()  # which checks its parts
        if self.reduction == "none" and not isinstance(objective, PerRow):
            raise ValueError(
                f'`reduction` should be "mean" or "sum" for {self.metric}, a function of the whole batch, got "none".'
            )
        if self.margin is not None and self.label_smoothing > 0.0:
            raise ValueError(f"`margin` should be None with label smoothing, got {self.margin}: a distance to the one label.")

    def objective(self) -> Objective:
        smoothed = Smoothed(self.smoothing, self.margin, self.normalize_scores, self.offsets)
        return add_leak(objective_for(self.metric, smoothed, self.link), self.leak, self.leak_weight)

    def extra_repr(self) -> str:
        extra = (f", margin={self.margin}" if self.margin is not None else "") + (f", leak={self.leak}" if self.leak else "")
        return f"metric={self.metric}, link={self.link}{extra}" + (", normalize_scores=True" if self.normalize_scores else "")


class ExactLoss(MetricLoss):
    """EXACT: expected accuracy under normal noise on the scores (arXiv 2205.09615, Eq. 15 to 19, Listing 1).

    The four improvements of its section 4.5 can be switched one by one: ``margin``; ``normalize_scores``; the scale's
    schedule, by passing ``scale=schedule(step)`` to each call; and :class:`metricfit.GradientNormalizer` after
    ``backward``. ``link="log"`` is the form its critique asks about.

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
        samples: int = 16,
        generator: torch.Generator | None = None,
        **options: Unpack[LossOptions],
    ) -> None:
        smoothing = Normal(scale, method, order=order, samples=samples, generator=generator)
        super().__init__("accuracy", smoothing, link, margin=margin, normalize_scores=normalize_scores, **options)


class ExpectedErrorLoss(MetricLoss):
    """Expected error of a class drawn from the softmax, 1 - p_y (arXiv 1905.00448, Eq. 3 to 5).

    >>> ExpectedErrorLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))
    tensor(0.5000)
    """

    def __init__(self, temperature: float | Tensor = 1.0, **options: Unpack[LossOptions]) -> None:
        super().__init__("accuracy", Softmax(temperature), "linear", **options)


class LeakyExpectedErrorLoss(MetricLoss):
    """Expected error with a leak of cross-entropy, (1 - p_y) - alpha log p_y (arXiv 1905.00448, Eq. 6, plus the constant 1).

    >>> LeakyExpectedErrorLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))   # 0.5 + 0.1 log 2
    tensor(0.5693)
    """

    def __init__(self, alpha: float = 0.1, temperature: float | Tensor = 1.0, **options: Unpack[LossOptions]) -> None:
        super().__init__("accuracy", Softmax(temperature), links.Leaky(alpha), **options)


class EastLoss(MetricLoss):
    """EAST: a metric of the soft-set confusion matrix (arXiv 2405.20954, Eq. 3 to 6).

    Its annealing trains at T_k = 0.2 r**k, each until early stopping: ``scale=0.2 * r**k`` in each call.

    >>> EastLoss("accuracy")(torch.tensor([[0.0, 1.0986123]]), torch.tensor([1]))  # 1 - 0.8, see SoftSet
    tensor(0.2000)
    """

    def __init__(
        self, metric: MetricLike = "f1_macro", temperature: float | Tensor = 0.2, **options: Unpack[LossOptions]
    ) -> None:
        super().__init__(metric, SoftSet(temperature), "linear", **options)


class Unsmoothed(ClassificationLoss):
    """A loss without a width."""

    def _check_scale(self, scale: float | Tensor | None) -> None:
        if scale is not None:
            raise ValueError(f"`scale` should be None: {type(self).__name__} smooths nothing, got {scale!r}.")


class CrossEntropyLoss(Unsmoothed):
    """Cross-entropy with the options of this package: sample weights, memory, several processes.

    >>> CrossEntropyLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))           # log 2
    tensor(0.6931)
    """

    def objective(self) -> Objective:
        return CrossEntropy()


class HingeLoss(Unsmoothed):
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


class DiceLoss(Unsmoothed):
    """Soft Dice of Milletari et al. with squares below, averaged over the classes of the batch: a baseline of the EAST paper.

    >>> DiceLoss()(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))  # 1 - 2 * 0.5 / (0.5 + 1)
    tensor(0.3333)
    """

    def objective(self) -> Objective:
        return Dice()
