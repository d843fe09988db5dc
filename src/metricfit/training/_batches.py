"""Batches of tensors in memory, for thousands of tiny steps, where the overhead of a ``DataLoader`` would dominate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from metricfit._checks import check_number, check_shape


class Batches:
    """Each iteration is one epoch: all rows in a new random order, or ``steps`` batches from successive random orders.

    Args:
        tensors: features, labels and optional weights, with the same number of rows.
        size: rows per batch. Without ``steps``, the batches of an epoch have about this size, none much smaller.
        steps: batches per epoch, each of ``size`` different rows (all rows if there are fewer); None means every row once.
        seed: random seed of the order.

    >>> batches = Batches(torch.arange(5.0)[:, None], torch.arange(5), size=2, seed=0)
    >>> len(batches), sorted(label.item() for _, labels in batches for label in labels)
    (2, [0, 1, 2, 3, 4])
    """

    def __init__(self, *tensors: Tensor, size: int, steps: int | None = None, seed: int = 0) -> None:
        check_number(size, "size", 1)
        if steps is not None:
            check_number(steps, "steps", 1)
        n_rows = {len(tensor) for tensor in tensors}
        if len(n_rows) != 1:
            raise ValueError(f"`tensors` should have the same number of rows, got {sorted(n_rows)}.")
        self.tensors, self.size, self.steps = tensors, size, steps
        (self.n_rows,) = n_rows
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return self.steps or max(1, round(self.n_rows / self.size))

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        if self.steps is not None and self.n_rows <= self.size:
            for _ in range(self.steps):
                yield self.tensors
            return
        for part in self._order().chunk(len(self)) if self.steps is None else islice(self._parts(), self.steps):
            yield tuple(tensor[part] for tensor in self.tensors)

    def _parts(self) -> Iterator[Tensor]:
        while True:
            yield from self._order()[: self.n_rows - self.n_rows % self.size].split(self.size)

    def _order(self) -> Tensor:
        return torch.randperm(self.n_rows, generator=self.generator)

    def state_dict(self) -> dict[str, Tensor]:
        """The state of the random generator."""
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        check_shape(state["generator"], self.generator.get_state().shape, "generator")
        self.generator.set_state(state["generator"])


def count_batches(batches: Iterable[Any]) -> int | None:
    """The number of batches in an epoch; None if it is not known, as for a loader of rows without a number.

    >>> count_batches([1, 2]), count_batches(iter([1, 2]))
    (2, None)
    """
    try:
        return len(batches)  # type: ignore[arg-type]
    except TypeError:
        return None
