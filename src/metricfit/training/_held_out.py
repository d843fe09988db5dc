"""Held-out data, from one pair of tensors or a loader, as rows of scores and labels without padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from metricfit import metrics
from metricfit.confusion import confusion_matrix
from metricfit.distributed import sum_over_processes, world_size
from metricfit.smoothing import Hard

Score = Callable[[Tensor, Tensor], float]  # scores (n, k) and labels (n,) of held-out rows to a number, larger is better
HeldOut = tuple[Any, Tensor] | Iterable[Any]  # features and labels, or batches of them

IGNORED = -100  # the label of padding for losses without an `ignore_index`, as in torch


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
