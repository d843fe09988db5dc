"""A column of a table: missing values, distinct values, examples, and how the models use it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from metricfit._printable import printable, shorten
from metricfit._typing import Floats
from metricfit.data import TYPE_NAMES, Column, NumberStyle, decode, find_numbers, type_name
from metricfit.estimators import DATES, MAX_CATEGORIES, MIN_FREQUENCY, NUMBERS, TEXT, kind_of

N_EXAMPLES = 3
LONGEST_EXAMPLE = 20  # characters
FIRST_ROWS = 1000  # searched for examples and numbers before the whole column is
MOSTLY = 0.95  # share of numbers in a text column that gets a note
LARGEST_INTEGER = 2.0**53


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column of a table. ``values`` is one array, with null for NaN."""

    name: str
    source: pa.ChunkedArray  # as in the table
    values: pa.Array

    @classmethod
    def of(cls, name: str, source: pa.ChunkedArray) -> TableColumn:
        if pa.types.is_string(source.type) or pa.types.is_string_view(source.type):
            source = source.cast(pa.large_string())  # one array of strings may exceed 2 GB
        values = decode(source)
        array = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
        if pa.types.is_decimal(array.type):
            array = array.cast(pa.float64())
        if pa.types.is_floating(array.type):
            array = pc.add(pc.if_else(pc.is_nan(array), None, array), pa.scalar(0.0, array.type))  # -0.0 becomes 0.0
        return cls(name, source, array)

    @cached_property
    def kind(self) -> str:
        """How the models use the column: "numbers", "dates", "categories" or "text"."""
        return kind_of(nw.from_native(self.source, series_only=True))

    @cached_property
    def is_text(self) -> bool:
        return bool(pa.types.is_large_string(self.values.type))

    @property
    def n_missing(self) -> int:
        return int(self.values.null_count)

    @property
    def n_known(self) -> int:
        return len(self.values) - self.n_missing

    @cached_property
    def is_missing(self) -> NDArray[np.bool_]:
        return np.asarray(self.values.is_null().to_numpy(zero_copy_only=False), bool)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The index of each value among the distinct ones, in order of first occurrence; -1 where it is missing."""
        return _encode(self.values)[0]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of rows of each distinct value."""
        return np.bincount(self.codes[self.codes >= 0])

    @cached_property
    def n_distinct(self) -> int:
        is_number = pa.types.is_floating(self.values.type) or pa.types.is_integer(self.values.type)
        if is_number and self.n_known and "codes" not in self.__dict__:  # sorting is faster than hashing
            known = np.sort(self.values.drop_null().to_numpy(zero_copy_only=False))
            return int((known[1:] != known[:-1]).sum()) + 1
        return len(self.counts)

    @cached_property
    def is_whole(self) -> bool:
        """Whether all values are integers (as numbers, not as text)."""
        if pa.types.is_integer(self.values.type):
            return True
        if not pa.types.is_floating(self.values.type) or not self.n_known:
            return False
        ends = pc.min_max(self.values).as_py()
        if max(abs(ends["min"]), abs(ends["max"])) >= LARGEST_INTEGER:
            return False
        return bool(pc.all(pc.equal(self.values, pc.round(self.values))).as_py())

    @cached_property
    def numbers(self) -> NumberStyle:
        """The numbers in a text column; only the first rows are searched if few of them are numbers."""
        known = self.values.drop_null() if self.is_text else pa.array([], pa.string())
        first = find_numbers(pa.chunked_array([known.slice(0, FIRST_ROWS)]))
        return find_numbers(pa.chunked_array([known])) if first.share >= MOSTLY / 2 else first

    @property
    def frequent_share(self) -> float:
        """The share of known rows whose category is frequent enough for an indicator column."""
        return float(self.counts[self.counts >= MIN_FREQUENCY].sum()) / max(1, self.n_known)

    def ranks(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Dense ranks of the values in these rows; -1 where they are missing."""
        codes, distinct = _encode(self.values.take(pa.array(rows)))
        if pa.types.is_boolean(distinct.type):
            distinct = distinct.cast(pa.int8())
        ranks = np.empty(len(distinct) + 1, np.int64)
        ranks[np.asarray(pc.sort_indices(distinct), np.int64)] = np.arange(len(distinct))
        ranks[-1] = -1
        return ranks[codes]

    def floats(self, rows: NDArray[np.int64]) -> Floats:
        """The values in these rows as numbers from 0 to 1; -1 where they are missing."""
        values = self.values.take(pa.array(rows))
        if not pa.types.is_floating(values.type):
            small = pa.types.is_date32(values.type) or pa.types.is_time32(values.type)
            values = values.cast(pa.int32() if small else pa.int64()).cast(pa.float64(), safe=False)
        numbers = np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # infinite numbers
            least, most = np.nanmin(numbers), np.nanmax(numbers)
            return np.nan_to_num((numbers - least) / max(most - least, 1e-300), nan=-1.0)


def describe_type(column: TableColumn, read_as: Column | None) -> str:
    """The type in words, with the format in which the file writes it."""
    if read_as is None:
        return TYPE_NAMES[type_name(column.values.type) or "string"]
    form = read_as.format
    if read_as.type == "date" and form:
        form = datetime.datetime(2024, 12, 31, 23, 59, 58).strftime(form)
    return f"{TYPE_NAMES[read_as.type]} ({form})" if form else TYPE_NAMES[read_as.type]


def describe_use(column: TableColumn) -> str:
    """How the models use this column, in words."""
    if not column.n_known:
        return "not used: empty"
    if column.n_distinct == 1 and not column.n_missing:
        return "not used: constant"
    if column.kind in (NUMBERS, DATES, TEXT):
        return {NUMBERS: "number", DATES: "date", TEXT: "words"}[column.kind]
    words = f"{column.n_distinct:,} {'category' if column.n_distinct == 1 else 'categories'}"
    n_rare = _count_rare(column)
    if n_rare == column.n_distinct:
        return f"{words}, {'rare' if n_rare == 1 else 'all rare and grouped as one'}"
    return f"{words}, {n_rare:,} of them rare and grouped as one" if n_rare else words


def _count_rare(column: TableColumn) -> int:
    """The number of categories without an indicator column. Missing values count as a category."""
    n_missing = column.n_missing
    sizes = np.append(column.counts, [n_missing] if n_missing else [])
    n_frequent = int((sizes >= MIN_FREQUENCY).sum())
    if n_frequent + (n_frequent < len(sizes)) > MAX_CATEGORIES:
        n_frequent = MAX_CATEGORIES - 1  # the rare ones share the last column
    missing_is_frequent = n_missing >= MIN_FREQUENCY and int((column.counts >= n_missing).sum()) < n_frequent
    return column.n_distinct - (n_frequent - missing_is_frequent)


def examples(column: TableColumn) -> tuple[str, ...]:
    """Up to three distinct values as text."""
    found = column.values.slice(0, FIRST_ROWS).drop_null().unique()
    if len(found) < min(N_EXAMPLES, column.n_distinct):
        found = column.values.drop_null().unique()
    return tuple(show_example(value) for value in found.slice(0, N_EXAMPLES).to_pylist())


def show_example(value: Any) -> str:
    """At most 20 printable characters; whole numbers and dates without a fraction or a time of day.

    >>> show_example("a long remark about everything"), show_example(3.0)
    ('a long remark about…', '3')
    """
    if isinstance(value, float | int) and not isinstance(value, bool):
        return str(int(value)) if abs(value) < 1e15 and value == int(value) else f"{value:.10g}"
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return shorten(printable(str(value)[: LONGEST_EXAMPLE + 1]), LONGEST_EXAMPLE)


def _encode(values: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    found = values.dictionary_encode()
    codes = found.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, found.dictionary
