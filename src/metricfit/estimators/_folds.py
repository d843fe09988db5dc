"""The rows of a fit, and which of them each split holds out: folds, splits that the user passes, or a single split."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedGroupKFold, StratifiedShuffleSplit, check_cv

from metricfit._typing import Floats, Ints
from metricfit.decisions import check_groups
from metricfit.learners import count_folds, stratified_folds, take_rows

HELD_OUT = 0.2  # share of rows in a single split
BETTER_CV = "Try cv=5."

Split = tuple[Any, Any]


class Part(NamedTuple):
    """The rows that a model is trained on, or None for all; those that set the rule; and ``cv`` for the training rows."""

    train: Ints | None
    held_out: Ints
    cv: Any


@dataclass(frozen=True)
class FitData:
    """Checked rows with a positive weight; ``used`` says which rows of the user's table these are."""

    data: Any
    labels: Ints
    weight: Floats
    classes: NDArray[Any]
    class_weight: Floats
    used: NDArray[np.bool_]
    seed: int
    order: Sequence[Any] | None  # of the classes, if it is known
    cv: Any
    groups: Ints | None = None
    costs: Mapping[str, Floats] = field(default_factory=dict)  # columns of costs per row

    def with_columns(self, groups: Any, costs: Mapping[str, Floats]) -> FitData:
        """With columns of costs, and with groups: no part of a split shares one with another."""
        found = replace(self, costs={name: column[self.used] for name, column in costs.items()})
        if groups is None:
            return found
        numbers = check_groups(groups, len(self.used))
        known = np.zeros(len(self.used), np.int64)
        known[self.used] = self.labels
        cv = read_splits(by_groups(self.cv, self.labels, self.seed), known, groups)
        return replace(found, cv=cv, groups=numbers[self.used])

    def take(self, part: Part) -> FitData:
        """The rows that a part trains on."""
        if part.train is None:
            return self
        data, used = take_rows(self.data, part.train), np.ones(len(part.train), np.bool_)
        labels, weight = self.labels[part.train], self.weight[part.train]
        return replace(self, data=data, labels=labels, weight=weight, used=used, cv=part.cv, groups=None, costs={})

    def parts(self, share: float | None, promises: bool) -> list[Part]:
        """Rows that train a model, and those that set its rule: the splits of ``cv``, or one that holds out a share."""
        cv, drawn = self.cv, share is not None and isinstance(self.cv, int | np.integer)
        given = [] if drawn else self.splits()
        found = calibration_splits(cv, given, self.labels, self.seed, share, promises)
        return [Part(train, test, splits_within(train, cv, given)) for train, test in found]

    def splits(self, n_folds: int | None = None) -> Sequence[Split]:
        """The user's splits, as splits of the rows that are used, or folds; none for too few rows."""
        cv = self.cv if n_folds is None else n_folds
        if not isinstance(cv, int | np.integer):
            return self._given_splits()
        n_folds, counts = folds_of_cv(cv, self.labels), np.bincount(self.labels)
        if not n_folds:
            warnings.warn(f"{len(self.labels)} rows are too few to hold any out: candidates are not compared.", stacklevel=4)
            return []
        if counts.min() < cv:
            rare = self.classes.tolist()[counts.argmin()]
            warnings.warn(
                f"Class {rare!r} has {counts.min()} rows for {cv} folds: using {n_folds} folds. A class that is "
                "missing in a training fold counts as missed in its test fold.",
                stacklevel=4,
            )
        return stratified_folds(self.labels, n_folds, self.seed)

    def network_splits(self, n_members: int) -> Sequence[Split]:
        """One split per network, at least one: the first of the user's splits, or folds, or one that holds out a fifth."""
        if not isinstance(self.cv, int | np.integer):
            return self._given_splits()[:n_members]
        if n_members > 1 and count_folds(n_members, self.labels):
            return self.splits(n_members)
        return _hold_out(self.labels, self.seed)

    def _given_splits(self) -> list[Split]:
        given = np.zeros(len(self.used), np.int64)
        given[self.used] = self.labels
        index = np.cumsum(self.used) - 1  # of each row of the table among those that are used
        found = [[index[part[self.used[part]]] for part in split] for split in read_splits(self.cv, given)]
        if not all(len(part) for split in found for part in split):
            raise ValueError("`cv` should have rows of positive weight in both parts of every split, got a part without.")
        return [(train, test) for train, test in found]


def folds_of_cv(cv: Any, labels: Ints) -> int:
    """How many folds there will be; 0 for too few rows."""
    check_cv_argument(cv)
    if not isinstance(cv, int | np.integer):
        return 2  # or more: the user's splits
    return count_folds(int(cv), labels)


def by_groups(cv: Any, labels: Ints, seed: int) -> Any:
    """``cv`` for rows in groups: a number of folds becomes a splitter that keeps groups together."""
    if not isinstance(cv, int | np.integer):
        return cv
    return StratifiedGroupKFold(max(folds_of_cv(cv, labels), 2), shuffle=True, random_state=seed)


