"""Rows that a rule is fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metricfit._typing import Floats, Ints
from metricfit.decisions._hard import hard_confusion

if TYPE_CHECKING:
    from metricfit.decisions._row_costs import RowCosts

FOLDS = 5  # parts of the rows, each decided by a rule of the others


@dataclass(frozen=True)
class Rows:
    """Scores (n, k), labels as columns, weights, groups of rows that were drawn together, and the costs of their answers."""

    scores: Floats
    labels: Ints
    weight: Floats
    groups: Ints | None = None
    costs: RowCosts | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        return self.scores.shape[1]

    @property
    def are_independent(self) -> bool:
        """Whether every row is a draw of its own, so that counts are binomial."""
        return self.groups is None and bool((self.weight == 1.0).all())

    def take(self, index: Ints | NDArray[np.bool_]) -> Rows:
        groups = None if self.groups is None else self.groups[index]
        costs = None if self.costs is None else self.costs.take(index)
        return Rows(self.scores[index], self.labels[index], self.weight[index], groups, costs)

    def thinned(self, most: int, among: Ints | None = None) -> Rows:
        """At most so many of the rows, or of those ``among`` them, with weights that make up for it, and nothing else."""
        among = np.arange(len(self)) if among is None else among
        kept, weight = thin_rows(self.labels[among], self.weight[among], self.n_classes, most)
        return Rows(self.scores[among[kept]], self.labels[among[kept]], weight)

    def folds(self, n_folds: int = FOLDS, least: int = 2 * FOLDS) -> list[NDArray[np.bool_]]:
        """Parts of the rows, groups whole; none if a class has fewer than ``least`` rows."""
        fold: Ints = (rank_in_class(self.labels) if self.groups is None else self.groups) % n_folds
        counts = np.bincount(self.labels)
        if counts[counts > 0].min() < least or len(np.unique(fold)) < n_folds:
            return []
        return [fold == number for number in range(n_folds)]

    def confusion(self, predicted: Ints) -> Floats:
        return hard_confusion(predicted, self.labels, self.weight, self.n_classes)

    def sums_by_draw(self, values: Floats) -> Floats:
        return sums_by_draw(values, self.groups)


def thin_rows(labels: Ints, weight: Floats, n_classes: int, most: int) -> tuple[Ints, Floats]:
    """At most ``most`` rows: all of a small class, every second, third ... of a large one, and weights that make up for it.

    More classes than ``most`` keep a row each.
    """
    step = -(-np.bincount(labels, minlength=n_classes) // max(most // max(n_classes, 1), 1))
    kept = [np.flatnonzero(labels == label)[:: step[label]] for label in np.flatnonzero(step)]
    rows = np.concatenate([*kept, np.empty(0, np.int64)])
    return rows, weight[rows] * step[labels[rows]]


def rank_in_class(labels: Ints) -> Ints:
    """How many rows of its class come before each row.

    >>> rank_in_class(np.array([0, 1, 0, 0, 1])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(labels, kind="stable")
    first = np.append(0, np.cumsum(np.bincount(labels)))
    rank = np.empty(len(labels), np.int64)
    rank[order] = np.arange(len(labels)) - first[labels[order]]
    return rank


def sums_by_draw(values: Floats, groups: Ints | None) -> Floats:
    """Sums of values (n,) over rows that were drawn together: those of a group, or each row alone."""
    return values if groups is None else np.bincount(groups, values).astype(np.float64)
