"""The base of all losses: the layouts, options and reductions of ``nn.CrossEntropyLoss``, as a function and as a module."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack

import torch
from torch import Tensor, nn

from metricfit._checks import check_flag, check_number, check_option
from metricfit._printable import did_you_mean
from metricfit.confusion import with_gradient_of
from metricfit.distributed import sum_over_processes, world_size
from metricfit.losses._fused import fused_loss
from metricfit.losses._layout import RowOptions
from metricfit.losses._objectives import Objective, PerRow
from metricfit.losses._rows import AnyRows, as_rows
from metricfit.numerics import safe_divide
from metricfit.scores import limit_gradient

REDUCTIONS = ("mean", "sum", "none")


class CrossEntropyOptions(TypedDict, total=False):
    """The options of ``nn.CrossEntropyLoss`` and ``nn.BCEWithLogitsLoss``, as documented in :class:`ClassificationLoss`."""

    weight: Tensor | None
    ignore_index: int
    reduction: str
    label_smoothing: float
    mode: str | None
    pos_weight: Tensor | None
    class_dim: int


class FunctionOptions(CrossEntropyOptions, total=False):
    """The options that the papers' losses take as functions."""

    sample_weight: Tensor | None


class LossOptions(CrossEntropyOptions, total=False):
    """The options that every module takes."""

    memory: float | None
    distributed: bool | None


def rows_for(
    objective: Objective,
    input: Tensor,
    target: Tensor,
    sample_weight: Tensor | None,
    scale: float | Tensor | None,
    options: RowOptions,
    only_ratios: bool = False,
) -> AnyRows:
    """The rows, with the groups that the objective asks for."""
    groups = {"by_label": objective.by_label, "by_image": objective.by_image}
    return as_rows(input, target, sample_weight, scale, options, only_ratios=only_ratios, **groups)


class ClassificationLoss(nn.Module, ABC):
    """Base class of the losses: an objective with the layouts, options and reduction of ``nn.CrossEntropyLoss``.

    Parameters
    ----------
    memory : float, default=None
        Factor in 0 ... 1 by which the running statistics shrink at each step. With a memory the loss is that of all recent
        batches together, linearised in the current batch, so small batches are as good as large ones for metrics that are not
        a mean over samples. A validation pass, in evaluation mode or under ``torch.no_grad()``, leaves it unchanged.
    distributed : bool, default=None
        Compute the loss over the batches of all processes. The gradient, averaged over processes as by
        ``DistributedDataParallel``, is then that of the joint batch. None means in training mode with gradients enabled, if
        there is a process group, so one process may validate alone.
    **options : dict
        The options below.

    Other Parameters
    ----------------
    mode : {"multiclass", "binary", "multilabel"}, default=None
        "multiclass" is for scores (n, k), (k,) or (n, k, d1, ...) with labels or class probabilities. "binary" is for one
        logit per row, (n,), (n, 1) or (N, 1, H, W), with targets of any dtype, 0 and 1 or a probability. "multilabel" is for
        logits (N, K, ...) with targets of the same shape: each of K labels is a problem of two classes. None takes one of the
        first two by the shapes, and raises an error for shapes that may be either.
    weight : Tensor of shape (k,), default=None
        One weight per class.
    pos_weight : Tensor of shape () or (K,), default=None
        For logits, how much a positive counts: one number, or one per label.
    ignore_index : int, default=-100
        Rows with this target are ignored.
    class_dim : int, default=1
        The dimension of the classes or labels: 1 as for images (N, C, H, W), or -1 as for tokens (N, L, C).
    reduction : {"mean", "sum", "none"}, default="mean"
        "sum" is the mean times the sum of the rows' weights. "none" is for a loss that is a mean over samples.
    label_smoothing : float, default=0.0
        Share of each label that is distributed over all classes.

    Examples
    --------
    Scores of tokens, of which the second is padding:

    >>> import torch
    >>> from metricfit import ExpectedErrorLoss
    >>> loss = ExpectedErrorLoss(class_dim=-1, ignore_index=-100)
    >>> loss(torch.tensor([[[0.0, 0.0], [5.0, 0.0]]]), torch.tensor([[1, -100]]))
    tensor(0.5000)
    """

    weight: Tensor | None
    pos_weight: Tensor | None
    running: Tensor | None

    def __init__(
        self, *, memory: float | None = None, distributed: bool | None = None, **options: Unpack[CrossEntropyOptions]
    ) -> None:
        super().__init__()
        _check_names(type(self), options)
        self.reduction = check_option(options.pop("reduction", "mean"), "reduction", REDUCTIONS)
        rows = RowOptions(**options)  # type: ignore[misc]
        self.register_buffer("weight", rows.weight)
        self.register_buffer("pos_weight", rows.pos_weight)
        self.running = None  # not a buffer: it has no shape before the first batch, and averages of models would fail on it
        self.ignore_index, self.label_smoothing = rows.ignore_index, rows.label_smoothing
        self.mode, self.class_dim = rows.mode, rows.class_dim
        self.memory = None if memory is None else check_number(memory, "memory", 0.0, 1.0)
        if memory is not None and self.reduction != "mean":
            raise ValueError(f'`reduction` should be "mean" with a memory, got {self.reduction!r}.')
        self.distributed = None if distributed is None else check_flag(distributed, "distributed")

    @abstractmethod
    def objective(self) -> Objective:
        """Objective that this module minimises.

        Returns
        -------
        Objective
            The objective.
        """

    def forward(
        self, input: Tensor, target: Tensor, sample_weight: Tensor | None = None, scale: float | Tensor | None = None
    ) -> Tensor:
        """Compute the loss of raw scores.

        Parameters
        ----------
        input : Tensor of shape (n, k), (k,) or (n, k, d1, ...)
            The scores.
        target : Tensor of shape (n,), () or (n, d1, ...), or of the shape of ``input``
            Labels, or class probabilities.
        sample_weight : Tensor of the shape of the labels, default=None
            How much each row counts.
        scale : float or Tensor, default=None
            Overrides the width of the smoothing for this call.

        Returns
        -------
        Tensor
            A scalar, or one loss per row with ``reduction="none"``.
        """
        self._check_scale(scale)
        objective, options = self._kept()
        is_alone = self.memory is None and self.n_processes() == 1  # not joined with the statistics of other batches
        if is_alone and options.plain and sample_weight is None and self.reduction != "none":
            loss = fused_loss(objective, input, target, scale, options, self.reduction)
            if loss is not None:
                return loss
        only_ratios = is_alone and self.reduction == "mean"
        rows = rows_for(objective, input, target, sample_weight, scale, options, only_ratios)
        if self.reduction == "none":
            if not isinstance(objective, PerRow):
                raise ValueError(
                    '`reduction` should be "mean" or "sum" for a loss that is a function of the whole batch, got "none".'
                )
            return rows.restore(objective.losses(rows))
        if only_ratios:
            return rows.finite(objective.loss(rows))
        statistics = objective.statistics(rows)
        if not is_alone:
            statistics = self._combine(objective, statistics)
        return rows.finite(objective.total(statistics) if self.reduction == "sum" else objective.value(statistics))

    def statistics(
        self, input: Tensor, target: Tensor, sample_weight: Tensor | None = None, scale: float | Tensor | None = None
    ) -> Tensor:
        """Statistics of one batch; the loss of several batches is a function of their sum.

        Parameters
        ----------
        input, target, sample_weight, scale : Tensor or float
            As in :func:`metricfit.functional.metric_loss`.

        Returns
        -------
        Tensor
            The statistics.
        """
        self._check_scale(scale)
        objective, options = self._kept()
        return objective.statistics(rows_for(objective, input, target, sample_weight, scale, options))

    def _kept(self) -> tuple[Objective, RowOptions]:
        """Objective and options, built again only after an attribute has changed: building them is a tenth of a small step."""
        if torch.compiler.is_compiling():
            return self.objective(), self._row_options()
        kept = self.__dict__.get("_built")
        if kept is None:
            kept = self.__dict__["_built"] = self.objective(), self._row_options()
        return kept

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.pop("_built", None)
        super().__setattr__(name, value)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        self.running = None if self.running is None else fn(self.running)
        self.__dict__.pop("_built", None)  # its tensors move
        return super()._apply(fn, recurse)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_built"}

    def _row_options(self) -> RowOptions:
        return RowOptions(self.weight, self.ignore_index, self.label_smoothing, self.mode, self.pos_weight, self.class_dim)

    def forget(self) -> None:
        """Empty the memory."""
        self.running = None

    def _check_scale(self, scale: float | Tensor | None) -> None:
        """Raise an error if this loss has no width that ``scale`` could override."""

    def n_processes(self) -> int:
        """Number of processes whose batches enter the loss.

        Returns
        -------
        int
            The number.
        """
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

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self.running is not None:
            destination[prefix + "running"] = self.running

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        others = dict(state_dict)
        saved = others.pop(prefix + "running", None)
        self.running = None if saved is None else saved.clone()
        super()._load_from_state_dict(others, prefix, *args)