def calibration_splits(
    cv: Any, splits: Sequence[Split], labels: Ints, seed: int, share: float | None, promises: bool
) -> Sequence[Split]:
    """The rows that train a model, and those that set its rule: the splits of ``cv``, or one that holds out a share.

    Of the user's splits, which may keep groups or an order in time, the last ones are held out.
    """
    if share is not None and isinstance(cv, int | np.integer):
        return _hold_out(labels, seed, share)
    if not splits:
        raise ValueError("`subject_to` needs two rows in at least two classes to hold any out.")
    if share is not None:
        last = splits[-max(1, round(share * len(splits))) :]
        splits = [
            (reduce(np.intersect1d, (train for train, _ in last)), np.unique(np.concatenate([test for _, test in last])))
        ]
    if promises and np.bincount(np.concatenate([test for _, test in splits])).max() > 1:
        raise ValueError("`confidence` needs splits that hold out every row once at most. Try cv=5.")
    return splits


def label_splits(cv: Any, table: Ints, groups: Any, seed: int) -> Sequence[Split]:
    """The splits of ``cv`` for rows with several labels (n, K); folds have equal shares of the rarest label of each row."""
    check_cv_argument(cv)
    if not isinstance(cv, int | np.integer):
        return read_splits(cv, table, groups)
    ranked = np.argsort(table.sum(0), kind="stable")
    rarest = np.where(table.any(1), table[:, ranked].argmax(1), table.shape[1])
    rarest = np.unique(rarest, return_inverse=True)[1].astype(np.int64)
    n_folds = min(int(cv), len(table))
    if groups is not None:
        return read_splits(StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed), rarest, groups)
    if np.bincount(rarest).max() < n_folds:
        return list(KFold(n_folds, shuffle=True, random_state=seed).split(table))
    return stratified_folds(rarest, n_folds, seed)


def splits_within(rows: Ints, cv: Any, splits: Sequence[Split]) -> Any:
    """``cv`` for some of the rows alone: a number of folds stays, and of the user's splits the rows among these remain."""
    if isinstance(cv, int | np.integer):
        return cv
    index = np.full(1 + max(int(np.max(part)) for split in [*splits, (rows,)] for part in split), -1)
    index[rows] = np.arange(len(rows))
    parts = ([index[part][index[part] >= 0] for part in split] for split in splits)
    found = [(train, test) for train, test in parts if len(train) and len(test)]
    if not found:
        raise ValueError(
            "`cv` should have splits among the training rows of each of its splits where constraints are set, got none. Try "
            "cv=5, or pass calibration=0.25."
        )
    return found


def _hold_out(labels: Ints, seed: int, share: float = HELD_OUT) -> list[Split]:
    """One split into training and held-out rows; by class where every class has two rows or more."""
    counts = np.bincount(labels)
    stratified = counts.min() >= 2 and len(labels) * share >= len(counts)
    splitter = StratifiedShuffleSplit if stratified else ShuffleSplit
    return list(splitter(1, test_size=share, random_state=seed).split(np.empty((len(labels), 1)), labels))


def check_cv_argument(cv: Any) -> None:
    """Raise a ValueError for too few folds and for an empty list of splits."""
    if isinstance(cv, int | np.integer) and cv < 2:
        raise ValueError(f"`cv` should be at least 2 folds, a splitter or a list of splits, got {cv}. {BETTER_CV}")
    if isinstance(cv, list | tuple) and not cv:
        raise ValueError(f"`cv` should have at least one split, got none. {BETTER_CV}")


def read_splits(cv: Any, labels: Ints, groups: Any = None) -> list[tuple[Ints, Ints]]:
    """The splits of a splitter or of a list: row numbers, none in both parts of a split, and no part empty."""
    n_rows, found = len(labels), list[tuple[Ints, Ints]]()
    for index, split in enumerate(_iterate(cv, labels, groups)):
        if not isinstance(split, tuple | list | np.ndarray) or len(split) != 2:
            raise ValueError(f"`cv` should have pairs of training and test rows, got {_shown(split)}. {BETTER_CV}")
        train, test = (_row_numbers(part, name, index, n_rows) for part, name in zip(split, ("training", "test"), strict=True))
        both = np.intersect1d(train, test)
        if len(both):
            raise ValueError(
                f"`cv` should hold test rows out of training, got row {both[0]} in both parts of split {index}. "
                f"Take it out of one of them."
            )
        found.append((train, test))
    if not found:
        raise ValueError(
            f"`cv` should have at least one split, got none. A generator can be read once only: pass a list. {BETTER_CV}"
        )
    return found


def _iterate(cv: Any, labels: Ints, groups: Any) -> Iterable[Any]:
    if isinstance(cv, Iterable) and not isinstance(cv, str) and not hasattr(cv, "split"):
        return cv  # scikit-learn would take an empty one
    names = None if groups is None else np.asarray(groups)
    return check_cv(cv, labels, classifier=True).split(np.empty((len(labels), 1)), labels, names)


def _row_numbers(rows: Any, part: str, index: int, n_rows: int) -> Ints:
    """Row numbers, from row numbers or a mask."""
    found, where = np.asarray(rows), f"as {part} rows of split {index}"
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


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else f"{text[:39]}…"
