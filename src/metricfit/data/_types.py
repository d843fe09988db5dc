"""Column types: number, boolean, date, time of day, or string.

The type comes from the values, an ARFF header or the caller, and every decision is announced.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from metricfit._errors import DataError, UsageError
from metricfit._printable import quoted
from metricfit.data._layout import Layout
from metricfit.data._numbers import MISSING, NumberStyle, find_numbers, grouped_by_point, parse_numbers
from metricfit.data._schema import CELLS, DATE_FORMATS, Column
from metricfit.data._source import Say

MAX_NUMBER = 1e100  # squares of larger numbers may overflow
_CODE = r"^[-+]?0[0-9]"  # 007 is a code, not a number
_YEAR = "[0-9]{4}"  # 1.2.3 is not a date
_ISO = (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"))
_ARROW_TYPES = {"number": pa.float64(), "boolean": pa.bool_(), "date": pa.timestamp("us"), "time": pa.time64("us")}
_PER_MICROSECOND = {"s": 1e-6, "ms": 1e-3, "us": 1.0, "ns": 1e3}
_MARGIN = datetime.timedelta(days=1)  # for the shift of a time zone
_FIRST, _LAST = datetime.datetime.min + _MARGIN, datetime.datetime.max - _MARGIN
MOST = 0.5  # a text column with this share of numbers gets a note
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_DATE_WORDS = {"%m/%d/%Y": "month/day/year", "%d/%m/%Y": "day/month/year"}


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


def detect_columns(
    raw: pa.Table, layout: Layout, target: str, say: Say, numeric: Collection[str], categorical: Collection[str]
) -> list[Column]:
    """All columns except the target and a row index, with their types."""
    _check_overrides(target, numeric, categorical, raw.column_names)
    columns = []
    for name in raw.column_names:
        if name == target or _is_row_index(raw[name], name, layout, say):
            continue
        values, column = decode(raw[name]), Column(name, "string", layout.names.index(name))
        if not type_name(values.type):
            hint = f"Pass --drop {quoted(name)}."
            raise DataError(f"Column {quoted(name)} has values of type {values.type}, which cannot be used. {hint}")
        if name in numeric:
            column = _numeric_column(values, column, layout, say)
        elif name not in categorical:
            known = layout.types[column.position] if layout.types else ""
            column = replace(column, type=known) if known else _detect_column(values, column, layout, say)
        columns.append(column)
    _announce_formats(columns, say)
    _announce_doubts(raw, columns, layout, say)
    return columns


def _check_overrides(target: str, numeric: Collection[str], categorical: Collection[str], names: Collection[str]) -> None:
    both = [name for name in numeric if name in categorical]
    if both:
        raise UsageError(f"--numeric and --categorical both name column {quoted(both[0])}. Pass one of them.")
    for option, columns in (("--numeric", numeric), ("--categorical", categorical)):
        for name in columns:
            if name == target:
                raise UsageError(f"{option} {quoted(name)} is the target, whose values are classes.")
            if name not in names:
                raise UsageError(f"{option} {quoted(name)} is a column that --drop leaves out.")


def _detect_column(values: pa.ChunkedArray, column: Column, layout: Layout, say: Say) -> Column:
    kind = type_name(values.type)
    if kind != "string":
        return replace(column, type=kind)
    text = trim(values)
    kind, format = guess_type(text)
    if kind != "string" or text.null_count == len(text):
        if format in _DATE_WORDS:
            say(f"Column {quoted(column.name)} is read as dates (format {_DATE_WORDS[format]}).")
        return replace(column, type=kind, format=format)
    found = find_numbers(text, layout.decimal)
    if found.share == 1.0 and found.format:
        _announce_choice(column.name, found, say)
        return replace(column, type="number", format=found.format)
    _explain_text(text, column.name, found, say)
    return column


def _numeric_column(values: pa.ChunkedArray, column: Column, layout: Layout, say: Say) -> Column:
    """A column of ``--numeric``."""
    kind, column = type_name(values.type), replace(column, type="number", lenient=True)
    if kind in ("number", "boolean"):
        return column
    if kind != "string":
        raise UsageError(f"--numeric {quoted(column.name)}: the column has {CELLS[kind]} in every row.")
    found = find_numbers(trim(values), layout.decimal)
    if not found.share:
        examples = ", ".join(map(quoted, found.others)) or "only missing values"
        raise UsageError(f"--numeric {quoted(column.name)}: no value is a number: {examples}.")
    _announce_choice(column.name, found, say)
    return replace(column, format=found.format)


def _announce_choice(name: str, found: NumberStyle, say: Say) -> None:
    if found.choice:
        say(f"Column {quoted(name)} can be read in two ways: {found.choice}")


def _explain_text(text: pa.ChunkedArray, name: str, found: NumberStyle, say: Say) -> None:
    """Say why a column that seems to hold numbers is read as categories."""
    what, help = f"Column {quoted(name)} is read as categories", f"Pass --numeric {quoted(name)} to read"
    examples = ", ".join(map(quoted, found.others))
    if found.share == 1.0 and (code := first_code(text)):
        say(f"{what}: it has codes such as {quoted(code)}. {help} numbers.")
    elif found.share > MOST:
        written = f" written as {found.format}" if found.format else ""
        others, them = (f"{found.n_others:,} cells are not", "these") if found.n_others > 1 else ("1 cell is not", "it")
        say(
            f"{what}: most of its values are numbers{written}, but {others}: {examples}. "
            f"{help} {them} as missing, or correct the file."
        )
    elif found.any_share > MOST:
        say(
            f"{what}: its numbers are written in different ways, such as {quoted(found.example)} "
            f"({found.share:.0%} of them) and {examples}. Write them in one way and one unit."
        )


def _announce_formats(columns: list[Column], say: Say) -> None:
    """One line for all columns whose numbers are written alike."""
    for format in dict.fromkeys(column.format for column in columns if column.type == "number" and column.format):
        names = [quoted(column.name) for column in columns if column.type == "number" and column.format == format]
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        what = f"Column {shown} is" if len(names) == 1 else f"Columns {shown} are"
        say(f"{what} read as numbers written as {format}. Pass --categorical to keep the text.")


def _announce_doubts(raw: pa.Table, columns: list[Column], layout: Layout, say: Say) -> None:
    """Name plain numbers such as 1.234 that may be thousands, because the file has decimal commas elsewhere."""
    if layout.decimal == "." and not any(column.type == "number" and ",56" in column.format for column in columns):
        return
    for column in columns:
        values = decode(raw[column.name])
        is_plain = column.type == "number" and not column.format and type_name(values.type) == "string"
        example = grouped_by_point(trim(values)) if is_plain else ""
        if example:
            say(
                f"Column {quoted(column.name)} can be read in two ways: {example!r} is read as {float(example):g}, although "
                "other columns have a decimal comma. If the point groups thousands, remove it from the file."
            )


def _is_row_index(values: pa.ChunkedArray, name: str, layout: Layout, say: Say) -> bool:
    """Whether this is the row index that pandas writes, which leaks the target if rows are sorted by class."""
    if layout.format == "parquet":
        found = _PANDAS_INDEX.fullmatch(name) is not None
    else:
        unnamed = layout.header and name == layout.names[0] and not layout.raw_names[0].strip()
        found = unnamed and any(values.cast(pa.string()).equals(_row_numbers(len(values), first)) for first in (0, 1))
    if found:
        say(f"{name[:1].upper()}{name[1:]} is a row index and is dropped.")
    return found


def _row_numbers(n_rows: int, first: int) -> pa.ChunkedArray:
    return pa.chunked_array([[str(row) for row in range(first, first + n_rows)]])
