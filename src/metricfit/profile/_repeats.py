"""Repeated subjects under any column name: rows that share a value are alike, rows with the next value are not.

Two rows are close in a category if they are equal, and in a number if their ranks are near. The closeness of a column is 0
for random pairs and 1 for equal values. Rows with neighbouring values of a measurement, such as an age, are close as well, but
rows with neighbouring IDs are not. So rows of one value are compared with rows of neighbouring values. Adjacent rows of the
file are compared in the same way with rows some distance apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit.estimators import CATEGORIES, TEXT
from metricfit.profile._column import TableColumn

CLOSE = 0.25  # mean closeness from which rows of one value are alike
CLOSE_WITH_TARGET, TARGET_CLOSE = 0.15, 0.4  # less is enough if the target agrees, too
CLOSE_IN_ORDER = 0.5  # for adjacent rows; a grid of all combinations reaches 0.35
MIN_VALUES, MIN_ROWS_PER_VALUE = 20, 2.0  # of a column
LARGEST_VALUE = 0.2  # share of rows of the most frequent value
MIN_COLUMNS = 3
MOST_COLUMNS, MOST_CANDIDATES = 30, 50
N_PAIRS, FIRST_PAIRS, FIRST_COLUMNS = 1000, 250, 8  # in all, and in a first quick test
MOST_ROWS = 100_000  # sorted by a column; larger tables use a range of its values
LAG = 25  # rows between two that are not adjacent

Rows = NDArray[np.int64]
Pairs = tuple[Rows, Rows, Rows]  # a row, one with the same value, and one with a neighbouring value


@dataclass(frozen=True)
class Repeats:
    """How much closer rows of one value are than rows of neighbouring values; ``name`` is empty for adjacent rows."""

    name: str
    n_values: int
    closeness: float  # mean over the columns
    target: float  # closeness of the target
    target_agrees: float  # share of pairs with the same target
    by_chance: float  # the same for random pairs

    @property
    def is_found(self) -> bool:
        if not self.name:
            return self.closeness >= CLOSE_IN_ORDER
        return self.closeness >= CLOSE or (self.closeness >= CLOSE_WITH_TARGET and self.target >= TARGET_CLOSE)


def find_repeats(columns: Sequence[TableColumn], classes: NDArray[np.int64]) -> Repeats | None:
    """The column that names the subject of a row; else adjacent rows, if they are alike; else None."""
    compared = [column for column in columns if column.kind != TEXT and column.n_distinct > 1]
    if len(compared) <= MIN_COLUMNS:
        return None
    rng = np.random.default_rng(0)
    candidates = [column for column in columns if _may_repeat(column)][:MOST_CANDIDATES]
    found = [one for column in candidates if (one := _compare(column, compared, classes, rng)) is not None]
    if found:
        return max(found, key=lambda one: one.closeness + max(0.0, one.target))
    return _compare(None, compared, classes, rng)


def _may_repeat(column: TableColumn) -> bool:
    if not (column.is_whole or (column.is_text and column.kind == CATEGORIES)):
        return False
    if not MIN_VALUES <= column.n_distinct <= column.n_known / MIN_ROWS_PER_VALUE:
        return False
    return bool(column.counts.max() <= LARGEST_VALUE * column.n_known)


def _compare(
    column: TableColumn | None, compared: Sequence[TableColumn], classes: NDArray[np.int64], rng: np.random.Generator
) -> Repeats | None:
    """Compare a few pairs and columns, then more; None if the rows are not alike."""
    others = [one for one in compared if one is not column]
    pairs = _lagged_pairs(len(classes), rng) if column is None else _pairs(column, rng)
    if pairs is None:
        return None
    name, n_values = ("", 0) if column is None else (column.name, column.n_distinct)
    for n_columns, n_pairs, enough in ((FIRST_COLUMNS, FIRST_PAIRS, 0.75), (MOST_COLUMNS, N_PAIRS, 1.0)):
        chosen = [others[index] for index in np.unique(np.linspace(0, len(others) - 1, n_columns).astype(int))]
        rows = rng.permutation(len(pairs[0]))[:n_pairs]
        first, same, near = (part[rows] for part in pairs)
        chance = rng.permutation(len(rows))
        found = np.array([_closeness(one, first, same, near, chance) for one in chosen])
        if found.mean() < enough * CLOSE_WITH_TARGET:
            return None
    distances = _mean_distances(classes[first], classes[same], classes[near], chance, are_equal=True)
    repeats = Repeats(name, n_values, float(found.mean()), _excess(*distances), 1.0 - distances[0], 1.0 - distances[2])
    return repeats if repeats.is_found else None


def _pairs(column: TableColumn, rng: np.random.Generator) -> Pairs | None:
    """Rows that share a value with the next row in the order of the column, that row, and one with a neighbouring value."""
    rows = np.flatnonzero(~column.is_missing)
    keys = column.codes if column.is_text else np.asarray(column.values.to_numpy(zero_copy_only=False))
    if len(rows) > MOST_ROWS:
        sample = np.sort(keys[rng.choice(rows, MOST_ROWS // 10)])
        width = len(sample) * MOST_ROWS // len(rows)
        start = int(rng.integers(len(sample) - width))
        rows = rows[(keys[rows] >= sample[start]) & (keys[rows] <= sample[start + width])]
    rows = rng.permutation(rows)
    rows = rows[np.argsort(keys[rows], kind="stable")]
    borders = np.flatnonzero(np.diff(keys[rows])) + 1
    if not len(borders):
        return None
    starts, ends = np.append(0, borders), np.append(borders, len(rows))
    value = np.repeat(np.arange(len(starts)), ends - starts)
    followed = np.flatnonzero(value[:-1] == value[1:])
    near = np.where(value[followed] < len(starts) - 1, value[followed] + 1, value[followed] - 1)
    partner = (starts[near] + rng.random(len(near)) * (ends[near] - starts[near])).astype(np.int64)
    return rows[followed], rows[followed + 1], rows[partner]


def _lagged_pairs(n_rows: int, rng: np.random.Generator) -> Pairs | None:
    """Rows, the next row in the file, and a row some distance away."""
    if n_rows < 4 * LAG:
        return None
    rows = rng.integers(n_rows - LAG, size=min(n_rows, N_PAIRS))
    return rows, rows + 1, rows + LAG


def _closeness(column: TableColumn, first: Rows, same: Rows, near: Rows, chance: Rows) -> float:
    ranks = column.ranks(np.concatenate([first, same, near])) + 1
    counts = np.bincount(ranks)
    are_equal = column.kind == CATEGORIES
    values = ranks if are_equal else (np.cumsum(counts) - 0.5 * counts)[ranks]
    one, other, neighbour = np.split(values, 3)
    return _excess(*_mean_distances(one, other, neighbour, chance, are_equal))


def _mean_distances(
    first: NDArray[Any], same: NDArray[Any], near: NDArray[Any], chance: Rows, are_equal: bool
) -> tuple[float, float, float]:
    """Mean distances of rows of one value, of neighbouring values, and of random pairs. Categories are equal or not."""
    pairs = [first != other if are_equal else np.abs(first - other) for other in (same, near, same[chance])]
    one_value, neighbours, random = (float(distances.mean()) for distances in pairs)
    return one_value, neighbours, random


def _excess(same: float, near: float, chance: float) -> float:
    """How much smaller a distance is between rows of one value than of neighbouring values, from 0 to 1."""
    return max(0.0, (min(near, chance) - same) / chance) if chance > 0.0 else 0.0
