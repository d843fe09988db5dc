"""Rows that equal an earlier row, or a row of another table, found by a hash of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from metricfit.estimators import TEXT
from metricfit.profile._column import TableColumn
from metricfit.profile._identity import find_identity

BY_CHANCE = 0.5  # share of the equal pairs that is expected of independent columns
STANDARD_ERRORS = 6.0  # more than three, because equal rows are shared together
SAMPLE_ROWS = 5000  # in which a column's equal values are counted
_MISSING = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # odd numbers, of splitmix64
_SHIFT = np.uint64(31)


@dataclass(frozen=True)
class Copies:
    """Rows that equal an earlier row."""

    number: int
    contradictory: int  # with another class than the first of the equal rows
    by_chance: bool  # whether columns with so few values have as many if they are drawn independently


class RowHashes:
    """64 bits per row, to which columns are added one by one.

    A million different rows have no equal hashes, up to a chance of 1 in 30 million.
    """

    def __init__(self, n_rows: int) -> None:
        self.bits = np.zeros(n_rows, np.uint64)
        self.sample = np.sort(np.random.default_rng(0).permutation(n_rows)[:SAMPLE_ROWS])
        self.chance = 1.0  # that two rows are equal, if columns are independent

    def add(self, column: TableColumn) -> None:
        bits = _bits(column)
        if column.kind == TEXT:  # which does not repeat by chance
            self.chance = 0.0
        self.chance *= _equal_pairs(bits[self.sample]) / max(1.0, _pairs(len(self.sample)))
        self.bits += bits
        _mix(self.bits)

    def copies(self, classes: NDArray[np.int64]) -> Copies:
        _, first, inverse = np.unique(self.bits, return_index=True, return_inverse=True)
        other = classes[first[inverse]] != classes
        expected = self.chance * _pairs(len(classes))
        by_chance = expected >= BY_CHANCE * _equal_pairs(self.bits)
        return Copies(len(classes) - len(first), int(other.sum()), by_chance)


@dataclass(frozen=True, eq=False)
class Shared:
    """Rows of a test set that are rows of the training table."""

    rows: NDArray[np.bool_]  # all features and the label are equal
    n_other_label: int  # further rows with equal features
    by_chance: bool  # whether training rows repeat as often among themselves, as where columns have few values


def find_shared(features: pa.Table, labels: NDArray[Any], test: pa.Table, test_labels: NDArray[Any]) -> Shared:
    """Compare the rows of two tables with the same columns. Columns that name a row do not count.

    >>> train, test = pa.table({"a": [1.5, 2.5], "b": [3.5, 4.5]}), pa.table({"a": [2.5, 2.5, 9.5], "b": [4.5, 4.5, 4.5]})
    >>> shared = find_shared(train, np.array([0, 1]), test, np.array([1, 0, 1]))
    >>> shared.rows.tolist(), shared.n_other_label
    ([True, False, False], 1)
    """
    n_train, hashes = len(labels), RowHashes(len(labels) + len(test_labels))
    for place, name in enumerate(features.column_names):
        own = features.column(place)
        identity = find_identity(TableColumn.of(name, own), place == 0)
        if identity is None or identity.what == "group":
            both = pa.chunked_array([*own.chunks, *test.column(place).cast(own.type, safe=False).chunks], own.type)
            hashes.add(TableColumn.of(name, both))
    alike = np.isin(hashes.bits[n_train:], hashes.bits[:n_train])
    hashes.add(TableColumn.of("label", pa.chunked_array([np.append(labels, test_labels).astype(str)])))
    rows = np.isin(hashes.bits[n_train:], hashes.bits[:n_train])
    _, inverse, counts = np.unique(hashes.bits[:n_train], return_inverse=True, return_counts=True)
    repeated = float((counts[inverse] > 1).mean())  # so many test rows are shared if both tables are drawn alike
    spread = (repeated * (1.0 - repeated) * (1.0 / n_train + 1.0 / len(rows))) ** 0.5
    return Shared(rows, int((alike & ~rows).sum()), bool(rows.mean() <= repeated + STANDARD_ERRORS * spread))


def _pairs(n: Any) -> Any:
    return n * (n - 1.0) / 2.0


def _equal_pairs(values: NDArray[np.uint64]) -> float:
    return float(_pairs(np.unique(values, return_counts=True)[1]).sum())


def _bits(column: TableColumn) -> NDArray[np.uint64]:
    """64 bits that are equal where values are equal."""
    if column.is_text:
        return _mix(column.codes.astype(np.uint64))
    values = column.values
    if pa.types.is_floating(values.type):
        bits = (_filled(values.cast(pa.float64())) + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    elif pa.types.is_boolean(values.type):
        bits = _filled(values.cast(pa.int8())).astype(np.uint64)
    elif pa.types.is_integer(values.type):
        bits = _filled(values).astype(np.uint64)
    else:
        bits = column.codes.astype(np.uint64)
    _mix(bits)
    if column.n_missing:
        bits[column.is_missing] = _MISSING
    return bits


def _filled(values: pa.Array) -> NDArray[Any]:
    return np.array(pc.fill_null(values, 0).to_numpy(zero_copy_only=False))


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits, in place."""
    bits ^= bits >> _SHIFT
    bits *= _FIRST
    bits ^= bits >> _SHIFT
    bits *= _SECOND
    bits ^= bits >> _SHIFT
    return bits
