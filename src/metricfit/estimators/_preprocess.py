"""Preprocessing: arrays, sparse matrices and DataFrames to numbers, by scikit-learn's transformers.

There are two forms. In the matrix, numbers are imputed by the median (with a column that says where) and standardised,
categories become one column each, dates their parts, text the weights of its words. In the columns, which trees read, numbers
stay as they are, NaN where they are missing, and categories become codes. What was learned sits in the transformers. Features
have names: "age", "colour = red", "income is missing".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from metricfit._checks import is_missing
from metricfit.estimators._kinds import (
    CATEGORIES,
    DATES,
    NUMBERS,
    TEXT,
    as_categories,
    as_date_parts,
    as_numbers,
    as_text,
    columns_of,
    kind_of,
)
from metricfit.learners import COLUMNS, MATRIX

MIN_FREQUENCY = 3  # rare and unseen categories share one column
MAX_CATEGORIES = 100  # columns per feature
MAX_CODES = 250  # per feature; trees take 255
MAX_WORDS = 2000
MAX_TREE_WORDS = 100  # trees read a dense table
MAX_DENSITY = 0.3  # a matrix with fewer numbers that are not zero is sparse
CODES = "codes"  # the kind of categories that trees read; they come first, so that trees know them by their number
KINDS_OF = {MATRIX: (NUMBERS, DATES, CATEGORIES, TEXT), COLUMNS: (CODES, NUMBERS, DATES, TEXT)}
READERS: dict[str, Callable[[Any], Any]] = {
    NUMBERS: as_numbers,
    DATES: as_date_parts,
    CATEGORIES: as_categories,
    CODES: partial(as_categories, missing=np.nan),
    TEXT: as_text,
}


@dataclass(frozen=True)
class Part:
    """Columns of one kind, and what happens to them, one transformer of scikit-learn after the other."""

    kind: str
    places: list[int]
    steps: list[Any]

    def read(self, frame: Any, action: str) -> Any:
        """The columns as numbers, after "transform" or "fit_transform" of all steps."""
        found = READERS[self.kind](nw.from_native(frame, eager_only=True)[:, self.places])
        for step in self.steps:
            found = getattr(step, action)(found)
        return found


class TableTransformer(TransformerMixin, BaseEstimator):
    """The parts of a DataFrame side by side, as scikit-learn's ColumnTransformer has them, in a form that files can hold."""

    def __init__(self, parts: Sequence[Part], max_density: float = MAX_DENSITY) -> None:
        self.parts = parts
        self.max_density = max_density

    def fit(self, frame: Any, labels: Any = None) -> Self:
        found = [part.read(frame, "fit_transform") for part in self.parts]
        n_stored = sum(one.nnz if sparse.issparse(one) else one.size for one in found)
        n_cells = sum(one.shape[0] * one.shape[1] for one in found)
        self.sparse_output_ = any(map(sparse.issparse, found)) and n_stored < self.max_density * n_cells
        return self

    def transform(self, frame: Any) -> Any:
        found = [part.read(frame, "transform") for part in self.parts]
        if self.sparse_output_:
            return sparse.hstack(found).tocsr()
        return np.hstack([one.toarray() if sparse.issparse(one) else one for one in found])


def is_frame(data: Any) -> bool:
    """Whether this is a DataFrame of any library."""
    return isinstance(nw.from_native(data, eager_only=True, pass_through=True), nw.DataFrame)


def build_preprocessor(data: Any, form: str = MATRIX) -> Any:
    """An unfitted transformer of this DataFrame, array or sparse matrix to a form; None where there is nothing to do."""
    if is_frame(data):
        return _for_frame(data, form)
    if form == COLUMNS:
        return None
    return Pipeline([("scale", StandardScaler(with_mean=False))]) if sparse.issparse(data) else number_pipeline()


def number_pipeline() -> Pipeline:
    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return Pipeline([("impute", impute), ("scale", StandardScaler())])


def one_hot_encoder(**changed: Any) -> OneHotEncoder:
    limits = {"min_frequency": MIN_FREQUENCY, "max_categories": MAX_CATEGORIES}
    return OneHotEncoder(handle_unknown="infrequent_if_exist", **limits | changed)


