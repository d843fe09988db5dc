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

MOST_CLASSES = 20  # of numbers, if they are also more than a twentieth of the rows
MOST_FRACTIONS = 10  # different numbers that are not whole


@dataclass(frozen=True)
class Task:
    """Features, labels, and how many rows were left out because they have no label."""

    features: pa.Table
    labels: NDArray[Any]
    target: str
    without_label: int


def task_of(table: pa.Table, target: str, dropped: Sequence[str], path: Path) -> Task:
    """Cut the table in two."""
    features = table.drop_columns(list(dict.fromkeys([target, *dropped])))
    if not features.num_columns:
        raise DataError(f"{path} has no column beside the target {target!r}.")
    known = pc.is_valid(table[target])
    labels = _labels(table[target].filter(known))
    _check(labels, target, path)
    return Task(features.filter(known), labels, target, table.num_rows - len(labels))


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
    """The class that is written like this."""
    for label in classes.tolist():
        if str(label) == text or str(label).lower() == text.lower():
            return label
    known = [str(label) for label in classes]
    shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
    raise UsageError(f"{option} {text!r} is not a class of the target.{did_you_mean(text, known)} There are: {shown}.")


def _labels(column: pa.ChunkedArray) -> NDArray[Any]:
    """As they are; whole numbers as such, dates as they are written."""
    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=str)
    if pa.types.is_temporal(column.type):
        return np.array([value.isoformat() for value in column.to_pylist()], dtype=str)
    values = column.to_numpy()
    if (
        values.dtype.kind == "f"
        and np.isfinite(values).all()
        and (values == np.round(values)).all()
        and np.abs(values).max(initial=0) < 2**53
    ):
        return values.astype(np.int64)
    return values


def _check(labels: NDArray[Any], target: str, path: Path) -> None:
    classes, counts = np.unique(labels, return_counts=True)
    if not len(classes):
        raise DataError(f"{path}, column {target!r}: no row has a value to learn from.")
    if len(classes) == 1:
        raise DataError(
            f"{path}, column {target!r} holds one class only: {classes.tolist()[0]!r}. There is nothing to tell apart."
        )
    fractions = labels.dtype.kind == "f" and len(classes) > MOST_FRACTIONS
    many = labels.dtype.kind in "if" and len(classes) > max(MOST_CLASSES, len(labels) / 20)
    if fractions or many:
        values = f"{len(classes)} different values, {classes.min():g} to {classes.max():g}"
        raise DataError(
            f"{path}, column {target!r} looks like a number to be estimated ({values}), not like a class. "
            "Name another column by --target, or make classes of it."
        )
    if counts.min() == 1:
        rare = classes.tolist()[counts.argmin()]
        others = f" (and {int((counts == 1).sum()) - 1} more classes)" if (counts == 1).sum() > 1 else ""
        raise DataError(
            f"{path}, column {target!r}: class {rare!r} has one row{others}, so nothing can be held out to check it. "
            "Add rows, or remove the class."
        )
