"""Preprocessing: arrays, sparse matrices and DataFrames to numbers, by scikit-learn's transformers.

There are two forms. In the matrix, numbers are imputed by the median (with a column that says where) and standardised,
categories become one column each, dates their parts, text the weights of its words. In the columns, which trees read, numbers
stay as they are, NaN where they are missing, and categories become codes. What was learned sits in the transformers.
"""

from __future__ import annotations

import datetime
from numbers import Number
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from metricfit._typing import Floats
from metricfit.learners import COLUMNS, MATRIX

MIN_FREQUENCY = 3  # rare and unseen categories share one column
MAX_CATEGORIES = 100  # columns per feature
MAX_CODES = 250  # per feature; trees take 255
MAX_NUMBER = 1e100  # squares of larger numbers may overflow
MAX_WORDS = 2000
MAX_TREE_WORDS = 100  # trees read a dense table
TEXT_WORDS = 3.0  # a column is text if its values have more words than this on average,
DISTINCT_TEXT = 0.5  # and more than this share of them are different
NUMBERS, DATES, CATEGORIES, TEXT = "numbers", "dates", "categories", "text"  # the kinds of columns


def is_frame(data: Any) -> bool:
    """Whether this is a DataFrame of any library."""
    return isinstance(nw.from_native(data, eager_only=True, pass_through=True), nw.DataFrame)


def build_preprocessor(data: Any, form: str = MATRIX) -> Any:
    """An unfitted transformer of this DataFrame, array or sparse matrix to a form; None where there is nothing to do."""
    if is_frame(data):
        return _for_frame(data, form)
    if form == COLUMNS:
        return None
    return Pipeline([("scale", StandardScaler(with_mean=False))]) if issparse(data) else _numbers()


def _numbers() -> Pipeline:
    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return Pipeline([("impute", impute), ("scale", StandardScaler())])


def _matrix_steps() -> dict[str, list[Any]]:
    """What happens to each kind of column, in order."""
    encode = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=MIN_FREQUENCY, max_categories=MAX_CATEGORIES)
    return {
        NUMBERS: [FunctionTransformer(as_numbers), *_numbers().named_steps.values()],
        DATES: [FunctionTransformer(as_date_parts), *_numbers().named_steps.values()],
        CATEGORIES: [FunctionTransformer(as_categories), encode],
        TEXT: [FunctionTransformer(as_text), TfidfVectorizer(max_features=MAX_WORDS, sublinear_tf=True)],
    }


def _column_steps() -> dict[str, list[Any]]:
    """The same for trees: codes come first, so that trees know them by their number."""
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=MAX_CODES,
    )
    return {
        CATEGORIES: [FunctionTransformer(as_categories, kw_args={"missing": np.nan}), codes],
        NUMBERS: [FunctionTransformer(as_numbers)],
        DATES: [FunctionTransformer(as_date_parts)],
        TEXT: [FunctionTransformer(as_text), TfidfVectorizer(max_features=MAX_TREE_WORDS, sublinear_tf=True)],
    }


def _for_frame(frame: Any, form: str) -> ColumnTransformer:
    steps = _matrix_steps() if form == MATRIX else _column_steps()
    kinds: dict[str, list[int]] = {kind: [] for kind in steps}
    for position, column in enumerate(_columns(frame)):
        kinds[kind_of(column)].append(position)
    transformers = []
    for kind, places in kinds.items():
        if kind == TEXT:  # one vocabulary per column
            transformers += [(f"{TEXT}_{place}", clone(make_pipeline(*steps[kind])), [place]) for place in places]
        elif places:
            transformers.append((kind, make_pipeline(*steps[kind]), places))
    return ColumnTransformer(transformers, sparse_threshold=0.3 if form == MATRIX else 0.0)


def count_codes(preprocessor: Any) -> int:
    """How many columns of the form for trees are codes of categories."""
    found = [places for kind, _, places in getattr(preprocessor, "transformers_", ()) if kind == CATEGORIES]
    return len(found[0]) if found else 0


def kind_of(column: nw.Series[Any]) -> str:
    """The kind of a column: "numbers", "dates", "categories" or "text"."""
    if column.dtype.is_numeric() or column.dtype in (nw.Boolean, nw.Duration, nw.Time):
        return NUMBERS
    if column.dtype in (nw.Datetime, nw.Date):
        return DATES
    if column.dtype in (nw.Categorical, nw.Enum):
        return CATEGORIES
    values = [value for value in column.to_list() if not is_missing(value)]
    if values and all(isinstance(value, Number) for value in values):
        return NUMBERS
    if values and all(isinstance(value, datetime.date) for value in values):
        return DATES
    if not values or not all(isinstance(value, str) for value in values):
        return CATEGORIES
    n_words = sum(len(value.split()) for value in values) / len(values)
    return TEXT if n_words > TEXT_WORDS and len(set(values)) > DISTINCT_TEXT * len(values) else CATEGORIES


def as_numbers(data: Any) -> Floats:
    """Numbers, booleans, durations and times of day as floats; NaN where a value is missing."""
    return np.stack([_floats(column) for column in _columns(data)], 1)


def as_categories(data: Any, missing: float | None = None) -> NDArray[np.object_]:
    """Values as strings; ``missing`` where a value is missing."""
    columns = [[missing if is_missing(value) else str(value) for value in column.to_list()] for column in _columns(data)]
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


def check_size(values: Any, names: Any) -> None:
    """Raise a ValueError for a number whose square would overflow; ``values`` is a matrix of numbers."""
    stored = values.data if issparse(values) else values
    with np.errstate(invalid="ignore"):
        if not stored.size or not np.nanmax(np.abs(stored), initial=0.0) > MAX_NUMBER:
            return
        table = values.tocsc() if issparse(values) else values
        place = next(index for index in range(table.shape[1]) if (np.abs(table[:, [index]]) > MAX_NUMBER).sum())
    column = table[:, [place]].data if issparse(values) else table[:, place]
    name = place if names is None else repr(str(names[place]))
    raise ValueError(
        f"Column {name} of X has {np.nanmax(np.abs(column)):g}, numbers should be below {MAX_NUMBER:g}. "
        "Correct or remove such values, or replace them by NaN, which means missing."
    )


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
        values = np.asarray(column.cast(nw.Float64).to_numpy(), np.float64)
        check_size(values[:, None], [column.name])
        return values
    try:
        return np.array([np.nan if is_missing(value) else float(value) for value in column.to_list()])
    except (TypeError, ValueError) as error:
        raise ValueError(f"Column {column.name!r} held numbers when the model was fitted; {error}.") from error


def _seconds(time: datetime.time) -> float:
    return 3600.0 * time.hour + 60.0 * time.minute + time.second + 1e-6 * time.microsecond


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or a library's own missing value."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
