"""A metric for given classes: its average and its positive class, checked."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from metricfit._checks import check_option, did_you_mean
from metricfit.metrics._averaged import Averaged
from metricfit.metrics._base import Custom, Metric
from metricfit.metrics._registry import get


def resolve_metric(metric: Any, average: str | None, pos_label: Any, classes: NDArray[Any]) -> Metric:
    """The metric with its average and its positive class, checked against the classes of the data."""
    if average is not None:
        check_option(average, "average", ("binary", "macro", "micro", "weighted"))
        if isinstance(metric, str):
            metric = metric if average == "binary" else f"{metric}_{average}"
        elif isinstance(metric, Averaged):
            metric = dataclasses.replace(metric, average=average)  # type: ignore[type-var]
    found = get(metric)
    if isinstance(found, Custom):
        probe = torch.ones(len(classes), len(classes), dtype=torch.float64, requires_grad=True)
        if not found(probe).requires_grad:
            raise ValueError("`metric` should be a differentiable function of the matrix: write it with torch's operations.")
    if pos_label is not None:
        matches = np.flatnonzero(classes == pos_label)
        if len(matches) != 1:
            near = did_you_mean(pos_label, map(str, classes))
            raise ValueError(f"`pos_label` should be one of {classes.tolist()}, got {pos_label!r}.{near}")
        if isinstance(found, Averaged) and len(classes) == 2:
            found = dataclasses.replace(found, positive=int(matches[0]))  # type: ignore[type-var]
    try:
        found.check_classes(len(classes))
    except ValueError as error:
        hint = f" There are {len(classes)} classes in y; try average='macro'." if isinstance(metric, str) else ""
        raise ValueError(f"`metric` {metric!r} does not fit the data: {error}{hint}") from error
    return found
