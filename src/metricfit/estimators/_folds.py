"""Which rows each split holds out: folds, the user's own splits, or a single split."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from metricfit._typing import Ints
from metricfit.estimators._checks import check_cv_argument, read_splits
from metricfit.selection import stratified_folds

HELD_OUT = 0.2  # share of rows in a single split

Split = tuple[Any, Any]


def count_folds(cv: Any, labels: Ints) -> int:
    """How many folds there will be; 0 for too few rows."""
    check_cv_argument(cv)
    if not isinstance(cv, int | np.integer):
        return 2  # or more: the user's own
    n_folds = min(int(cv), int(np.sort(np.bincount(labels))[-2]))
    return n_folds if n_folds >= 2 else 0


def build_splits(cv: Any, labels: Ints, used: NDArray[np.bool_], classes: NDArray[Any], seed: int) -> list[Split]:
    """Folds; none for too few rows. ``used`` says which rows of the user's table these labels are of."""
    if not isinstance(cv, int | np.integer):
        return _given_splits(cv, labels, used)
    n_folds, counts = count_folds(cv, labels), np.bincount(labels)
    if not n_folds:
        warnings.warn(f"{len(labels)} rows are too few to hold any out: candidates are not compared.", stacklevel=4)
        return []
    if counts.min() < cv:
        rare = classes.tolist()[counts.argmin()]
        warnings.warn(
            f"Class {rare!r} has {counts.min()} rows for {cv} folds: using {n_folds} folds. A class that is "
            "missing in a training fold counts as missed in its test fold.",
            stacklevel=4,
        )
    splits = stratified_folds(labels, n_folds, seed)
    return [(train.astype(np.int32), test.astype(np.int32)) for train, test in splits]  # half the memory


def network_splits(
    n_members: int, cv: Any, labels: Ints, used: NDArray[np.bool_], classes: NDArray[Any], seed: int
) -> list[Split]:
    """One split per network, at least one: the first of the user's own splits, or folds, or a split that holds out a fifth."""
    if not isinstance(cv, int | np.integer):
        return _given_splits(cv, labels, used)[:n_members]
    if n_members > 1 and count_folds(n_members, labels):
        return build_splits(n_members, labels, used, classes, seed)
    return _hold_out(labels, seed)


def _given_splits(cv: Any, labels: Ints, used: NDArray[np.bool_]) -> list[Split]:
    """The user's own splits of the table, as splits of the rows that are used."""
    given = np.zeros(len(used), np.int64)
    given[used] = labels
    place = np.cumsum(used) - 1
    indices = read_splits(cv, given)
    splits = [(place[train[used[train]]], place[test[used[test]]]) for train, test in indices]
    if not all(len(part) for split in splits for part in split):
        raise ValueError("`cv` should have rows of positive weight in both parts of every split, got a part without.")
    return splits


def _hold_out(labels: Ints, seed: int) -> list[Split]:
    """One split into training and held-out rows; by class where every class has two rows or more."""
    counts = np.bincount(labels)
    stratified = counts.min() >= 2 and len(labels) * HELD_OUT >= len(counts)
    splitter = StratifiedShuffleSplit if stratified else ShuffleSplit
    return list(splitter(1, test_size=HELD_OUT, random_state=seed).split(np.empty((len(labels), 1)), labels))
