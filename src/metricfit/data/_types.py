"""Column types: number, boolean, date, time of day, or string."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isinf

import pyarrow as pa
import pyarrow.compute as pc

from metricfit._printable import quoted
from metricfit.data._numbers import MISSING, parse_numbers
from metricfit.data._schema import DATE_FORMATS, Column

MAX_NUMBER = 1e100  # squares of larger numbers may overflow
_CODE = r"^[-+]?0[0-9]"  # 007 is a code, not a number
_INFINITY = r"(?i)^[-+]?inf(inity)?$"
_YEAR = "[0-9]{4}"  # 1.2.3 is no date
YEARS = "is outside of the years 1 to 9999"
_DAY = 86_400
_FIRST, _END = -719_162 * _DAY, 2_932_897 * _DAY  # seconds of these years
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_ISO = (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"))


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
    if pa.types.is_duration(values.type):  # in microseconds
        per_microsecond = _PER_SECOND[values.type.unit] / _PER_SECOND["us"]
        values = pc.divide(values.cast(pa.int64()).cast(pa.float64(), safe=False), per_microsecond)
    values = values.cast(pa.float64(), safe=False)
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
    """Times of day, or dates as Python can hold them; others are problems."""
    if pa.types.is_time(values.type):
        return Parsed(values.cast(pa.time64("us"), safe=False))
    usable, far = in_range(values)
    return Parsed(usable, dict.fromkeys(_rows_where(far), f"a value of type {values.type} {YEARS}"))


def in_range(dates: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Dates with null for those that Python cannot hold, and which these are. An unknown time zone raises ArrowInvalid."""
    kind, spare, per_second = dates.type, 0, 1_000
    if pa.types.is_timestamp(kind):
        if kind.unit == "ns":
            dates, kind = dates.cast(pa.timestamp("us", kind.tz), safe=False), pa.timestamp("us", kind.tz)
        per_second, spare = _PER_SECOND[kind.unit], 0 if kind.tz is None else _DAY  # for the shift of the zone
        if kind.tz is not None:
            _check_zone(kind.tz)
    first, end = (_FIRST + spare) * per_second, (_END - spare) * per_second
    if pa.types.is_date32(kind):
        numbers, first, end = dates.cast(pa.int32()), _FIRST // _DAY, _END // _DAY
    else:
        numbers = dates.cast(pa.int64())
    far = pc.fill_null(pc.or_(pc.less(numbers, first), pc.greater_equal(numbers, end)), False)
    return pc.if_else(far, None, dates), far


def _check_zone(name: str) -> None:
    try:
        pa.lib.string_to_tzinfo(name)
    except Exception as error:
        raise pa.ArrowInvalid(f"{name!r} is not a known time zone") from error


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
