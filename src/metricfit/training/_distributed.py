"""Communication between the processes of a training."""

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

__all__ = ["Fabric", "check_same_call", "gather", "in_step", "sums_over_processes"]


def gather(fabric: Fabric, value: Any) -> list[Any]:
    """The values of all processes, by rank."""
    if fabric.world_size == 1:
        return [value]
    values = [None] * fabric.world_size
    dist.all_gather_object(values, value)
    return values


def sums_over_processes(fabric: Fabric, *values: float) -> tuple[float, ...]:
    if fabric.world_size == 1:
        return values
    return tuple(sum_over_processes(torch.tensor(values, dtype=torch.float64, device=fabric.device)).tolist())


def check_same_call(fabric: Fabric, call: str) -> None:
    """Raise a ValueError in every process unless all make the same call; they would wait for each other in vain."""
    calls = gather(fabric, call)
    if len({*calls}) > 1:
        raise ValueError(
            f"All processes should make the same call, got {_by_rank(calls)}. Load the same checkpoint in all of them, from a "
            "disk that all can read."
        )


def in_step(fabric: Fabric, groups: Iterator[Any], n_steps: int | None) -> Iterator[Any]:
    """The groups of batches of an epoch. If some processes have more than others, all raise a ValueError instead of waiting.

    ``n_steps`` is the number of groups in a whole epoch. Processes that do not know it agree before each step.
    """
    if fabric.world_size == 1:
        yield from groups
        return
    lengths = gather(fabric, n_steps)
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
        n_ready = sum(gather(fabric, group is not None))
        if n_ready == 0:
            return
        if n_ready < fabric.world_size:
            raise ValueError(
                f"`batches` should give every process the same number of steps per epoch, but after {n_done} of them only "
                f"{n_ready} of {fabric.world_size} processes have more. Leave out the last batches there."
            )
        yield group


def _by_rank(values: list[Any]) -> str:
    return ", ".join(f"{value} in process {rank}" for rank, value in enumerate(values))
