"""The rows of a training: batches in memory, and the scores and labels of held-out rows, without padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from metricfit import metrics
from metricfit._checks import check_number, check_shape
from metricfit.confusion import confusion_matrix
from metricfit.distributed import sum_over_processes, world_size
from metricfit.smoothing import Hard

Score = Callable[[Tensor, Tensor], float]  # scores (n, k) and labels (n,) of held-out rows to a number, larger is better
HeldOut = tuple[Any, Tensor] | Iterable[Any]  # features and labels, or batches of them

IGNORED = -100  # the label of padding for losses without an `ignore_index`, as in torch


class Batches:
    """Batches of tensors in memory, without the overhead of a ``DataLoader``, which dominates tiny steps.

    Each iteration is one epoch: all rows in a new random order, or ``steps`` batches from successive random orders.

    Parameters
    ----------
    *tensors : Tensor
        Features, labels and optional weights, with the same number of rows.
    size : int
        Rows per batch. Without ``steps``, the batches of an epoch have about this size, none much smaller.
    steps : int, default=None
        Batches per epoch, each of ``size`` different rows (all rows if there are fewer). None means every row once.
    seed : int, default=0
        Random seed of the order.

    Examples
    --------
    >>> import torch
    >>> from metricfit.training import Batches
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
        """State of the random generator.

        Returns
        -------
        dict
            The state.
        """
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the random generator.

        Parameters
        ----------
        state : dict
            What :meth:`state_dict` returned.
        """
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


def held_out_batches(held_out: HeldOut) -> Iterable[Any]:
    """Batches that can be iterated over more than once; a pair of features and labels is one batch."""
    if isinstance(held_out, tuple | list) and len(held_out) == 2 and isinstance(held_out[1], Tensor):
        return [held_out]
    if isinstance(held_out, Iterator):
        raise TypeError("`held_out` should be iterable more than once, got an iterator. Try `list(held_out)`.")
    return held_out


def collect_rows(batches: Iterable[Any], scores_of: Callable[[Any], Tensor], ignore_index: int) -> tuple[Tensor, Tensor]:
    """The scores (n, k) and labels (n,) of all batches; of each batch only these are kept."""
    parts = []
    for batch in batches:
        features, labels, *_ = batch  # weights are of training
        parts.append(used_rows(scores_of(features), labels, ignore_index))
    if not parts:
        raise ValueError("`held_out` should have at least one batch, got none.")
    if len(parts) == 1:
        return parts[0]
    scores, labels = zip(*parts, strict=True)
    return torch.cat(scores), torch.cat(labels)


def used_rows(scores: Tensor, labels: Tensor, ignore_index: int) -> tuple[Tensor, Tensor]:
    """One row per label that is not ``ignore_index``, of (n, k) or (n, k, d1, ...) scores; other layouts are unchanged.

    >>> scores, labels = used_rows(torch.zeros(2, 5, 3), torch.tensor([[0, 4, -100], [1, -100, -100]]), -100)
    >>> scores.shape, labels
    (torch.Size([3, 5]), tensor([0, 4, 1]))
    """
    if scores.ndim < 2 or labels.shape != scores.shape[:1] + scores.shape[2:]:
        return scores, labels
    if scores.ndim > 2:
        scores, labels = scores.movedim(1, -1).reshape(-1, scores.shape[1]), labels.reshape(-1)
    used = labels != ignore_index
    return (scores, labels) if bool(used.all()) else (scores[used], labels[used])


def count_rows(labels: Tensor, ignore_index: int) -> Tensor | int:
    """The number of labels that are not ``ignore_index``; the number of rows if they are class probabilities."""
    if labels.is_floating_point():
        return len(labels)
    count = (labels != ignore_index).sum()
    return int(count) if count.is_cpu else count  # reading it from a GPU would wait for all work there


def score_function(metric: metrics.Metric) -> Score:
    """A function for the metric of the predicted classes, over the rows of all processes."""

    def score(scores: Tensor, labels: Tensor) -> float:
        matrix = confusion_matrix(Hard().assign(scores.double()), labels)
        return float(metric(sum_over_processes(matrix) if world_size() > 1 else matrix))

    return score
