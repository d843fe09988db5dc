"""Checks of labels and of row weights, and their error messages, for both estimators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from metricfit._typing import Floats
from metricfit.estimators._kinds import is_missing

LEAST_WEIGHT = 1e-15  # of a row beside the heaviest row: too little to change a sum


def check_target(y: Any, warn: bool = False) -> NDArray[Any]:
    """Labels (n,) of one type without gaps, for which an estimator can find classes."""
    if isinstance(y, list | tuple):
        _check_one_type(y)  # before numpy makes a text of every label
    labels = column_or_1d(y, warn=warn)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity.")
    check_label_types(labels)
    check_classification_targets(labels)
    return labels


def check_label_types(labels: NDArray[Any]) -> None:
    """Raise a ValueError for labels that are missing, are bytes, or cannot be sorted because their types differ."""
    if labels.dtype.kind == "S":
        _check_one_type(labels[:1].tolist())
    if labels.dtype != object:
        return
    if any(is_missing(value) for value in labels):
        raise ValueError("Input y contains NaN: every row needs a label. Drop these rows first.")
    _check_one_type(labels)


def check_weight(sample_weight: Any, n_rows: int) -> Floats:
    """Weights of rows (n,) whose sums cannot underflow or overflow: extreme ones are brought nearer to the largest."""
    weight = _check_sample_weight(sample_weight, np.empty((n_rows, 1)), dtype=np.float64, ensure_non_negative=True)
    largest = float(weight.max())  # scikit-learn has checked that it is positive
    if not LEAST_WEIGHT <= largest <= 1.0 / LEAST_WEIGHT:
        weight, largest = weight / largest, 1.0
    return np.where(weight > 0.0, np.maximum(weight, LEAST_WEIGHT * largest), 0.0)


def _check_one_type(labels: Iterable[Any]) -> None:
    types = Counter(map(type, labels))
    kinds = {_kind(one) for one in types}
    if kinds <= {"number"} or (len(kinds) == 1 and "bytes" not in kinds):
        return
    if any(issubclass(one, list | tuple | np.ndarray) for one in types) or any(_is_gap(one) for one in types):
        return  # other checks say that there are too many columns, or gaps
    got = " and ".join(sorted(f"{one.__name__} ({count} rows)" for one, count in types.items()))
    if kinds == {"bytes"}:
        raise ValueError(f"`y` should have texts or numbers as labels, got {got}. Try [label.decode() for label in y].")
    raise ValueError(f"`y` should have labels of one type, got {got}. Try [str(label) for label in y].")


def _kind(one: type) -> str:
    """What labels of this type are sorted with."""
    if issubclass(one, bool | np.bool_):
        return "bool"
    if issubclass(one, str):
        return "text"
    if issubclass(one, bytes):
        return "bytes"
    return "number" if issubclass(one, Real | Decimal | np.number) else one.__name__


def _is_gap(one: type) -> bool:
    return one is type(None) or one.__name__ in ("NAType", "NaTType")
