"""Rows that equal an earlier row, found by a hash of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from metricfit.estimators._kinds import TEXT
from metricfit.profile._column import TableColumn

BY_CHANCE = 0.5  # share of the equal pairs that is expected of independent columns
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
