"""Losses as modules: they store the options and call an objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack

import torch
from torch import Tensor, nn

from metricfit import links, metrics
from metricfit._checks import check_flag, check_floating, check_number
from metricfit.confusion import with_gradient_of
from metricfit.distributed import sum_over_processes, world_size
from metricfit.links import Link
from metricfit.metrics._registry import MetricLike
from metricfit.numerics._safe import safe_divide
from metricfit.objectives._baselines import Dice, Hinge
from metricfit.objectives._compute import check_options, compute_loss
from metricfit.objectives._leak import CrossEntropy, add_leak
from metricfit.objectives._objective import Assigner, Objective, PerRow, objective_for
from metricfit.objectives._rows import RowOptions, as_rows
from metricfit.scores import limit_gradient
from metricfit.smoothing import Normal, Smoothing, Softmax, SoftSet


class CrossEntropyOptions(TypedDict, total=False):
    """The options of ``nn.CrossEntropyLoss``, as documented in :class:`ClassificationLoss`."""

    weight: Tensor | None
    ignore_index: int
    reduction: str
    label_smoothing: float


class LossOptions(CrossEntropyOptions, total=False):
    """The options that every loss takes."""

    memory: float | None
    distributed: bool | None


class ClassificationLoss(nn.Module, ABC):
    """Base class of the losses: an objective with the layouts, options and reduction of ``nn.CrossEntropyLoss``.

    Args:
        weight: one weight per class, (k,).
        ignore_index: rows with this target are ignored.
        reduction: ``"mean"``; ``"sum"``, the mean times the sum of the rows' weights; or ``"none"``, for a loss that is a
            mean over samples.
        label_smoothing: share of each label that is distributed over all classes.
        memory: None, or the factor in 0 ... 1 by which the running statistics shrink at each step. With a memory the loss is
            that of all recent batches together, linearised in the current batch. For metrics that are not a mean over samples,
            small batches are then as good as large ones. A validation pass leaves it alone, in evaluation mode or under
            ``torch.no_grad()``.
        distributed: whether to compute the loss over the batches of all processes; None means in training mode with gradients
            enabled, if there is a process group. So one process may validate alone. The gradient, averaged over processes as
            by ``DistributedDataParallel``, is then that of the joint batch.
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
        """The objective that this module minimises."""

    def forward(
        self, input: Tensor, target: Tensor, sample_weight: Tensor | None = None, scale: float | Tensor | None = None
    ) -> Tensor:
        """The loss of raw scores ``input`` (n, k), (k,) or (n, k, d1, ...) against labels or class probabilities.

        ``sample_weight`` has the shape of the labels; ``scale`` overrides the smoothing's width for this call.
        """
        self._check_scale(scale)
        combine = self._combine if self.memory is not None or self.n_processes() > 1 else None
        options = self._row_options()
        return compute_loss(self._kept_objective(), input, target, sample_weight, scale, self.reduction, combine, **options)

    def statistics(
        self, input: Tensor, target: Tensor, sample_weight: Tensor | None = None, scale: float | Tensor | None = None
    ) -> Tensor:
        """The statistics of this batch alone. The loss of several batches is a function of the sum of their statistics."""
        self._check_scale(scale)
        return self.objective().statistics(as_rows(input, target, sample_weight, scale, **self._row_options()))

    def _kept_objective(self) -> Objective:
        """The objective, built again only after an attribute has changed: for few classes building it is a tenth of a step."""
        if torch.compiler.is_compiling():
            return self.objective()
        kept = self.__dict__.get("_objective")
        if kept is None:
            kept = self.__dict__["_objective"] = self.objective()
        return kept

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.pop("_objective", None)
        super().__setattr__(name, value)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        self.__dict__.pop("_objective", None)  # its tensors move
        return super()._apply(fn, recurse)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_objective"}

    def _row_options(self) -> RowOptions:
        return {"weight": self.weight, "ignore_index": self.ignore_index, "label_smoothing": self.label_smoothing}

    def forget(self) -> None:
        """Empty the memory."""
        self.running = None

    def _check_scale(self, scale: float | Tensor | None) -> None:
        """Raise an error if this loss has no width that ``scale`` could override."""

    def n_processes(self) -> int:
        """The number of processes whose batches enter the loss."""
        together = self._trains() if self.distributed is None else self.distributed
        return world_size() if together else 1

    def _trains(self) -> bool:
        """Whether this call is a step of training. Hardly anybody calls ``eval()`` of a loss, but all disable gradients."""
        return self.training and torch.is_grad_enabled()

    def _combine(self, objective: Objective, local: Tensor) -> Tensor:
        """Add the statistics of other processes and of recent batches to those of this batch."""
        total, factor = local, torch.ones_like(objective.size(local))
        if (processes := self.n_processes()) > 1:
            total, factor = sum_over_processes(local), factor * processes
        if self.memory is not None and self._trains():
            fresh = total.detach()
            before = self._running_before(fresh)
            total = before + fresh
            factor = factor * safe_divide(objective.size(total), objective.size(fresh))
            self.running = torch.where(fresh.isfinite().all(), total, before)  # NaN would stay in the memory for ever
        # the factor may be zero, and the gradient by tiny statistics infinite
        return local if total is local else limit_gradient(with_gradient_of(total, local, factor))

    def _running_before(self, like: Tensor) -> Tensor:
        if self.running is None:
            return torch.zeros_like(like)
        if self.running.shape != like.shape:
            raise ValueError(
                f"`input` should have {self.running.shape[-1]} classes as in the previous batches, got {like.shape[-1]}. "
                "Call `forget()` to empty the memory."
            )
        return (self.memory or 0.0) * self.running.to(like)

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        # the memory has no shape before the first batch: take the shape that was saved
        saved = state_dict.get(prefix + "running")
        self.running = None if saved is None else torch.empty_like(saved)
        super()._load_from_state_dict(state_dict, prefix, *args)


