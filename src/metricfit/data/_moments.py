"""Dates and times of Arrow, whose range is wider than that of Python."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DAY = 86_400
_FIRST, _LAST = -719_162 * _DAY, 2_932_896 * _DAY  # midnight of the first and of the last day of the years 1 to 9999
YEARS = "is outside of the years 1 to 9999"
HOURS = "is not a time of a day"


def in_range(values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Dates, moments or times of day, with null for those that Python cannot hold; and which these are.

    Raises ArrowInvalid for an unknown time zone.
    """
    kind = values.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        _check_zone(kind.tz)
    least, most = _limits(kind)
    numbers = values.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    wrong = pc.fill_null(pc.or_(pc.less(numbers, least), pc.greater_equal(numbers, most)), False)
    usable = pc.if_else(wrong, None, values)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        usable = usable.cast(pa.timestamp("us", kind.tz), safe=False)
    elif pa.types.is_time(kind) and kind.unit == "ns":
        usable = usable.cast(pa.time64("us"), safe=False)
    return usable, wrong


def in_microseconds(durations: pa.ChunkedArray) -> pa.ChunkedArray:
    """Durations as floats."""
    numbers = durations.cast(pa.int64()).cast(pa.float64(), safe=False)
    return pc.multiply(numbers, PER_SECOND["us"] / PER_SECOND[durations.type.unit])


def _limits(kind: pa.DataType) -> tuple[int, int]:
    """The first number that is in the range, and the first after it."""
    if pa.types.is_date32(kind):
        return _FIRST // _DAY, _LAST // _DAY + 1
    per_second = 1_000 if pa.types.is_date64(kind) else PER_SECOND[kind.unit]
    if pa.types.is_time(kind):
        return 0, _DAY * per_second
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return -(2**63), 2**63 - 1
    spare = _DAY if pa.types.is_timestamp(kind) and kind.tz is not None else 0  # for the shift of the zone
    return (_FIRST + spare) * per_second, (_LAST + _DAY - spare) * per_second


def _check_zone(name: str) -> None:
    try:
        pa.lib.string_to_tzinfo(name)
    except Exception as error:
        raise pa.ArrowInvalid(f"{name!r} is not a known time zone") from error
