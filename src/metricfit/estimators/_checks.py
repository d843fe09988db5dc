"""Checks of labels, weights of rows and splits, and their error messages: once for all estimators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from metricfit._typing import Floats, Ints
from metricfit.estimators._kinds import is_missing

LEAST_WEIGHT = 1e-15  # of a row beside the heaviest row: too little to change a sum
BETTER_CV = "Try cv=5."


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


def check_cv_argument(cv: Any) -> None:
    """Raise a ValueError for too few folds and for an empty list of splits."""
    if isinstance(cv, int | np.integer) and cv < 2:
        raise ValueError(f"`cv` should be at least 2 folds, a splitter or a list of splits, got {cv}. {BETTER_CV}")
    if isinstance(cv, list | tuple) and not cv:
        raise ValueError(f"`cv` should have at least one split, got none. {BETTER_CV}")


def read_splits(cv: Any, labels: Ints) -> list[tuple[Ints, Ints]]:
    """The splits of a splitter or of a list: row numbers, none in both parts of a split, and no part empty."""
    n_rows, found = len(labels), list[tuple[Ints, Ints]]()
    for place, split in enumerate(_given_splits(cv, labels)):
        if not isinstance(split, tuple | list | np.ndarray) or len(split) != 2:
            raise ValueError(f"`cv` should have pairs of training and test rows, got {_shown(split)}. {BETTER_CV}")
        train, test = (_row_numbers(part, name, place, n_rows) for part, name in zip(split, ("training", "test"), strict=True))
        both = np.intersect1d(train, test)
        if len(both):
            raise ValueError(
                f"`cv` should hold test rows out of training, got row {both[0]} in both parts of split {place}. "
                f"Take it out of one of them."
            )
        found.append((train, test))
    if not found:
        raise ValueError(
            f"`cv` should have at least one split, got none. A generator can be read once only: pass a list. {BETTER_CV}"
        )
    return found


def _given_splits(cv: Any, labels: Ints) -> Iterable[Any]:
    if isinstance(cv, Iterable) and not isinstance(cv, str) and not hasattr(cv, "split"):
        return cv  # scikit-learn would take an empty one
    return check_cv(cv, labels, classifier=True).split(np.empty((len(labels), 1)), labels)


def _row_numbers(rows: Any, part: str, place: int, n_rows: int) -> Ints:
    """Row numbers, from row numbers or a mask."""
    found, where = np.asarray(rows), f"as {part} rows of split {place}"
    if found.dtype == bool and found.shape == (n_rows,):
        found = np.flatnonzero(found)
    if found.ndim != 1 or (len(found) and found.dtype.kind not in "iu"):
        what = f"{found.dtype} of shape {found.shape}"
        raise ValueError(f"`cv` should have row numbers, or masks of {n_rows} rows, got {what} {where}. {BETTER_CV}")
    if not len(found):
        raise ValueError(f"`cv` should have rows in both parts of every split, got none {where}. {BETTER_CV}")
    outside = found[(found < 0) | (found >= n_rows)]
    if len(outside):
        raise ValueError(f"`cv` should have row numbers in 0 ... {n_rows - 1}, got {outside[0]} {where}. Count rows from 0.")
    return found.astype(np.int64)


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


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else f"{text[:39]}…"