def _check_names(kind: type[ClassificationLoss], options: Mapping[str, Any]) -> None:
    """Raise a TypeError for an option that no loss has, with the closest one that this loss has."""
    for name in options.keys() - CrossEntropyOptions.__annotations__.keys():
        own = [known for known in inspect.signature(kind).parameters if known != "options"]
        near = did_you_mean(name, [*own, *LossOptions.__annotations__])
        raise TypeError(f"`{name}` is not an option of {kind.__name__}.{near}")


class LossWithoutWidth(ClassificationLoss):
    """Base class of the losses that have no smoothing and so no width."""

    def _check_scale(self, scale: float | Tensor | None) -> None:
        if scale is not None:
            raise ValueError(f"`scale` should be None: {type(self).__name__} has no smoothing, got {scale!r}.")


def compute_loss_func(loss: ClassificationLoss) -> Callable[..., Tensor]:
    """Adapt a loss to ``transformers.Trainer(compute_loss_func=...)``.

    With gradient accumulation the Trainer passes ``num_items_in_batch``, the number of labels of all micro-batches, and adds
    up the results. So the loss of a micro-batch is multiplied by its share of these labels, and the sum is the mean over all
    labels, or the mean of the metrics of the micro-batches. Token scores (N, L, C) need ``class_dim=-1`` in the loss.

    Parameters
    ----------
    loss : ClassificationLoss
        The loss.

    Returns
    -------
    callable
        A function of the model's outputs, the labels and ``num_items_in_batch``.

    Examples
    --------
    >>> import torch
    >>> from metricfit import LeakyExpectedErrorLoss
    >>> from metricfit.losses import compute_loss_func
    >>> compute = compute_loss_func(LeakyExpectedErrorLoss())
    >>> scores, labels = torch.zeros(2, 2), torch.tensor([0, 1])
    >>> compute({"logits": scores}, labels), compute({"logits": scores}, labels, num_items_in_batch=4)
    (tensor(0.5693), tensor(0.2847))
    """

    def compute(outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
        value = loss(outputs["logits"], labels)
        if num_items_in_batch is None:
            return value
        return value * ((labels != loss.ignore_index).sum() / num_items_in_batch)

    return compute
