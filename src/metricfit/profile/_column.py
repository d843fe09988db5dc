"""A column in numbers: what is missing, how many values differ, examples, and how the models read it."""

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

from metricfit._typing import Floats
from metricfit.data import Column
from metricfit.estimators import CATEGORIES, DATES, DISTINCT_TEXT, MAX_CATEGORIES, MIN_FREQUENCY, NUMBERS, TEXT, kind_of
from metricfit.profile._words import shorten

N_EXAMPLES = 3
FIRST_ROWS = 1000  # where examples are looked for first
MOSTLY = 0.95  # share of numbers in a text column that gets a note
LARGEST_INTEGER = 2.0**53
_TYPES = {"number": "number", "boolean": "true or false", "date": "date", "time": "time of day", "string": "text"}
_NUMBER = r"^[-+]?[$€£]?\s?(\d+|\d{1,3}([.,' ]\d{3})+)?([.,]\d*)?([eE][-+]?\d+)?\s?[$€£%]?$"
_DIGIT = r"\d"


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column of a table. Values are in one array, with null for NaN."""

    name: str
    found: pa.ChunkedArray  # as in the table
    values: pa.Array

    @classmethod
    def of(cls, name: str, found: pa.ChunkedArray) -> TableColumn:
        values = found.cast(found.type.value_type) if pa.types.is_dictionary(found.type) else found
        if pa.types.is_string(values.type) or pa.types.is_string_view(values.type):
            values = values.cast(pa.large_string())  # one array of strings may be larger than 2 GB
        array = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
        if pa.types.is_decimal(array.type):
            array = array.cast(pa.float64())
        if pa.types.is_floating(array.type) and pc.any(pc.is_nan(array)).as_py():
            array = pc.if_else(pc.is_nan(array), None, array)
        return cls(name, found, array)

    @cached_property
    def kind(self) -> str:
        """The kind as in ``estimators._kinds``. What repeats is no text: this needs no look at each value in Python."""
        if pa.types.is_string(self.found.type) and self.n_distinct <= DISTINCT_TEXT * self.n_known:
            return CATEGORIES
        return kind_of(nw.from_native(self.found, series_only=True))

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
        """The number of each value, in the order of their first rows; -1 where it is missing."""
        return _codes(self.values)[0]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of rows of each value."""
        return np.bincount(self.codes[self.codes >= 0])

    @cached_property
    def n_distinct(self) -> int:
        if not self.n_known:
            return 0
        if "codes" in self.__dict__ or self.is_text:
            return len(self.counts)
        if pa.types.is_floating(self.values.type) or pa.types.is_integer(self.values.type):  # sorting is faster than hashing
            known = np.sort(self.values.drop_null().to_numpy(zero_copy_only=False))
            return int((known[1:] != known[:-1]).sum()) + 1
        return int(pc.count_distinct(self.values).as_py())

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
    def number_share(self) -> float:
        """The share of known values that look like numbers, in a text column; of the first rows, if it is small there."""
        if not self.is_text or not self.n_known:
            return 0.0
        known = self.values.drop_null()
        first = _number_share(known.slice(0, FIRST_ROWS))
        return _number_share(known) if first >= MOSTLY / 2 else first

    @property
    def share_repeated(self) -> float:
        """The share of known rows whose category is frequent enough for a column of its own."""
        return float(self.counts[self.counts >= MIN_FREQUENCY].sum()) / max(1, self.n_known)

    def ranks(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Dense ranks of the values in these rows; -1 where they are missing."""
        codes, distinct = _codes(self.values.take(pa.array(rows)))
        if pa.types.is_boolean(distinct.type):
            distinct = distinct.cast(pa.int8())
        places = np.empty(len(distinct) + 1, np.int64)
        places[np.asarray(pc.sort_indices(distinct), np.int64)] = np.arange(len(distinct))
        places[-1] = -1
        return places[codes]

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

    def first_value_without_number(self) -> str:
        known = self.values.drop_null()
        return str(known.filter(pc.invert(pc.match_substring_regex(known, _NUMBER)))[0].as_py())


def describe_type(column: TableColumn, read_as: Column | None) -> str:
    """The type in words, with the format in which it was written."""
    kind = _type_name(column.values.type) if read_as is None else read_as.type
    word, form = _TYPES.get(kind, kind), "" if read_as is None else read_as.format
    if "%" in form and kind in ("date", "time"):
        form = datetime.datetime(2024, 12, 31, 23, 59, 58).strftime(form)
    return f"{word} ({form})" if form else word


def describe_use(column: TableColumn) -> str:
    """How the models read this column, in words."""
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
    """The number of categories without a column of their own; missing values are a category like others."""
    n_missing = column.n_missing
    levels = np.append(column.counts, [n_missing] if n_missing else [])
    own = int((levels >= MIN_FREQUENCY).sum())
    if own + (own < len(levels)) > MAX_CATEGORIES:
        own = MAX_CATEGORIES - 1  # rare ones take a column, too
    missing_has_one = n_missing >= MIN_FREQUENCY and int((column.counts >= n_missing).sum()) < own
    return column.n_distinct - (own - missing_has_one)


def examples(column: TableColumn) -> tuple[str, ...]:
    """Up to three different values as text."""
    found = column.values.slice(0, FIRST_ROWS).drop_null().unique()
    if len(found) < min(N_EXAMPLES, column.n_distinct):
        found = column.values.drop_null().unique()
    return tuple(_show(value) for value in found.slice(0, N_EXAMPLES).to_pylist())


def _show(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, float | int):
        if isinstance(value, datetime.datetime):
            midnight = value.time() == datetime.time()
            return shorten(value.date().isoformat() if midnight else value.isoformat(" "))
        return shorten(value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value))
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else f"{value:.10g}"


def _number_share(known: pa.Array) -> float:
    found = pc.and_(pc.match_substring_regex(known, _NUMBER), pc.match_substring_regex(known, _DIGIT))
    return float(pc.mean(found.cast(pa.int8())).as_py())


def _codes(values: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    found = values.dictionary_encode()
    codes = found.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, found.dictionary


def _type_name(found: pa.DataType) -> str:
    """The type of a column that was not read from a file."""
    if pa.types.is_boolean(found):
        return "boolean"
    if pa.types.is_time(found):
        return "time"
    if pa.types.is_temporal(found) and not pa.types.is_duration(found):
        return "date"
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_duration)
    return "number" if any(test(found) for test in numbers) else "string"
