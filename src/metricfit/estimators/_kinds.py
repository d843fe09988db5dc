"""The kinds of columns of a DataFrame, and how to read each: numbers, dates, categories, text."""

from __future__ import annotations

import datetime
import re
from numbers import Number
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from metricfit._checks import is_missing
from metricfit._typing import Floats

MAX_NUMBER = 1e100  # squares of larger numbers may overflow
TEXT_WORDS = 3.0  # a column is text if its values have more words than this on average,
DISTINCT_TEXT = 0.5  # and more than this share of them are different
NUMBERS, DATES, CATEGORIES, TEXT = "numbers", "dates", "categories", "text"
_NESTED = (list, dict, set, np.ndarray)
_WORD = re.compile(r"\w\w")  # what TfidfVectorizer calls a word


def kind_of(column: nw.Series[Any]) -> str:
    """The kind of a column: "numbers", "dates", "categories" or "text"."""
    if column.dtype.is_numeric() or column.dtype in (nw.Boolean, nw.Duration, nw.Time):
        return NUMBERS
    if column.dtype in (nw.Datetime, nw.Date):
        return DATES
    if column.dtype in (nw.Categorical, nw.Enum):
        return CATEGORIES
    if column.dtype == nw.String and _repeats(column):
        return CATEGORIES
    cells = column.to_list()
    if nested := {type(value).__name__ for value in cells if isinstance(value, _NESTED)}:
        raise ValueError(
            f"Column {str(column.name)!r} of X has cells of type {min(nested)}, which cannot be used. Drop it, or spread it "
            "over columns of numbers or texts."
        )
    values = [value for value in cells if not is_missing(value)]
    if values and all(isinstance(value, Number) for value in values):
        return NUMBERS
    if values and all(isinstance(value, datetime.date) for value in values):
        return DATES
    if not values or not all(isinstance(value, str) for value in values):
        return CATEGORIES
    n_words = sum(len(value.split()) for value in values) / len(values)
    is_text = n_words > TEXT_WORDS and len(set(values)) > DISTINCT_TEXT * len(values) and any(map(_WORD.search, values))
    return TEXT if is_text else CATEGORIES


def _repeats(column: nw.Series[Any]) -> bool:
    """Whether values repeat too often for text. This needs no look at each value in Python."""
    known = column.drop_nulls()
    return known.n_unique() <= DISTINCT_TEXT * len(known)


def as_numbers(data: Any) -> Floats:
    """Numbers, booleans, durations and times of day as floats; NaN where a value is missing."""
    columns = columns_of(data)
    values = np.stack([_floats(column) for column in columns], 1)
    check_size(values, [column.name for column in columns])
    return values


def as_categories(data: Any, missing: float | None = None) -> NDArray[np.object_]:
    """Values as strings; ``missing`` where a value is missing."""
    columns = columns_of(data)
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for position, column in enumerate(columns):
        cells = column.to_list()
        if column.dtype == nw.String:  # each different text once; of other types, values that are equal may have two names
            names = {cell: _name(cell, missing) for cell in set(cells)}
            table[:, position] = [names[cell] for cell in cells]
        else:
            table[:, position] = [_name(cell, missing) for cell in cells]
    return table


def _name(value: Any, missing: float | None) -> str | float | None:
    """The text of a category; 1.0 is 1, because a column of whole numbers becomes floats where a value is missing."""
    if is_missing(value):
        return missing
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def as_text(data: Any) -> list[str]:
    """One column of strings; empty where a value is missing."""
    (column,) = columns_of(data)
    return ["" if is_missing(value) else str(value) for value in column.to_list()]


def as_date_parts(data: Any) -> Floats:
    """Year, month, day, weekday, hour, and seconds since 1970 of every column of dates."""
    columns = columns_of(data)
    return np.concatenate([np.array([_parts(value, column.name) for value in column.to_list()]) for column in columns], 1)


def _parts(moment: Any, name: Any) -> tuple[float, ...]:
    if is_missing(moment):
        return (np.nan,) * 6
    if not isinstance(moment, datetime.date):
        raise ValueError(f"Column {str(name)!r} held dates when the model was fitted; got {moment!r}.")
    since = moment if isinstance(moment, datetime.datetime) else datetime.datetime(moment.year, moment.month, moment.day)
    since = since.replace(tzinfo=datetime.UTC) if since.tzinfo is None else since
    return moment.year, moment.month, moment.day, moment.isoweekday(), since.hour, since.timestamp()


def check_size(values: Any, names: Any) -> None:
    """Raise a ValueError for a number whose square would overflow; ``values`` is a matrix of numbers."""
    stored = values.data if issparse(values) else values
    with np.errstate(invalid="ignore"):
        if not stored.size or not np.nanmax(np.abs(stored), initial=0.0) > MAX_NUMBER:
            return
        table = values.tocsc() if issparse(values) else values
        index = next(index for index in range(table.shape[1]) if (np.abs(table[:, [index]]) > MAX_NUMBER).sum())
    column = table[:, [index]].data if issparse(values) else table[:, index]
    name = index if names is None else repr(str(names[index]))
    raise ValueError(
        f"Column {name} of X has {np.nanmax(np.abs(column)):g}, numbers should be below {MAX_NUMBER:g}. "
        "Correct or remove such values, or replace them by NaN, which means missing."
    )


def columns_of(data: Any) -> list[nw.Series[Any]]:
    """All columns, by position: names may be numbers."""
    return list(nw.from_native(data, eager_only=True, pass_through=False).iter_columns())


def _floats(column: nw.Series[Any]) -> Floats:
    if column.dtype == nw.Duration:
        return 1e-6 * _floats(column.dt.total_microseconds())
    if column.dtype == nw.Time:
        return np.array([np.nan if time is None else _seconds(time) for time in column.to_list()])
    if column.dtype.is_numeric():
        plain = column if column.dtype == nw.Float64 else column.cast(nw.Float64)
        return np.asarray(plain.to_numpy(), np.float64)
    try:
        return np.array([np.nan if is_missing(value) else float(value) for value in column.to_list()])
    except (TypeError, ValueError) as error:
        raise ValueError(f"Column {column.name!r} held numbers when the model was fitted; {error}.") from error


def _seconds(time: datetime.time) -> float:
    return 3600.0 * time.hour + 60.0 * time.minute + time.second + 1e-6 * time.microsecond
