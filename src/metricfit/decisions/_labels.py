"""Labels of any type as columns of scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from metricfit._printable import did_you_mean
from metricfit._typing import Ints


def read_labels(y: Any, shape: tuple[int, ...], classes: Iterable[Any] | None = None, names: Iterable[Any] = ()) -> Ints:
    """The column of every label (n,), for scores of shape (n, k).

    Columns are ``classes`` if they are given; or the ``names`` of columns if all labels are among them; or their indices if
    the labels are whole numbers 0 ... k - 1; or else the k distinct labels, sorted.

    >>> read_labels(["yes", "no", "yes"], (3, 2)).tolist()
    [1, 0, 1]
    >>> read_labels([2, 1, 2], (3, 3)).tolist()
    [2, 1, 2]
    """
    return match_columns(y, shape, classes, names)[0]


def match_columns(
    y: Any, shape: tuple[int, ...], classes: Iterable[Any] | None = None, names: Iterable[Any] = ()
) -> tuple[Ints, list[Any]]:
    """The column of every label, and the labels of the columns; see :func:`read_labels`."""
    n_rows, n_classes = shape
    labels = as_array(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"`y` should have shape ({n_rows},) to match the scores, got {labels.shape}.")
    found, index = _distinct(labels)
    columns = _columns(found, n_classes, classes, list(names))
    try:
        return np.array([columns.index(label) for label in found.tolist()])[index], columns
    except ValueError:
        unknown = next(label for label in found.tolist() if label not in columns)
        near = did_you_mean(unknown, map(str, columns))
        raise ValueError(f"`y` should hold labels of `classes` only, {columns}, got also {unknown!r}.{near}") from None


def _columns(found: NDArray[Any], n_classes: int, classes: Iterable[Any] | None, names: list[Any]) -> list[Any]:
    """The labels of the columns, given the distinct labels."""
    if classes is not None:
        return check_classes(classes, n_classes).tolist()
    known = found.tolist()
    if all(label in names for label in known):
        return names
    if found.dtype.kind in "iufb" and all(label in range(n_classes) for label in known):
        return list(range(n_classes))
    if len(known) == n_classes:
        return known
    shown = ", ".join(map(repr, known[:5])) + (", ..." if len(known) > 5 else "")
    raise ValueError(
        f"`y` should have {n_classes} different labels, one per column of scores, got {len(known)}: {shown}. "
        "Pass `classes`, the label of every column, or labels 0 ... k - 1."
    )


def check_classes(classes: Iterable[Any], n_classes: int) -> NDArray[Any]:
    """The labels of the columns as an array (k,)."""
    labels = as_array(list(classes))
    if labels.shape != (n_classes,) or len(set(labels.tolist())) < n_classes:
        raise ValueError(f"`classes` should name {n_classes} different classes, one per column, got {labels.tolist()}.")
    return labels


def as_array(labels: Any) -> NDArray[Any]:
    """Labels of an array, list, data frame or tensor, each of its own type; one column as (n,)."""
    if isinstance(labels, torch.Tensor):
        labels = labels.detach().cpu().numpy()
    array = np.asarray(labels)
    if array.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        array = np.array(labels, object)  # numpy makes a text of a missing label beside texts
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _distinct(labels: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """The distinct labels, sorted, and which of them each row has."""
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(
            f"`y` should have a label in every row, got {int(np.isnan(labels).sum())} NaN. Drop these rows first."
        )
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        types = ", ".join(sorted({type(label).__name__ for label in labels.tolist()}))
        raise ValueError(f"`y` should have labels of one type in every row, got {types}.") from error
