"""The progress of an epoch: its sums so far, and the random state and the state of the batches at its start.

A checkpoint in the middle of an epoch keeps it, to draw the same batches again and skip those that are done.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from metricfit.training._distributed import Fabric, sums_over_processes
from metricfit.training._step import Step

State = dict[str, Any]

LAST = ("scale", "lr", "gradient_norm", "live")  # numbers of the last step; NaN where there is none


@dataclass
class Epoch:
    """The sums of an epoch so far, and the state at its start."""

    total: Tensor  # loss, summed over rows
    random: Tensor  # at the start, as is the next
    batches: State | None
    n_rows: Tensor | int = 0
    n_batches: int = 0
    last: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LAST, math.nan))

    @classmethod
    def begin(cls, batches: Any, device: torch.device) -> Epoch:
        return cls(torch.zeros((), device=device), torch.get_rng_state(), batches_state(batches))

    def add(self, step: Step, n_rows: Tensor | int, scale: float | None, lr: float) -> None:
        if isinstance(n_rows, Tensor):
            self.total += torch.where(n_rows > 0, step.loss * n_rows, 0.0)
        elif n_rows:  # the mean over no rows may be NaN
            self.total += step.loss * n_rows
        self.n_rows += n_rows
        scale = math.nan if scale is None else scale
        self.last = dict(zip(LAST, (scale, lr, step.gradient_norm, step.live), strict=True))

    def row(self, fabric: Fabric) -> dict[str, float]:
        """The mean loss over the rows of all processes, which have to agree on it, and the numbers of the last step."""
        total, n_rows = sums_over_processes(fabric, float(self.total), float(self.n_rows))
        return {"surrogate": total / max(n_rows, 1.0), **self.last}

    def remaining(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches that are left. Those that are done are drawn again, from the random state at the start, and skipped."""
        if not self.n_batches:
            return iter(batches)
        now = torch.get_rng_state()
        torch.set_rng_state(self.random)
        iterator = iter(batches)
        n_skipped = sum(1 for _ in islice(iterator, self.n_batches))
        torch.set_rng_state(now)
        if n_skipped < self.n_batches:
            raise ValueError(f"`batches` should be those of the checkpoint, at least {self.n_batches}, got {n_skipped}.")
        return iterator

    def state_dict(self) -> State:
        return {**vars(self), "total": float(self.total), "n_rows": int(self.n_rows)}

    @classmethod
    def from_state_dict(cls, state: State, device: torch.device) -> Epoch:
        return cls(**{**state, "total": torch.tensor(state["total"], device=device)})


def batches_state(batches: Any) -> State | None:
    """A copy of the state of batches that have one; lists and loaders of torch do not."""
    return copy.deepcopy(batches.state_dict()) if hasattr(batches, "state_dict") else None