def code_encoder(**changed: Any) -> OrdinalEncoder:
    gaps = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan, "encoded_missing_value": np.nan}
    return OrdinalEncoder(**gaps | {"max_categories": MAX_CODES} | changed)


def vectorizer(**given: Any) -> TfidfVectorizer:
    return TfidfVectorizer(sublinear_tf=True, **given)


def _steps(kind: str, form: str) -> list[Any]:
    """New transformers for columns of a kind."""
    if kind == TEXT:
        return [vectorizer(max_features=MAX_WORDS if form == MATRIX else MAX_TREE_WORDS)]
    if kind == CATEGORIES:
        return [one_hot_encoder()]
    if kind == CODES:
        return [code_encoder()]
    return list(number_pipeline().named_steps.values()) if form == MATRIX else []


def _for_frame(frame: Any, form: str) -> TableTransformer:
    found: dict[str, list[int]] = {kind: [] for kind in KINDS_OF[form]}
    for place, column in enumerate(columns_of(frame)):
        kind = kind_of(column)
        found[CODES if kind == CATEGORIES and form == COLUMNS else kind].append(place)
    parts = []
    for kind, places in found.items():
        one_by_one = [[place] for place in places] if kind == TEXT else [places]  # one vocabulary per column
        parts += [Part(kind, group, _steps(kind, form)) for group in one_by_one if group]
    return TableTransformer(parts, MAX_DENSITY if form == MATRIX else 0.0)


def count_codes(transformer: Any) -> int:
    """How many columns of the form for trees are codes of categories."""
    return sum(len(part.places) for part in getattr(transformer, "parts", ()) if part.kind == CODES)


def library_of(data: Any) -> str:
    return nw.from_native(data, eager_only=True).implementation.value


def as_frame(data: Any, library: str, names: Any) -> Any:
    """An array as a DataFrame of this library."""
    table = np.asarray(data)
    schema = list(names) if names is not None else [str(place) for place in range(table.shape[1])]
    return nw.from_numpy(table, schema=schema, backend=library).to_native()  # type: ignore[arg-type]


DATE_PARTS = ("year", "month", "day", "weekday", "hour", "time")


def feature_names(transformer: Any, columns: Sequence[str]) -> list[str]:
    """One name per feature, in the order of the transformer's output; ``columns`` are those of the table."""
    if transformer is None:
        return list(columns)
    if isinstance(transformer, TableTransformer):
        return [name for part in transformer.parts for name in _of_part(part, [columns[place] for place in part.places])]
    if isinstance(transformer, Pipeline) and {"impute", "scale"} >= set(transformer.named_steps):
        return _with_gaps(transformer.named_steps.get("impute"), columns)
    return [str(name) for name in transformer.get_feature_names_out()]  # the user's own


def _of_part(part: Part, columns: list[str]) -> list[str]:
    if part.kind == TEXT:
        return [f"{columns[0]}: {word}" for word in part.steps[0].get_feature_names_out()]
    if part.kind == CATEGORIES:
        return _of_categories(part.steps[0], columns)
    if part.kind == DATES:
        columns = [f"{name} of {column}" for column in columns for name in DATE_PARTS]
    return _with_gaps(part.steps[0] if part.steps and hasattr(part.steps[0], "indicator_") else None, columns)


def _with_gaps(imputer: Any, columns: Sequence[str]) -> list[str]:
    """The columns, and one more for each that had gaps."""
    gaps = [] if imputer is None or imputer.indicator_ is None else imputer.indicator_.features_.tolist()
    return [*columns, *(f"{columns[place]} is missing" for place in gaps)]


def _of_categories(encoder: Any, columns: list[str]) -> list[str]:
    names = []
    for column, values, rare in zip(columns, encoder.categories_, encoder.infrequent_categories_, strict=True):
        rare = set() if rare is None else set(rare.tolist())
        frequent = [value for value in values.tolist() if value not in rare]
        names += [f"{column} is missing" if is_missing(value) else f"{column} = {value}" for value in frequent]
        names += [f"{column} is rare"] if rare else []
    return names
