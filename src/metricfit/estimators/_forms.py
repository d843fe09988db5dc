"""From a user's table to the forms of it that learners read, and errors for numbers that no model has a score for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array

from metricfit._checks import check_option
from metricfit._typing import Floats, Ints
from metricfit.estimators._preprocess import build_preprocessor, count_codes, feature_names, is_frame
from metricfit.learners import COLUMNS, GIVEN, MATRIX, Forms, spread_rows, take_rows

MOST_ROWS = 20_000  # of an array that medians and scales are learned from
MOST_FRAME_ROWS = 200_000  # of a table or a sparse matrix, that also has categories, words and kinds of columns


@dataclass(frozen=True)
class FormReader:
    """Fitted transformers by form; a form without one is the table itself."""

    transformers: dict[str, Any]
    columns: list[str]  # names of the table's columns, or x0, x1, ... as in scikit-learn
    automatic: bool = True  # else there is one form for all learners: what the user's own transformer makes, or the table
    memory: dict[str, Any] | None = None  # the last table and its forms; None to read a table anew each time

    @classmethod
    def fit(cls, data: Any, labels: Ints, weight: Floats, preprocess: Any, forms: Iterable[str]) -> FormReader:
        """For ``preprocess`` of ``MetricClassifier``: "auto", a transformer, or None."""
        automatic = isinstance(preprocess, str)
        if automatic:
            check_option(preprocess, "preprocess", ("auto",))
            if (rows := _rows_to_learn_from(data)) is not None:
                data, labels, weight = take_rows(data, rows), labels[rows], weight[rows]
            made = {form: build_preprocessor(data, form) for form in sorted(set(forms) - {GIVEN})}
        else:
            made = {} if preprocess is None else {MATRIX: clone(preprocess)}
        weighted = {"scale__sample_weight": weight} if automatic and not is_frame(data) else {}
        with config_context(enable_metadata_routing=False, transform_output="default"):  # not the caller's
            fitted = {form: one.fit(data, labels, **weighted) for form, one in made.items() if one is not None}
        return cls(fitted, column_names(data), automatic)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features of linear models and networks, as many as ``coef_`` has columns.

        ``input_features`` are names for the columns of the table instead of its own.
        """
        columns = self.columns if input_features is None else [str(name) for name in input_features]
        if len(columns) != len(self.columns):
            raise ValueError(f"`input_features` should have {len(self.columns)} names, got {len(columns)}.")
        return np.array(feature_names(self.transformers.get(MATRIX), columns), dtype=object)

    def check_names(self, frame: Any) -> None:
        """Raise a ValueError for a DataFrame whose columns are not those of the fit, in their order."""
        for index, (name, expected) in enumerate(zip(column_names(frame), self.columns, strict=True)):
            if name != expected:
                raise ValueError(
                    f"Column {index} of X, counted from 0, should be {expected!r} as in the fit, got {name!r}. Pass the same "
                    "columns in the same order."
                )

    def read(self, data: Any, forms: Iterable[str]) -> Any:
        """The rows in one form, or in several."""
        wanted = sorted(forms) if self.automatic else [MATRIX]
        return Forms(partial(self._in_form, data), self.n_codes) if len(wanted) > 1 else self._in_form(data, wanted[0])

    def read_numbers(self, data: Any, form: str) -> tuple[Floats, list[str]]:
        """The features of some rows, as learners of this form read them, and their names."""
        found = self._in_form(data, form)
        names = feature_names(self.transformers.get(form), self.columns)
        return np.asarray(found.toarray() if issparse(found) else found, np.float64), names

    @property
    def n_codes(self) -> int:
        """How many of the first columns for trees are codes of categories."""
        return count_codes(self.transformers.get(COLUMNS)) if self.automatic else 0

    def remembering(self) -> FormReader:
        """The same reader, which keeps what it made of the last table, for many models that predict the same rows."""
        return replace(self, memory={})

    def _in_form(self, data: Any, form: str) -> Any:
        if self.memory is None or form not in self.transformers:
            return self._make(data, form)
        if self.memory.get("") is not data:
            self.memory.clear()
            self.memory[""] = data
        if form not in self.memory:
            self.memory[form] = self._make(data, form)
        return self.memory[form]

    def _make(self, data: Any, form: str) -> Any:
        if form not in self.transformers:
            return data
        with config_context(transform_output="default"):
            found = self.transformers[form].transform(data)
        finite: Any = "allow-nan" if form == COLUMNS else True
        return check_array(found, accept_sparse="csr", dtype=np.float64, ensure_all_finite=finite)


def column_names(data: Any) -> list[str]:
    """The names of a DataFrame's columns; those of an array are numbered."""
    names = getattr(data, "column_names", getattr(data, "columns", None))
    return [f"x{index}" for index in range(data.shape[1])] if names is None else [str(name) for name in names]


def _rows_to_learn_from(data: Any) -> Ints | None:
    """Evenly spaced rows of a large table; None for all. Those of an array include a gap of every column that has one."""
    if not isinstance(data, np.ndarray):
        return spread_rows(data.shape[0], MOST_FRAME_ROWS) if data.shape[0] > MOST_FRAME_ROWS else None
    if len(data) <= MOST_ROWS:
        return None
    gaps = [np.flatnonzero(np.isnan(column))[:1] for column in data.T]
    return np.unique(np.concatenate([spread_rows(len(data), MOST_ROWS), *gaps]))


class OutOfReachError(ValueError):
    """Rows whose numbers overflow in the model; ``rows`` has the index of each, and what is wrong with it."""

    def __init__(self, rows: Mapping[int, str]) -> None:
        first = min(rows)
        super().__init__(f"Row {first} of X, counted from 0, {rows[first]}.")
        self.rows = dict(rows)


def check_computed(scores: Floats, probabilities: Floats, reader: FormReader, data: Any, forms: list[str]) -> None:
    """Raise an error for rows without a number; it names the column that is farthest from the rows of the fit."""
    wrong = np.flatnonzero(~np.isfinite(probabilities).all(1) | np.isnan(scores).any(1))
    if not len(wrong):
        return
    if MATRIX not in forms:  # trees have a score for every number
        raise OutOfReachError(dict.fromkeys(wrong.tolist(), "has no score: the numbers of the model are too large"))
    table, names = reader.read_numbers(_safe_indexing(data, wrong), MATRIX)
    found = {}
    for row, numbers in zip(wrong.tolist(), table, strict=True):
        index = int(np.abs(numbers).argmax())
        far = f"{numbers[index]:.1e} standard deviations"
        found[row] = f"column {names[index]!r} is too far from the rows of the fit ({far})"
    raise OutOfReachError(found)


def check_float32(reader: FormReader, data: Any) -> None:
    """Raise an error for numbers that the float32 of trees cannot hold."""
    table, names = reader.read_numbers(data, COLUMNS)
    cells = np.argwhere(np.abs(table) > np.finfo(np.float32).max)[::-1]  # the first of a row wins
    if len(cells):
        said = "column {!r} has {:.3g}, too much for trees"
        raise OutOfReachError({int(row): said.format(names[index], table[row, index]) for row, index in cells})