class MetricLoss(ClassificationLoss):
    """A loss that trains for a metric: write ``MetricLoss("mcc")`` instead of ``nn.CrossEntropyLoss()``.

    Args:
        metric: a name (``metricfit.metrics.names()``), a metric, or a function of the confusion matrix.
        smoothing: how scores become soft assignments; ``Softmax()`` by default.
        link: ``"linear"``, ``"log"``, ``"leaky(alpha)"`` or ``"power(q)"``. For a metric that is a mean over samples
            (accuracy, a cost) it applies to each sample, for the others to the metric. ``"log_of_mean"`` always applies to the
            metric: for accuracy it is -log E[p].
        margin: upper limit on how far the label's score counts as ahead of another (arXiv 2205.09615, Eq. 19).
        normalize_scores: subtract the batch's mean score and divide by its standard deviation (arXiv 2205.09615, Listing 1).
        leak: alpha, the weight of a cross-entropy of the same scores that is added to the loss of the metric. For
            ``"accuracy"`` under the softmax, the sum is :class:`LeakyExpectedErrorLoss`.
        leak_weight: one weight per class, (k,), in that cross-entropy but not in the metric.
        offsets: one number per class, (k,), added to the scores in the metric but not in the leak. An ``nn.Parameter`` is
            trained.
        **options: see :class:`ClassificationLoss`.

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
        objective = self.objective()  # checks the options
        if self.reduction == "none" and not isinstance(objective, PerRow):
            what = f"{self.link} of {self.metric}" if self.link.of_mean else self.metric
            raise ValueError(f'`reduction` should be "mean" or "sum" for {what}, a function of the whole batch, got "none".')
        if self.margin is not None and self.label_smoothing > 0.0:
            raise ValueError(f"`margin` should be None with label smoothing, got {self.margin}: it needs one label per row.")

    def objective(self) -> Objective:
        assigner = Assigner(self.smoothing, self.margin, self.normalize_scores, self.offsets)
        return add_leak(objective_for(self.metric, assigner, self.link), self.leak, self.leak_weight)

    def extra_repr(self) -> str:
        extra = (f", margin={self.margin}" if self.margin is not None else "") + (f", leak={self.leak}" if self.leak else "")
        return f"metric={self.metric}, link={self.link}{extra}" + (", normalize_scores=True" if self.normalize_scores else "")


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


class LossWithoutWidth(ClassificationLoss):
    """Base class of the losses that have no smoothing and so no width."""

    def _check_scale(self, scale: float | Tensor | None) -> None:
        if scale is not None:
            raise ValueError(f"`scale` should be None: {type(self).__name__} has no smoothing, got {scale!r}.")


class CrossEntropyLoss(LossWithoutWidth):
    """Cross-entropy with the options of this package: sample weights, memory, several processes.

    >>> CrossEntropyLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([0]))           # log 2
    tensor(0.6931)
    """

    def objective(self) -> Objective:
        return CrossEntropy()


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


class DiceLoss(LossWithoutWidth):
    """Soft Dice of Milletari et al., squares in the denominator, mean over the batch's classes: a baseline of the EAST paper.

    >>> DiceLoss()(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))  # 1 - 2 * 0.5 / (0.5 + 1)
    tensor(0.3333)
    """

    def objective(self) -> Objective:
        return Dice()
