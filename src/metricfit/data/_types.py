"""Column types: number, boolean, date, time of day, or string."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite, isinf

import pyarrow as pa
import pyarrow.compute as pc

from metricfit._printable import quoted
from metricfit.data._literals import MISSING
from metricfit.data._moments import HOURS, YEARS, in_microseconds, in_range
from metricfit.data._numbers import is_number_format, parse_numbers

MAX_NUMBER = 1e100  # squares of larger numbers may overflow
_CODE = r"^[-+]?0[0-9]"  # 007 is a code, not a number
_INFINITY = r"(?i)^[-+]?inf(inity)?$"
DATE_FORMATS = ("%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%Y%m%dT%H%M%S")
_YEAR = "[0-9]{4}"  # 1.2.3 is no date
_ISO = (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"))
TYPES = {"number": "a number", "boolean": "true or false", "date": "a date", "time": "a time of day", "string": "text"}


@dataclass(frozen=True)
class Seen:
    """What a column held in the training table, for a comparison with new rows."""

    n_rows: int
    missing: float  # share of the cells
    low: float | None = None  # of numbers
    high: float | None = None
    categories: tuple[str, ...] | None = None
    new: float = 0.0  # share of the cells whose category occurs once: as many of new rows are unseen

    def is_valid(self) -> bool:
        numbers = (self.missing, self.new, *(end for end in (self.low, self.high) if end is not None))
        return self.n_rows > 0 and all(map(isfinite, numbers)) and (self.low is None) == (self.high is None)


@dataclass(frozen=True)
class Column:
    """A column that a model was fitted to; ``position`` counts from 0.

    ``format`` is a date format, or how numbers are written; it is empty for ISO dates and plain numbers. In a ``lenient``
    column of numbers, cells that are no numbers are missing values.
    """

    name: str
    type: str
    position: int
    format: str = ""
    lenient: bool = False
    seen: Seen | None = None

    def is_valid(self) -> bool:
        """Whether type and format are known."""
        if self.seen is not None and not self.seen.is_valid():
            return False
        if self.type == "number":
            return not self.format or is_number_format(self.format)
        return self.type in TYPES and (not self.format or (self.type == "date" and self.format in DATE_FORMATS))

    def expected(self) -> str:
        """What a cell should be, in words."""
        if self.type == "number" and self.format:
            return f"a number written as {self.format}"
        return TYPES[self.type]


@dataclass(frozen=True)
class Parsed:
    """Values of a column; what is wrong, by row; and the cells of a lenient column that are no numbers, with their counts."""

    values: pa.ChunkedArray
    problems: dict[int, str] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)


def type_name(found: pa.DataType) -> str:
    """One of the five column types, or "" for an Arrow type that cannot be used."""
    if pa.types.is_boolean(found):
        return "boolean"
    if pa.types.is_time(found):
        return "time"
    if pa.types.is_date(found) or pa.types.is_timestamp(found):
        return "date"
    if pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found) or pa.types.is_duration(found):
        return "number"
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return "string" if any(is_text(found) for is_text in texts) else ""


def trim(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text without surrounding spaces; missing-value words become null."""
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return pc.if_else(pc.is_in(text, pa.array(MISSING)), None, text)


def guess_type(text: pa.ChunkedArray) -> tuple[str, str]:
    """Type and date format of a trimmed column: the first that all values can be parsed as."""
    if text.null_count == len(text):
        return "string", ""
    start = pc.drop_null(text)[:100]  # Arrow is slow where many values cannot be parsed
    formats = [*((kind, "") for kind in ("number", "boolean", "time", "date")), *(("date", format) for format in DATE_FORMATS)]
    for kind, format in formats:
        if kind == "number" and first_code(text):
            continue
        if _parse(start, kind, format) is not None and _parse(text, kind, format) is not None:
            return kind, format
    return "string", ""


def first_code(text: pa.ChunkedArray) -> str:
    """The first value that is digits after a zero, as in 007; "" if there is none."""
    codes = text.filter(pc.match_substring_regex(text, _CODE))
    return codes[0].as_py() if len(codes) else ""


def parse_column(text: pa.ChunkedArray, column: Column, decimal: str) -> Parsed:
    """Parse a trimmed column as its type. Plain numbers may have the decimal comma of their file."""
    if column.type == "number":
        return _parse_number_column(text, column, decimal)
    values = _parse(text, column.type, column.format)
    if values is None and column.type == "date":
        values = _parse_dates(text, column.format)
    elif values is None:
        bad = [word for word in pc.unique(pc.drop_null(text)).to_pylist() if _parse(_one(word), column.type, "") is None]
        values = _parse(pc.if_else(pc.is_in(text, pa.array(bad)), None, text), column.type, "")
    assert values is not None
    wrong = _rows_where(pc.and_(pc.is_valid(text), pc.is_null(values)))
    return Parsed(values, {row: f"{quoted(text[row].as_py())} is not {column.expected()}" for row in wrong})


