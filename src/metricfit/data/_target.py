"""The column to predict, apart from the others; and whether it is one that can be predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from metricfit._checks import did_you_mean
from metricfit._errors import DataError, UsageError
from metricfit.data._layout import MISSING, is_number

MOST_CLASSES = 20  # of numbers, if there are also less than ten rows for each
MOST_FRACTIONS = 10  # different numbers that are not whole
_NO_LABEL = pa.array([word for word in MISSING if word != "None"])  # which may well be a class


@dataclass(frozen=True)
class Task:
    """Features, labels, and how many rows were left out because they have no label."""

    features: pa.Table
    labels: NDArray[Any]
    target: str
    without_label: int


def task_of(table: pa.Table, target: str, path: Path) -> Task:
    """Cut the table in two."""
    features, column = table.drop_columns(target), table[target]
    if not features.num_columns:
        raise DataError(f"{path} has no column beside the target {target!r}.")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_null(column.type):
        column = pc.utf8_trim_whitespace(column.cast(pa.string()))
        column = pc.if_else(pc.is_in(column, _NO_LABEL), None, column)
    known = pc.is_valid(column)
    labels = _labels(column.filter(known), target, path)
    _check(labels, target, path, len(column) - len(labels))
    return Task(features.filter(known), labels, target, len(column) - len(labels))


def column_named(wanted: str, names: Sequence[str], option: str) -> str:
    """A column by its name, or by its number from 1, or from the end by a negative one."""
    if wanted in names:
        return wanted
    try:
        place = int(wanted)
    except ValueError:
        known = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise UsageError(f"{option} {wanted!r} is not a column.{did_you_mean(wanted, names)} There are: {known}.") from None
    if not 1 <= abs(place) <= len(names):
        raise UsageError(f"{option} {wanted} is not a column: there are {len(names)}, numbered from 1.")
    return names[place - 1 if place > 0 else place]


def label_like(text: str, classes: NDArray[Any], option: str) -> Any:
    """The class that is written like this, or the only one that is but for capital letters."""
    known = [str(label) for label in classes]
    same = [place for place, name in enumerate(known) if name == text]
    alike = same or [place for place, name in enumerate(known) if name.lower() == text.lower()]
    if len(alike) == 1:
        return classes.tolist()[alike[0]]
    shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
    raise UsageError(f"{option} {text!r} is not a class of the target.{did_you_mean(text, known)} There are: {shown}.")


def _labels(column: pa.ChunkedArray, target: str, path: Path) -> NDArray[Any]:
    """As they are; text that is whole numbers, written as these are, as such; dates as ISO writes them."""
    if pa.types.is_string(column.type):
        words = np.array(column.to_pylist(), dtype=str)
        classes = np.unique(words)
        whole = all(name.lstrip("-").isdecimal() and str(int(name)) == name and len(name) < 19 for name in classes.tolist())
        return words.astype(np.int64) if whole else words
    if pa.types.is_temporal(column.type) and not pa.types.is_duration(column.type):
        return np.array([value.isoformat() for value in column.to_pylist()], dtype=str)
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        return column.to_numpy()
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        values = column.cast(pa.float64()).to_numpy()
        if not np.isfinite(values).all():
            raise DataError(f"{path}, column {target!r} holds infinite numbers or NaN, which are no classes.")
        whole = np.array_equal(values, np.round(values)) and np.abs(values).max(initial=0.0) < 2**53
        return values.astype(np.int64) if whole else np.array([str(value) for value in values.tolist()], dtype=str)
    raise DataError(f"{path}, column {target!r} holds values of type {column.type}, which are no classes.")


def _check(labels: NDArray[Any], target: str, path: Path, without: int) -> None:
    classes, counts = np.unique(labels, return_counts=True)
    where = f"{path}, column {target!r}"
    if not len(classes):
        raise DataError(f"{where}: no row has a value to learn from.")
    if len(classes) == 1:
        hint = f" {without:,} rows without a value are left out." if without else ""
        raise DataError(f"{where} holds one class only: {classes.tolist()[0]!r}. There is nothing to tell apart.{hint}")
    if labels.dtype.kind in "iu" or all(map(is_number, classes.astype(str))):
        numbers = classes.astype(np.float64)
        fractions = (numbers != np.round(numbers)).any() and len(classes) > MOST_FRACTIONS
        if fractions or len(classes) > max(MOST_CLASSES, len(labels) / 10):
            values = f"{len(classes)} different values, {numbers.min():g} to {numbers.max():g}"
            raise DataError(
                f"{where} looks like a number to be estimated ({values}), not like a class. "
                "Name another column by --target, or make classes of it."
            )
    if counts.min() == 1:
        rare = classes.tolist()[counts.argmin()]
        others = f" (and {int((counts == 1).sum()) - 1} more classes)" if (counts == 1).sum() > 1 else ""
        raise DataError(
            f"{where}: class {rare!r} has one row{others}, so nothing can be held out to check it. "
            "Add rows, or remove the class."
        )
