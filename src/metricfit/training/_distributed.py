"""What the processes of a training tell each other: their sums, and whether they take the same steps."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import count
from typing import Any

import torch
from torch import distributed as dist

from metricfit.distributed import sum_over_processes

with warnings.catch_warnings():  # its import adds filters of warnings
    from lightning_fabric import Fabric

__all__ = ["Fabric", "check_all_load", "gather", "in_step", "sums_over_processes"]

LOADS = "loads"


def gather(fabric: Fabric, value: Any) -> list[Any]:
    """The values of all processes, by rank."""
    if fabric.world_size == 1:
        return [value]
    values = [None] * fabric.world_size
    dist.all_gather_object(values, value)
    return values


def sums_over_processes(fabric: Fabric, *values: float) -> tuple[float, ...]:
    """The sum of each value over all processes."""
    if fabric.world_size == 1:
        return values
    return tuple(sum_over_processes(torch.tensor(values, dtype=torch.float64, device=fabric.device)).tolist())


def check_all_load(fabric: Fabric) -> None:
    """Raise a ValueError in every process unless all of them load a checkpoint."""
    _check_same_work(gather(fabric, LOADS))


def in_step(fabric: Fabric, groups: Iterator[Any], step: int, n_steps: int | None) -> Iterator[Any]:
    """The groups of batches of an epoch; a ValueError in every process if one of them would wait for the others in vain.

    ``n_steps`` is the number of groups in a whole epoch. Where a process does not know it, all exchange it before each step.
    """
    if fabric.world_size == 1:
        yield from groups
        return
    starts = gather(fabric, (step, n_steps))
    _check_same_work(starts)
    steps, lengths = zip(*starts, strict=True)
    if len({*steps}) > 1:
        raise ValueError(f"All processes should be at the same step, got {_by_rank(steps)}. Load the same checkpoint in all.")
    if None not in lengths:
        if len({*lengths}) > 1:
            raise ValueError(
                f"`batches` should give every process the same number of steps per epoch, got {_by_rank(lengths)}. "
                "Try `Batches(..., steps=N)`, or leave out the last batches."
            )
        yield from groups
        return
    for n_done in count():
        group = next(groups, None)
        have_more = gather(fabric, group is not None)
        if not any(have_more):
            return
        if not all(have_more):
            raise ValueError(
                f"`batches` should give every process the same number of steps per epoch, but after {n_done} of them only "
                f"{sum(have_more)} of {fabric.world_size} processes have more. Leave out the last batches there."
            )
        yield group


def _check_same_work(works: list[Any]) -> None:
    loads = [work == LOADS for work in works]
    if any(loads) and not all(loads):
        raise ValueError(
            f"All processes should load the checkpoint, or none: process {loads.index(True)} loads one, process "
            f"{loads.index(False)} trains without it. The file should be on a disk that all processes see."
        )


def _by_rank(numbers: tuple[int, ...]) -> str:
    return ", ".join(f"{number} in process {rank}" for rank, number in enumerate(numbers))
