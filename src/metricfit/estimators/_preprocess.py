"""Preprocessing: arrays, sparse matrices and DataFrames to a matrix of numbers, by scikit-learn's transformers.

Numbers are imputed by the median (with a column that says where) and standardised, categories become one column each,
dates their parts, text the weights of its words. Everything that was learned sits in a scikit-learn transformer.
"""

from __future__ import annotations

import datetime
from numbers import Number
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from metricfit._typing import Floats

MIN_FREQUENCY = 3  # rare and unseen categories share one column
MAX_CATEGORIES = 100  # columns per feature
MAX_WORDS = 2000
TEXT_WORDS = 3.0  # a column is text if its values have more words than this on average,
DISTINCT_TEXT = 0.5  # and more than this share of them are different


def is_frame(data: Any) -> bool:
    """Whether this is a DataFrame of any library."""
    return isinstance(nw.from_native(data, eager_only=True, pass_through=True), nw.DataFrame)


def build_preprocessor(data: Any) -> Any:
    """An unfitted transformer for this DataFrame, array or sparse matrix."""
    if is_frame(data):
        return _for_frame(data)
    if issparse(data):
        return Pipeline([("scale", StandardScaler(with_mean=False))])
    return _numbers()


def _numbers() -> Pipeline:
    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return Pipeline([("impute", impute), ("scale", StandardScaler())])


def _for_frame(frame: Any) -> ColumnTransformer:
    kinds: dict[str, list[Any]] = {"numbers": [], "dates": [], "categories": [], "text": []}
    for position, column in enumerate(_columns(frame)):
        kinds[kind_of(column)].append(position)
    steps: list[tuple[str, Any, Any]] = []
    if kinds["numbers"]:
        steps.append(("numbers", Pipeline([("read", FunctionTransformer(as_numbers)), *_numbers().steps]), kinds["numbers"]))
    if kinds["dates"]:
        steps.append(("dates", Pipeline([("read", FunctionTransformer(as_date_parts)), *_numbers().steps]), kinds["dates"]))
    if kinds["categories"]:
        encode = OneHotEncoder(
            handle_unknown="infrequent_if_exist", min_frequency=MIN_FREQUENCY, max_categories=MAX_CATEGORIES
        )
        categories = Pipeline([("read", FunctionTransformer(as_categories)), ("encode", encode)])
        steps.append(("categories", categories, kinds["categories"]))
    for position in kinds["text"]:
        words = TfidfVectorizer(max_features=MAX_WORDS, sublinear_tf=True)
        text = Pipeline([("read", FunctionTransformer(as_text)), ("words", words)])
        steps.append((f"text_{position}", text, [position]))
    return ColumnTransformer(steps)


def kind_of(column: nw.Series[Any]) -> str:
    """The kind of a column: "numbers", "dates", "categories" or "text"."""
    if column.dtype.is_numeric() or column.dtype in (nw.Boolean, nw.Duration, nw.Time):
        return "numbers"
    if column.dtype in (nw.Datetime, nw.Date):
        return "dates"
    if column.dtype in (nw.Categorical, nw.Enum):
        return "categories"
    values = [value for value in column.to_list() if not is_missing(value)]
    if values and all(isinstance(value, Number) for value in values):
        return "numbers"
    if values and all(isinstance(value, datetime.date) for value in values):
        return "dates"
    if not values or not all(isinstance(value, str) for value in values):
        return "categories"
    n_words = sum(len(value.split()) for value in values) / len(values)
    return "text" if n_words > TEXT_WORDS and len(set(values)) > DISTINCT_TEXT * len(values) else "categories"


def as_numbers(data: Any) -> Floats:
    """Numbers, booleans, durations and times of day as floats; NaN where a value is missing."""
    return np.stack([_floats(column) for column in _columns(data)], 1)


def as_categories(data: Any) -> NDArray[np.object_]:
    """Values as strings; None where a value is missing."""
    columns = [[None if is_missing(value) else str(value) for value in column.to_list()] for column in _columns(data)]
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for position, column in enumerate(columns):
        table[:, position] = column
    return table


def as_text(data: Any) -> list[str]:
    """One column of strings; empty where a value is missing."""
    (column,) = _columns(data)
    return ["" if is_missing(value) else str(value) for value in column.to_list()]


def as_date_parts(data: Any) -> Floats:
    """Year, month, day, weekday, hour, and seconds since 1970 of every column of dates."""
    return np.concatenate([np.array([_parts(value) for value in column.to_list()]) for column in _columns(data)], 1)


def _parts(moment: Any) -> tuple[float, ...]:
    if is_missing(moment):
        return (np.nan,) * 6
    since = moment if isinstance(moment, datetime.datetime) else datetime.datetime(moment.year, moment.month, moment.day)
    since = since.replace(tzinfo=datetime.UTC) if since.tzinfo is None else since
    return moment.year, moment.month, moment.day, moment.isoweekday(), since.hour, since.timestamp()


def library_of(data: Any) -> str:
    """The library of a DataFrame, by name."""
    return nw.from_native(data, eager_only=True).implementation.value


def as_frame(data: Any, library: str, names: Any) -> Any:
    """An array as a DataFrame of this library."""
    table = np.asarray(data)
    schema = list(names) if names is not None else [str(place) for place in range(table.shape[1])]
    return nw.from_numpy(table, schema=schema, backend=library).to_native()  # type: ignore[arg-type]


def _columns(data: Any) -> list[nw.Series[Any]]:
    """All columns, by position: names may be numbers."""
    frame = nw.from_native(data, eager_only=True, pass_through=False)
    return [frame[:, position] for position in range(frame.shape[1])]


def _floats(column: nw.Series[Any]) -> Floats:
    if column.dtype == nw.Duration:
        return 1e-6 * _floats(column.dt.total_microseconds())
    if column.dtype == nw.Time:
        return np.array([np.nan if time is None else _seconds(time) for time in column.to_list()])
    if column.dtype.is_numeric():
        return np.asarray(column.cast(nw.Float64).to_numpy(), np.float64)
    try:
        values = [np.nan if is_missing(value) else float(value) for value in column.to_list()]
    except (TypeError, ValueError) as error:
        raise ValueError(f"Column {column.name!r} held numbers when the model was fitted; {error}.") from error
    return np.array(values)


def _seconds(time: datetime.time) -> float:
    return 3600.0 * time.hour + 60.0 * time.minute + time.second + 1e-6 * time.microsecond


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or a library's own missing value."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
