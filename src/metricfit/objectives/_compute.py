"""The path from scores and targets to a loss, shared by the modules and :mod:`metricfit.functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from torch import Tensor

from metricfit._checks import check_number, check_option
from metricfit.objectives._fused import fused_loss
from metricfit.objectives._objective import Objective, PerRow
from metricfit.objectives._rows import RowOptions, as_rows

REDUCTIONS = ("mean", "sum", "none")
Combine = Callable[[Objective, Tensor], Tensor]


def check_options(weight: Any, ignore_index: Any, reduction: Any, label_smoothing: Any) -> None:
    """Check the options of ``nn.CrossEntropyLoss``: a module calls this once, a function at every call."""
    if weight is not None and not isinstance(weight, Tensor):
        raise TypeError(f"`weight` should be a torch.Tensor with one entry per class, got {weight!r}.")
    if not isinstance(ignore_index, int):
        raise TypeError(f"`ignore_index` should be an integer, got {ignore_index!r}.")
    check_option(reduction, "reduction", REDUCTIONS)
    check_number(label_smoothing, "label_smoothing", 0.0, 1.0)


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
    loss = reduce_statistics(objective, statistics if combine is None else combine(objective, statistics), reduction)
    return rows.finite(loss)


def reduce_statistics(objective: Objective, statistics: Tensor, reduction: str) -> Tensor:
    """The loss as a mean or as a sum over rows."""
    return objective.total(statistics) if reduction == "sum" else objective.value(statistics)
