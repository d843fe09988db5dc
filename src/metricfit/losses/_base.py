"""The base of all losses: the layouts, options and reductions of ``nn.CrossEntropyLoss``, as a function and as a module."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack

import torch
from torch import Tensor, nn

from metricfit._checks import check_flag, check_number, check_option
from metricfit.confusion import with_gradient_of
from metricfit.distributed import sum_over_processes, world_size
from metricfit.losses._fused import fused_loss
from metricfit.losses._objectives import Objective, PerRow
from metricfit.losses._rows import RowOptions, as_rows
from metricfit.numerics import safe_divide
from metricfit.scores import limit_gradient

REDUCTIONS = ("mean", "sum", "none")
Combine = Callable[[Objective, Tensor], Tensor]


class CrossEntropyOptions(TypedDict, total=False):
    """The options of ``nn.CrossEntropyLoss``, as documented in :class:`ClassificationLoss`."""

    weight: Tensor | None
    ignore_index: int
    reduction: str
    label_smoothing: float


class FunctionOptions(CrossEntropyOptions, total=False):
    """The options that every function takes."""

    sample_weight: Tensor | None


class LossOptions(CrossEntropyOptions, total=False):
    """The options that every module takes."""

    memory: float | None
    distributed: bool | None


def check_options(
    weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
) -> tuple[RowOptions, str]:
    """Check the options of ``nn.CrossEntropyLoss``: those of rows, and the reduction."""
    if weight is not None and not isinstance(weight, Tensor):
        raise TypeError(f"`weight` should be a torch.Tensor with one entry per class, got {weight!r}.")
    if not isinstance(ignore_index, int):
        raise TypeError(f"`ignore_index` should be an integer, got {ignore_index!r}.")
    check_option(reduction, "reduction", REDUCTIONS)
    smoothing = check_number(label_smoothing, "label_smoothing", 0.0, 1.0)
    return {"weight": weight, "ignore_index": ignore_index, "label_smoothing": smoothing}, reduction


def loss_function(
    objective: Objective,
    input: Tensor,
    target: Tensor,
    scale: float | Tensor | None = None,
    *,
    sample_weight: Tensor | None = None,
    **options: Unpack[CrossEntropyOptions],
) -> Tensor:
    """The loss as a function: its options are checked at every call."""
    rows, reduction = check_options(**options)
    return compute_loss(objective, input, target, sample_weight, scale, reduction, **rows)


def compute_loss(
    objective: Objective,
    input: Tensor,
    target: Tensor,
    sample_weight: Tensor | None,
    scale: float | Tensor | None,
    reduction: str,
    combine: Combine | None = None,
    **options: Unpack[RowOptions],
) -> Tensor:
    """The loss, from a fused kernel if one covers the case.

    ``combine`` may add the statistics of other batches to those of these rows before the loss is computed.
    """
    plain = options["weight"] is None and sample_weight is None and combine is None and not options["label_smoothing"]
    if plain and reduction != "none":
        loss = fused_loss(objective, input, target, scale, options["ignore_index"], reduction)
        if loss is not None:
            return loss
    only_ratios = reduction == "mean" and combine is None
    rows = as_rows(input, target, sample_weight, scale, only_ratios=only_ratios, **options)
    if reduction == "none":
        if not isinstance(objective, PerRow):
            raise ValueError(
                '`reduction` should be "mean" or "sum" for a loss that is a function of the whole batch, got "none".'
            )
        return objective.losses(rows).reshape(rows.shape)
    if only_ratios:
        return rows.finite(objective.loss(rows))
    statistics = objective.statistics(rows)
    if combine is not None:
        statistics = combine(objective, statistics)
    return rows.finite(objective.total(statistics) if reduction == "sum" else objective.value(statistics))


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
        self, *, memory: float | None = None, distributed: bool | None = None, **options: Unpack[CrossEntropyOptions]
    ) -> None:
        super().__init__()
        rows, self.reduction = check_options(**options)
        self.register_buffer("weight", rows["weight"])
        self.register_buffer("running", None)
        self.ignore_index, self.label_smoothing = rows["ignore_index"], rows["label_smoothing"]
        self.memory = None if memory is None else check_number(memory, "memory", 0.0, 1.0)
        if memory is not None and self.reduction != "mean":
            raise ValueError(f'`reduction` should be "mean" with a memory, got {self.reduction!r}.')
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
        rows = self._row_options()
        return compute_loss(self._kept_objective(), input, target, sample_weight, scale, self.reduction, combine, **rows)

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


class LossWithoutWidth(ClassificationLoss):
    """Base class of the losses that have no smoothing and so no width."""

    def _check_scale(self, scale: float | Tensor | None) -> None:
        if scale is not None:
            raise ValueError(f"`scale` should be None: {type(self).__name__} has no smoothing, got {scale!r}.")