def to_floats(values: pa.ChunkedArray, text: pa.ChunkedArray | None = None) -> Parsed:
    """Floats, with null for infinity and NaN; numbers that are too large are problems."""
    values = in_microseconds(values) if pa.types.is_duration(values.type) else values.cast(pa.float64(), safe=False)
    large = pc.greater(pc.abs(values), MAX_NUMBER)
    meant = pc.match_substring_regex(text, _INFINITY) if text is not None else pc.is_inf(values)  # infinity, not 1e999
    large = pc.and_not(pc.fill_null(large, False), pc.fill_null(meant, False))
    rows = _rows_where(large)
    shown = {row: f"{values[row].as_py():g}" for row in rows}
    if text is not None:
        shown |= {row: quoted(text[row].as_py()) for row in rows if isinf(values[row].as_py())}
    problems = {row: f"{number} is too large (maximum {MAX_NUMBER:g})" for row, number in shown.items()}
    usable = pc.and_not(pc.is_finite(values), large)
    return Parsed(pc.if_else(usable, values, None), problems)


def to_moments(values: pa.ChunkedArray) -> Parsed:
    """Dates or times of day as Python can hold them; others are problems."""
    usable, wrong = in_range(values)
    what = HOURS if pa.types.is_time(values.type) else YEARS
    return Parsed(usable, dict.fromkeys(_rows_where(wrong), f"a value of type {values.type} {what}"))


def _parse_number_column(text: pa.ChunkedArray, column: Column, decimal: str) -> Parsed:
    if column.format:
        values = parse_numbers(text, column.format)
    else:
        plain = text if decimal == "." else pc.replace_substring(text, decimal, ".")
        found = _parse(plain, "number", "")
        if found is None:
            bad = [word for word in pc.unique(pc.drop_null(plain)).to_pylist() if _parse(_one(word), "number", "") is None]
            found = _parse(pc.if_else(pc.is_in(plain, pa.array(bad)), None, plain), "number", "")
            assert found is not None
        values = found
    wrong = pc.and_(pc.is_valid(text), pc.is_null(values))
    parsed = to_floats(values, text)
    if column.lenient:
        return Parsed(parsed.values, parsed.problems, Counter(text.filter(wrong).to_pylist()))
    not_numbers = {row: f"{quoted(text[row].as_py())} is not {column.expected()}" for row in _rows_where(wrong)}
    return Parsed(parsed.values, parsed.problems | not_numbers)


def _parse(text: pa.ChunkedArray, kind: str, format: str) -> pa.ChunkedArray | None:
    """The values, or None if one of them cannot be parsed."""
    if kind == "string":
        return text
    if format:
        dates = pc.strptime(pc.if_else(pc.match_substring_regex(text, _YEAR), text, None), format, "us", error_is_null=True)
        return dates if dates.null_count == text.null_count else None
    if kind == "time":
        moments = _first_cast(pc.binary_join_element_wise("1970-01-01", text, " "), (pa.timestamp("us"),))
        return None if moments is None else moments.cast(pa.time64("us"))
    if kind == "number":
        return _first_cast(text, (pa.float64(),))
    return _first_cast(text, (pa.bool_(),) if kind == "boolean" else _ISO)


def _parse_dates(text: pa.ChunkedArray, format: str) -> pa.ChunkedArray:
    """Dates in the column's format or as ISO writes them, cell by cell, without time zone; null for other cells."""
    words = pc.unique(pc.drop_null(text))
    moments = []
    for word in words.to_pylist():
        found = _parse(_one(word), "date", format)
        found = _parse(_one(word), "date", "") if found is None else found
        moments.append(None if found is None else found.cast(pa.timestamp("us"), safe=False)[0].as_py())
    dates = pa.array(moments, pa.timestamp("us"))
    return pa.chunked_array([dates.take(pc.index_in(text.combine_chunks(), words))])


def _first_cast(text: pa.ChunkedArray, types: Sequence[pa.DataType]) -> pa.ChunkedArray | None:
    for wanted in types:
        try:
            return text.cast(wanted)
        except pa.ArrowInvalid:
            continue
    return None


def _one(word: str) -> pa.ChunkedArray:
    return pa.chunked_array([[word]])


def _rows_where(mask: pa.ChunkedArray) -> list[int]:
    if not pc.any(mask).as_py():
        return []
    rows: list[int] = pc.indices_nonzero(mask).to_pylist()
    return rows
