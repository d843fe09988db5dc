"""What the processes of a training tell each other: where they are, their means, and what only one of them has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from metricfit.distributed import gather_over_processes, sum_over_processes
from metricfit.training._batches import count_batches
from metricfit.training._fabric import Fabric

if TYPE_CHECKING:
    from metricfit.training._trainer import Trainer

LOADS, TRAINS = 0, 1  # what a process is about to do
UNKNOWN = -1  # steps of batches without a length


def check_loading(fabric: Fabric) -> None:
    """Raise a ValueError in every process unless all of them load a checkpoint."""
    if fabric.world_size > 1:
        _check_same_work(_gather(fabric, LOADS, 0, 0))


def check_start(trainer: Trainer, batches: Any) -> bool:
    """Raise a ValueError in every process if one of them would wait for others that do not come.

    Returns whether all processes are known to have the same number of steps in an epoch.
    """
    if trainer.fabric.world_size == 1:
        return True
    n_batches = count_batches(batches)
    n_steps = UNKNOWN if n_batches is None else math.ceil(n_batches / trainer.accumulate)
    rows = _gather(trainer.fabric, TRAINS, trainer.step, n_steps)
    _check_same_work(rows)
    _, steps, lengths = zip(*rows, strict=True)
    if differing := _differing(steps):
        raise ValueError(f"All processes should be at the same step, got {differing}. Load the same checkpoint in all.")
    if UNKNOWN in lengths:
        return False
    if differing := _differing(lengths):
        raise ValueError(
            f"`batches` should give every process the same number of steps per epoch, got {differing} "
            f"(accumulate={trainer.accumulate}). Try `Batches(..., steps=N)`, or leave out the last batches."
        )
    return True


def in_step(fabric: Fabric, groups: Iterator[Any]) -> Iterator[Any]:
    """The groups of batches of this process; a ValueError in every process if only some of them have a next one."""
    n_steps = 0  # in this epoch, or in the rest of one
    while True:
        group = next(groups, None)
        n_with_more = sum(has_one for (has_one,) in _gather(fabric, int(group is not None)))
        if not n_with_more:
            return
        if n_with_more < fabric.world_size:
            raise ValueError(
                f"`batches` should give every process the same number of steps per epoch, but after {n_steps} of them only "
                f"{n_with_more} of {fabric.world_size} processes have more. Leave out the last batches there."
            )
        n_steps += 1
        yield group


def sums_over_processes(fabric: Fabric, *values: float) -> tuple[float, ...]:
    """The sum of each value over all processes."""
    if fabric.world_size == 1:
        return values
    return tuple(sum_over_processes(torch.tensor(values, dtype=torch.float64, device=fabric.device)).tolist())


def gather_bytes(fabric: Fabric, content: bytes) -> list[bytes]:
    """What each process has, in all of them."""
    sizes = [size for (size,) in _gather(fabric, len(content))]
    padded = torch.zeros(max(sizes), dtype=torch.uint8)
    padded[: len(content)] = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    rows = gather_over_processes(padded.to(fabric.device)).cpu()
    return [row[:size].numpy().tobytes() for row, size in zip(rows, sizes, strict=True)]


def _check_same_work(rows: list[list[int]]) -> None:
    works = [row[0] for row in rows]
    if len({*works}) > 1:
        raise ValueError(
            f"All processes should load the checkpoint, or none: process {works.index(LOADS)} loads one, process "
            f"{works.index(TRAINS)} trains without it. The file should be on a disk that all processes see."
        )


def _differing(numbers: tuple[int, ...]) -> str:
    """Two processes with different numbers, in words; empty if there are none."""
    other = next((place for place, number in enumerate(numbers) if number != numbers[0]), None)
    return "" if other is None else f"{numbers[0]} in process 0 and {numbers[other]} in process {other}"


def _gather(fabric: Fabric, *numbers: int) -> list[list[int]]:
    """The numbers of all processes, a row for each."""
    mine = torch.tensor(numbers, dtype=torch.int64, device=fabric.device)
    return gather_over_processes(mine).tolist()
