"""Rows that equal an earlier row, or a row of another table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from metricfit.estimators import TEXT
from metricfit.profile._column import TableColumn
from metricfit.profile._identity import find_identity

BY_CHANCE = 0.5  # share of the equal pairs that independent columns would have
STANDARD_ERRORS = 6.0  # more than three, because equal rows are shared together
SAMPLE_ROWS = 5000  # in which the equal values of a column are counted


@dataclass(frozen=True)
class Copies:
    """Rows that equal an earlier row."""

    number: int
    contradictory: int  # with another class than the first of the equal rows
    by_chance: bool  # whether independent columns with as few values would have as many


class RowGroups:
    """Groups of equal rows, by the columns added so far."""

    def __init__(self, n_rows: int) -> None:
        self.codes = np.zeros(n_rows, np.int64)  # the group of each row
        self.n_groups = min(1, n_rows)
        self.sample = np.sort(np.random.default_rng(0).permutation(n_rows)[:SAMPLE_ROWS])
        self.chance = 1.0  # that two rows are equal, if columns are independent

    def add(self, column: TableColumn) -> None:
        if self.n_groups == len(self.codes):  # all rows differ already
            return
        if column.kind == TEXT:  # which does not repeat by chance
            self.chance = 0.0
        self.chance *= _equal_pairs(column.codes[self.sample]) / max(1.0, _pairs(len(self.sample)))
        both = pa.array(self.codes * (column.n_distinct + 1) + column.codes).dictionary_encode()
        self.codes, self.n_groups = both.indices.to_numpy().astype(np.int64), len(both.dictionary)

    def copies(self, classes: NDArray[np.int64]) -> Copies:
        _, first, inverse = np.unique(self.codes, return_index=True, return_inverse=True)
        other = classes[first[inverse]] != classes
        by_chance = self.chance * _pairs(len(classes)) >= BY_CHANCE * _equal_pairs(self.codes)
        return Copies(len(classes) - len(first), int(other.sum()), by_chance)


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Rows of a test set that are rows of the training table."""

    rows: NDArray[np.bool_]  # all features and the label are equal
    n_other_label: int  # further rows with equal features
    by_chance: bool  # whether training rows repeat as often among themselves, as where columns have few values


def find_shared(features: pa.Table, labels: NDArray[Any], test: pa.Table, test_labels: NDArray[Any]) -> SharedRows:
    """Compare the rows of two tables with the same columns. Columns that identify a row do not count.

    >>> train, test = pa.table({"a": [1.5, 2.5], "b": [3.5, 4.5]}), pa.table({"a": [2.5, 2.5, 9.5], "b": [4.5, 4.5, 4.5]})
    >>> shared = find_shared(train, np.array([0, 1]), test, np.array([1, 0, 1]))
    >>> shared.rows.tolist(), shared.n_other_label
    ([True, False, False], 1)
    """
    n_train, groups = len(labels), RowGroups(len(labels) + len(test_labels))
    for index, name in enumerate(features.column_names):
        train = features.column(index)
        if not find_identity(TableColumn.of(name, train), is_first=index == 0).is_row:
            both = pa.chunked_array([*train.chunks, *test.column(index).cast(train.type, safe=False).chunks], train.type)
            groups.add(TableColumn.of(name, both))
    alike = np.isin(groups.codes[n_train:], groups.codes[:n_train])
    groups.add(TableColumn.of("label", pa.chunked_array([np.append(labels, test_labels).astype(str)])))
    rows = np.isin(groups.codes[n_train:], groups.codes[:n_train])
    _, inverse, counts = np.unique(groups.codes[:n_train], return_inverse=True, return_counts=True)
    repeated = float((counts[inverse] > 1).mean())  # the share expected if both tables come from one source
    spread = (repeated * (1.0 - repeated) * (1.0 / n_train + 1.0 / len(rows))) ** 0.5
    return SharedRows(rows, int((alike & ~rows).sum()), bool(rows.mean() <= repeated + STANDARD_ERRORS * spread))


def _pairs(n: Any) -> Any:
    return n * (n - 1.0) / 2.0


def _equal_pairs(codes: NDArray[np.int64]) -> float:
    return float(_pairs(np.unique(codes, return_counts=True)[1]).sum())
