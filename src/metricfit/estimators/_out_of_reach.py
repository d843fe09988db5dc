"""Numbers so far from those of the fit that a model has no score for them: which row, and which column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from metricfit._typing import Floats
from metricfit.estimators._forms import FormReader
from metricfit.learners import COLUMNS, MATRIX


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
