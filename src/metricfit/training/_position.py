"""Where a training is: in an epoch, and at a temperature of an annealing. Checkpoints contain both."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from metricfit.training._fabric import Fabric
from metricfit.training._state import UNBEATEN, State, check_count, check_names, check_random, check_value, is_value_of
from metricfit.training._step import Taken
from metricfit.training._together import sums_over_processes

NUMBERS = ("scale", "lr", "gradient_norm", "live")  # of the last step; NaN where there is none


@dataclass
class Epoch:
    """What an epoch has done so far, and the random numbers and the batches' state at its start."""

    total: Tensor  # of the losses of rows
    random: Tensor
    batches: State | None
    n_rows: Tensor | int = 0
    n_batches: int = 0
    last: dict[str, float] = field(default_factory=lambda: dict.fromkeys(NUMBERS, math.nan))

    def add(self, taken: Taken, n_rows: Tensor | int, scale: float | None, lr: float) -> None:
        self.total += taken.loss * n_rows
        self.n_rows += n_rows
        scale = math.nan if scale is None else scale
        self.last = dict(zip(NUMBERS, (scale, lr, taken.gradient_norm, taken.live), strict=True))

    def row(self, fabric: Fabric) -> dict[str, float]:
        """The mean over the rows of all processes, so that they choose and stop alike, and the numbers of the last step."""
        total, n_rows = sums_over_processes(fabric, float(self.total), float(self.n_rows))
        return {"surrogate": total / max(n_rows, 1.0), **self.last}

    def state_dict(self) -> State:
        """All but the state of the batches, which has its own place in a checkpoint."""
        counts = {"n_rows": int(self.n_rows), "n_batches": self.n_batches}
        return {"total": float(self.total), "random": self.random, **counts, **self.last}

    @classmethod
    def from_state_dict(cls, state: State, batches: State | None, device: torch.device) -> Epoch:
        total, last = torch.tensor(state["total"], device=device), {name: state[name] for name in NUMBERS}
        return cls(total, state["random"], batches, state["n_rows"], state["n_batches"], last)


@dataclass(frozen=True)
class Annealing:
    """The temperature that a training is at."""

    temperature: float
    without_gain: int  # successive temperatures before this one
    before: tuple[float, float]  # the best value when it began

    state_dict = asdict

    @classmethod
    def from_state_dict(cls, state: State) -> Annealing:
        return cls(state["temperature"], state["without_gain"], tuple(state["before"]))


def batches_state(batches: Any) -> State | None:
    """The state of batches that have one, as it is now; lists and loaders of torch have none."""
    return copy.deepcopy(batches.state_dict()) if hasattr(batches, "state_dict") else None


def begin_epoch(batches: Iterable[Any], device: torch.device) -> tuple[Epoch, Iterator[Any]]:
    """A new epoch and its batches."""
    return Epoch(torch.zeros((), device=device), torch.get_rng_state(), batches_state(batches)), iter(batches)


def remaining_batches(epoch: Epoch, batches: Iterable[Any]) -> Iterator[Any]:
    """The batches that are left to the epoch of a checkpoint; loaders draw their order by the random numbers at its start."""
    now = torch.get_rng_state()
    torch.set_rng_state(epoch.random)
    iterator = iter(batches)
    n_skipped = sum(1 for _ in islice(iterator, epoch.n_batches))
    torch.set_rng_state(now)
    if n_skipped < epoch.n_batches:
        raise ValueError(f"`batches` should be those of the checkpoint, {epoch.n_batches} or more, got {n_skipped}.")
    return iterator


def check_epoch(found: Any, n_batches: int | None) -> None:
    """Sums and counts that an epoch with so many batches can have."""
    where = "the unfinished epoch"
    check_names(found, {"total", "random", "n_rows", "n_batches", *NUMBERS}, where)
    check_random(found["random"])
    for name in ("n_rows", "n_batches"):
        check_count(found[name], name)
    for name in ("total", *NUMBERS):
        if type(found[name]) is not float:
            raise ValueError(f"{where} should have a float as {name!r}")
        if name in ("scale", "lr", "live") and (math.isinf(found[name]) or found[name] < 0.0):
            raise ValueError(f"{where} should have a finite {name!r} that is not negative, got {found[name]}")
    if n_batches is not None and found["n_batches"] > n_batches:
        raise ValueError(f"{where} has had {found['n_batches']} batches, and there are {n_batches} here")


def check_annealing(found: Any, history: list[State]) -> None:
    """A temperature, and a best value of the history."""
    where = "the annealing"
    check_names(found, {item.name for item in fields(Annealing)}, where)
    temperature = found["temperature"]
    if type(temperature) is not float or not 0.0 < temperature < math.inf:
        raise ValueError(f"{where} should have a temperature that is positive and finite")
    check_count(found["without_gain"], "without_gain")
    check_value(found["before"], "before")
    if tuple(found["before"]) != UNBEATEN and not is_value_of(found["before"], history):
        raise ValueError("'before' should be the value of a row of the history")
