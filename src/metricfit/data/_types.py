"""Column types: number, boolean, date, time of day, or string."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from metricfit._errors import DataError
from metricfit.data._layout import MISSING

MAX_NUMBER = 1e100  # squares of larger numbers may overflow
NEARLY_ALL = 0.95  # a text column with this share of numbers gets a note
_CODE = r"^[-+]?0[0-9]"  # 007 is a code, not a number
_FORMATS = ("%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%Y%m%dT%H%M%S")
_ISO = (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"))
TYPES = {"number": "a number", "boolean": "true or false", "date": "a date", "time": "a time of day", "string": "text"}


@dataclass(frozen=True)
class Column:
    """A column that a model was fitted to; ``position`` counts from 0, ``format`` is empty for ISO dates."""

    name: str
    type: str
    position: int
    format: str = ""


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


def guess_type(text: pa.ChunkedArray, decimal: str) -> tuple[str, str]:
    """Type and date format of a trimmed column: the first that all values can be parsed as."""
    if text.null_count == len(text):
        return "string", ""
    coded = pc.any(pc.match_substring_regex(text, _CODE)).as_py()
    for kind in ("number", "boolean", "time", "date"):
        if not (kind == "number" and coded) and _parse(text, kind, "", decimal) is not None:
            return kind, ""
    for format in _FORMATS:
        if _parse(text, "date", format, decimal) is not None:
            return "date", format
    return "string", ""


def number_share(text: pa.ChunkedArray, decimal: str) -> float:
    """The share of values in a text column that are numbers."""
    words = pc.drop_null(_use_decimal_point(text, decimal))
    return pc.mean(pc.match_substring_regex(words, r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$").cast(pa.int8())).as_py() or 0.0


def parse_column(text: pa.ChunkedArray, column: Column, decimal: str, where: Callable[[int], str]) -> pa.ChunkedArray:
    """Parse a trimmed column as its type; ``where`` gives file and row for the error message."""
    values = _parse(text, column.type, column.format, decimal)
    if values is None:
        for row, value in enumerate(text.to_pylist()):
            if value is not None and _parse(pa.chunked_array([[value]]), column.type, column.format, decimal) is None:
                raise DataError(f"{where(row)}, column {column.name!r}: {value!r} is not {TYPES[column.type]}.")
    return to_floats(values, column.name, where) if column.type == "number" else values


def to_floats(values: pa.ChunkedArray, name: str, where: Callable[[int], str]) -> pa.ChunkedArray:
    """Floats, with null for infinity and NaN; a number that is too large is an error."""
    values = values.cast(pa.int64()) if pa.types.is_duration(values.type) else values
    values = values.cast(pa.float64(), safe=False)
    values = pc.if_else(pc.is_finite(values), values, None)
    large = pc.index(pc.greater(pc.abs(values), MAX_NUMBER), True).as_py()
    if large >= 0:
        raise DataError(f"{where(large)}, column {name!r}: {values[large].as_py():g} is too large (maximum {MAX_NUMBER:g}).")
    return values


def _parse(text: pa.ChunkedArray, kind: str, format: str, decimal: str) -> pa.ChunkedArray | None:
    """The values, or None if one of them cannot be parsed."""
    if kind == "string":
        return text
    if format:
        dates = pc.strptime(text, format=format, unit="us", error_is_null=True)
        return dates if dates.null_count == text.null_count else None
    if kind == "time":
        moments = _first_cast(pc.binary_join_element_wise("1970-01-01", text, " "), (pa.timestamp("us"),))
        return None if moments is None else moments.cast(pa.time64("us"))
    if kind == "number":
        return _first_cast(_use_decimal_point(text, decimal), (pa.float64(),))
    return _first_cast(text, (pa.bool_(),) if kind == "boolean" else _ISO)


def _first_cast(text: pa.ChunkedArray, types: Sequence[pa.DataType]) -> pa.ChunkedArray | None:
    for wanted in types:
        try:
            return text.cast(wanted)
        except pa.ArrowInvalid:
            continue
    return None


def _use_decimal_point(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    return text if decimal == "." else pc.replace_substring(text, decimal, ".")
