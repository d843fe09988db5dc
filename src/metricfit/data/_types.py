"""Column types: number, boolean, date, time of day, or string."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from metricfit._printable import quoted
from metricfit.data._numbers import MISSING, parse_numbers
from metricfit.data._schema import DATE_FORMATS, Column

MAX_NUMBER = 1e100  # squares of larger numbers may overflow
_CODE = r"^[-+]?0[0-9]"  # 007 is a code, not a number
_YEAR = "[0-9]{4}"  # 1.2.3 is not a date
_ISO = (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"))
_ARROW_TYPES = {"number": pa.float64(), "boolean": pa.bool_(), "date": pa.timestamp("us"), "time": pa.time64("us")}
_PER_MICROSECOND = {"s": 1e-6, "ms": 1e-3, "us": 1.0, "ns": 1e3}
_MARGIN = datetime.timedelta(days=1)  # for the shift of a time zone
_FIRST, _LAST = datetime.datetime.min + _MARGIN, datetime.datetime.max - _MARGIN


@dataclass(frozen=True)
class ParsedColumn:
    """The values of a column, its problems by row, and the counts of cells that a lenient column ignores."""

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


def decode(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a dictionary-encoded column; other columns unchanged."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def trim(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text without surrounding spaces; missing-value words become null."""
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return pc.if_else(pc.is_in(text, pa.array(MISSING)), None, text)


def guess_type(text: pa.ChunkedArray) -> tuple[str, str]:
    """Type and date format of a trimmed column: the first that fits all values."""
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
    """The first value with a leading zero, such as 007; "" if there is none."""
    codes = text.filter(pc.match_substring_regex(text, _CODE))
    return codes[0].as_py() if len(codes) else ""


def parse_column(text: pa.ChunkedArray, column: Column, decimal: str) -> ParsedColumn:
    """Parse a trimmed column as its type. Plain numbers may have the decimal comma of their file."""
    if column.type == "string":
        return ParsedColumn(text)
    if column.type == "number" and column.format:
        values = parse_numbers(text, column.format)
    else:
        plain = pc.replace_substring(text, decimal, ".") if column.type == "number" and decimal != "." else text
        values = _parse(plain, column.type, column.format)
        values = _parse_words(plain, column) if values is None else values
    wrong = pc.and_(pc.is_valid(text), pc.is_null(values))
    parsed = to_floats(values) if column.type == "number" else ParsedColumn(values)
    if column.type == "number":  # infinity is a missing value, 1e999 is a mistake
        overflow = pc.and_(pc.is_inf(values), pc.match_substring_regex(text, r"\d"))
        parsed.problems.update(
            {row: f"{quoted(text[row].as_py())} is too large (maximum {MAX_NUMBER:g})" for row in _rows_where(overflow)}
        )
    if column.lenient:
        return ParsedColumn(parsed.values, parsed.problems, Counter(text.filter(wrong).to_pylist()))
    problems = {row: f"{quoted(text[row].as_py())} is not {column.expected()}" for row in _rows_where(wrong)}
    return ParsedColumn(parsed.values, parsed.problems | problems)


def to_floats(values: pa.ChunkedArray) -> ParsedColumn:
    """Floats, with null for infinity and NaN; numbers that are too large are problems. Durations are in microseconds."""
    if pa.types.is_duration(values.type):
        values = pc.divide(values.cast(pa.int64()).cast(pa.float64(), safe=False), _PER_MICROSECOND[values.type.unit])
    values = values.cast(pa.float64(), safe=False)
    finite = pc.is_finite(values)
    large = pc.and_(finite, pc.greater(pc.abs(values), MAX_NUMBER))
    problems = {row: f"{values[row].as_py():g} is too large (maximum {MAX_NUMBER:g})" for row in _rows_where(large)}
    return ParsedColumn(pc.if_else(pc.and_not(finite, large), values, None), problems)


def to_moments(values: pa.ChunkedArray) -> ParsedColumn:
    """Times of day or dates in microseconds; dates outside the years of Python's calendar are problems."""
    if pa.types.is_time(values.type):
        return ParsedColumn(values.cast(pa.time64("us"), safe=False))
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        _check_zone(values.type.tz)
    if pa.types.is_timestamp(values.type) and values.type.unit == "ns":
        values = values.cast(pa.timestamp("us", values.type.tz), safe=False)
    seconds = values.cast(pa.timestamp("s"), safe=False)
    first, last = (pa.scalar(end, pa.timestamp("us")).cast(pa.timestamp("s"), safe=False) for end in (_FIRST, _LAST))
    outside = pc.or_(pc.less(seconds, first), pc.greater(seconds, last))
    problems = dict.fromkeys(_rows_where(outside), f"a value of type {values.type} is outside of the years 1 to 9999")
    return ParsedColumn(pc.if_else(outside, None, values), problems)


def _check_zone(name: str) -> None:
    """Raise ArrowInvalid for a time zone that is not known."""
    try:
        pa.lib.string_to_tzinfo(name)
    except Exception as error:
        raise pa.ArrowInvalid(f"{name!r} is not a known time zone") from error


def _parse(text: pa.ChunkedArray, kind: str, format: str) -> pa.ChunkedArray | None:
    """The values, or None if one of them cannot be parsed."""
    if format:
        dates = pc.strptime(pc.if_else(pc.match_substring_regex(text, _YEAR), text, None), format, "us", error_is_null=True)
        return dates if dates.null_count == text.null_count else None
    if kind == "time":
        moments = _first_cast(pc.binary_join_element_wise("1970-01-01", text, " "), (pa.timestamp("us"),))
        return None if moments is None else moments.cast(pa.time64("us"))
    return _first_cast(text, _ISO if kind == "date" else (_ARROW_TYPES[kind],))


def _parse_words(text: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Parse distinct cells one by one; null for those that do not fit. Dates may also be ISO dates."""
    words = pc.unique(pc.drop_null(text))
    values = pa.array([_parse_word(word, column) for word in words.to_pylist()], _ARROW_TYPES[column.type])
    return pa.chunked_array([values.take(pc.index_in(text.combine_chunks(), words))])


def _parse_word(word: str, column: Column) -> Any:
    for format in dict.fromkeys((column.format, "")):
        found = _parse(pa.chunked_array([[word]]), column.type, format)
        if found is not None:
            return (found.cast(_ARROW_TYPES["date"], safe=False) if column.type == "date" else found)[0].as_py()
    return None


def _first_cast(text: pa.ChunkedArray, types: Sequence[pa.DataType]) -> pa.ChunkedArray | None:
    for type in types:
        try:
            return text.cast(type)
        except pa.ArrowInvalid:
            continue
    return None


def _rows_where(mask: pa.ChunkedArray) -> list[int]:
    if not pc.any(mask).as_py():
        return []
    rows: list[int] = pc.indices_nonzero(mask).to_pylist()
    return rows
