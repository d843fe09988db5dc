"""How rows are held out: by stratified folds, by whole groups, forward in time, or as a separate test set."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

from metricfit._checks import is_missing
from metricfit._typing import Ints
from metricfit.comparison._words import plural, quote
from metricfit.learners import count_folds

SHUFFLES = 20  # of the groups, until every class is in the training rows of every split
INNER_FOLDS = 5  # that a fit holds out, as in ``MetricClassifier``

Split = tuple[Ints, Ints]  # training rows and test rows


@dataclass(frozen=True)
class Plan:
    """The splits of all repeats, one repeat after the other, and how they were made, in words."""

    splits: Sequence[Split]
    n_splits: int  # of a repeat
    n_repeats: int
    evaluation: str
    notes: tuple[str, ...] = ()
    groups: Ints | None = None  # of all rows: the folds inside a fit keep them together, too
    is_test_set: bool = False  # the test rows are in a separate table

    @cached_property
    def held_out(self) -> Ints:
        """The test rows of the first repeat, in the order of the table."""
        return np.sort(np.concatenate([test for _, test in self.splits[: self.n_splits]]))

    @property
    def test_share(self) -> float:
        """The mean ratio of test to training rows."""
        return float(np.mean([len(test) / len(train) for train, test in self.splits]))

    @property
    def n_training(self) -> int:
        """The rows of the smallest training set."""
        return min(len(train) for train, _ in self.splits)

    def count_inner_folds(self, labels: Ints) -> int:
        """How many folds every fit can hold out at least; 0 for too few rows."""
        return min(count_folds(INNER_FOLDS, labels[train]) for train, _ in self.splits)

    def inner_folds(self, index: int, labels: Ints, seed: int) -> int | list[Split]:
        """What ``MetricClassifier`` takes as ``cv`` for the training rows of a split."""
        train, _ = self.splits[index]
        return INNER_FOLDS if self.groups is None else folds_of_groups(labels[train], self.groups[train], seed)


def first_splits(plan: Plan, n_done: int) -> Plan:
    """What remains of a plan that was interrupted. Test rows are those of the first repeat, or of the part of it that is done.

    The plan still says how many folds and repeats were wanted: its words end with how many splits are done.
    """
    words = f"{plan.evaluation}, partial: {n_done} of {len(plan.splits)} splits"
    n_splits = min(n_done, plan.n_splits)
    return replace(plan, splits=plan.splits[:n_done], n_splits=n_splits, n_repeats=-(-n_done // n_splits), evaluation=words)


def plan_folds(labels: Ints, classes: NDArray[Any], n_splits: int, n_repeats: int, seed: int) -> Plan:
    """Stratified folds; at most as many as the rarest class has rows."""
    counts = np.bincount(labels, minlength=len(classes))
    n_folds, notes = min(n_splits, int(counts.min())), list[str]()
    if n_folds < n_splits:
        rare = quote(classes.tolist()[counts.argmin()])
        notes.append(f"There are {n_folds} folds instead of {n_splits}: class {rare} has {plural(int(counts.min()), 'row')}.")
    splitter = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=seed)
    splits = list(splitter.split(np.empty((len(labels), 1)), labels))
    words = f"{n_folds}-fold cross-validation, {plural(n_repeats, 'repeat')}"
    return Plan(splits, n_folds, n_repeats, words, tuple(notes))


def plan_groups(labels: Ints, classes: NDArray[Any], groups: ArrayLike, n_splits: int, n_repeats: int, seed: int) -> Plan:
    """Folds of whole groups, with class sizes as even as the groups allow."""
    codes = _group_codes(groups, len(labels))
    n_groups = int(codes.max()) + 1
    if n_groups < 2:
        raise ValueError("`groups` should have at least two groups, got one: no group can be held out.")
    for index, label in enumerate(classes.tolist()):
        if len(np.unique(codes[labels == index])) < 2:
            raise ValueError(
                f"Class {quote(label)} occurs in only one group: it is missing from training when that group is held out. "
                "Merge the class with others (--merge-rare) or leave its rows out, or do without groups."
            )
    splits, notes, most = list[Split](), list[str](), min(n_splits, n_groups, int(np.bincount(labels).max()))
    for n_folds in range(most, 1, -1):  # very uneven groups can leave a fold empty
        repeats = [_repeat_of_groups(labels, codes, n_folds, seed, repeat) for repeat in range(n_repeats)]
        splits = [split for repeat in _distinct(repeats) for split in repeat]
        if all(len(test) for _, test in splits):
            break
    if n_folds < n_splits:
        notes.append(f"There are {n_folds} folds instead of {n_splits}: there are {n_groups} groups.")
    if len(splits) < n_folds * n_repeats:
        n_repeats = len(splits) // n_folds
        some = f"is {n_repeats} repeat" if n_repeats == 1 else f"are {n_repeats} repeats"
        notes.append(f"There {some}: more would repeat the same folds.")
    if any(len(np.unique(codes[train])) < 2 for train, _ in splits):
        notes.append("Some splits train on one group: tuning inside these fits uses ordinary folds.")
    words = f"{n_folds}-fold cross-validation over {plural(n_groups, 'group')}, {plural(n_repeats, 'repeat')}"
    return Plan(splits, n_folds, n_repeats, words, tuple(notes), codes)


def plan_time(time: ArrayLike, n_rows: int, n_splits: int, n_repeats: int) -> Plan:
    """Forward splits: every test block follows its training rows, which are all rows before it.

    The rows are cut into ``n_splits + 1`` blocks of about the same size. Rows of the same moment stay in one block.
    """
    moments, codes, counts = np.unique(_check_time(time, n_rows), return_inverse=True, return_counts=True)
    if len(moments) < 2:
        raise ValueError("`time` should have at least two moments, got the same for all rows: nothing comes later.")
    middle = (np.cumsum(counts) - 0.5 * counts) / n_rows  # of each moment, as a share of all rows
    wanted = np.minimum((middle * (n_splits + 1)).astype(np.int64), n_splits)
    _, block = np.unique(wanted, return_inverse=True)  # a moment with many rows can leave a block empty
    if block.max() < 1:
        block = (np.arange(len(moments)) > 0).astype(np.int64)
    rows, n_blocks = block[codes], int(block.max()) + 1
    splits = [(np.flatnonzero(rows < one), np.flatnonzero(rows == one)) for one in range(1, n_blocks)]
    notes = []
    if len(splits) < n_splits:
        many = plural(len(splits), "forward split")
        notes.append(
            f"There {'is' if len(splits) == 1 else 'are'} {many} instead of {n_splits}: many rows have the same time."
        )
    if n_repeats > 1:
        notes.append("Splits by time are not repeated.")
    return Plan(splits, len(splits), 1, f"{plural(len(splits), 'forward split')} by time", tuple(notes))


def plan_test_set(n_rows: int, n_test: int) -> Plan:
    """All rows train, the test set is judged once."""
    note = "The test set is evaluated once, without folds or repeats."
    split = np.arange(n_rows), np.arange(n_test)
    return Plan([split], 1, 1, f"a test set of {plural(n_test, 'row')}", (note,), is_test_set=True)


def check_training_classes(plan: Plan, labels: Ints, classes: NDArray[Any]) -> None:
    """Raise a ValueError if a class is missing from the training rows of a split."""
    for index, (train, _) in enumerate(plan.splits, 1):
        counts = np.bincount(labels[train], minlength=len(classes))
        if not counts.all():
            raise ValueError(
                f"Class {quote(classes.tolist()[counts.argmin()])} is missing from the training rows of split {index} of "
                f"{len(plan.splits)} ({plan.evaluation}). Try fewer folds (n_splits, --folds), or merge rare classes "
                "(--merge-rare)."
            )


def folds_of_groups(labels: Ints, groups: ArrayLike, seed: int) -> int | list[Split]:
    """Folds of whole groups as ``MetricClassifier`` takes them for ``cv``; ordinary ones where there are too few groups."""
    codes = _group_codes(groups, len(labels))
    n_folds = min(INNER_FOLDS, len(np.unique(codes)), int(np.bincount(labels).max()))
    folds = [split for split in _group_folds(labels, codes, n_folds, seed) if len(split[1])] if n_folds > 1 else []
    return folds if len(folds) > 1 else INNER_FOLDS


def _group_codes(groups: ArrayLike, n_rows: int) -> Ints:
    """The number of each row's group, 0, 1, ..."""
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise ValueError(f"`groups` should have one entry per row, shape ({n_rows},), got {values.shape}.")
    listed = list(values)
    n_missing = sum(map(is_missing, listed))
    if n_missing:
        raise ValueError(f"`groups` should have a group for every row, got {plural(n_missing, 'missing value')}.")
    numbers = {value: number for number, value in enumerate(dict.fromkeys(listed))}
    return np.array([numbers[value] for value in listed], dtype=np.int64)


def _group_folds(labels: Ints, groups: Ints, n_folds: int, seed: int) -> list[Split]:
    folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        return list(folds.split(np.empty((len(labels), 1)), labels, groups))


def _repeat_of_groups(labels: Ints, groups: Ints, n_folds: int, seed: int, repeat: int) -> list[Split]:
    """Folds whose training rows have all classes, if one of the shuffles gives them; else those of the first shuffle."""
    n_classes, first = len(np.unique(labels)), list[Split]()
    for shuffle in range(SHUFFLES):
        folds = _group_folds(labels, groups, n_folds, int(np.random.default_rng([seed, repeat, shuffle]).integers(2**31)))
        first = first or folds
        if all(len(test) and len(np.unique(labels[train])) == n_classes for train, test in folds):
            return folds
    return first


def _distinct(repeats: Sequence[list[Split]]) -> list[list[Split]]:
    """Repeats with other folds than those before; few groups can be parted in few ways."""
    return list({frozenset(test.tobytes() for _, test in repeat): repeat for repeat in reversed(repeats)}.values())[::-1]


def _check_time(time: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Numbers or dates that can be sorted."""
    values = np.asarray(time)
    if values.shape != (n_rows,):
        raise ValueError(f"`time` should have one entry per row, shape ({n_rows},), got {values.shape}.")
    if values.dtype.kind not in "iufMm":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of time zones: moments become UTC
                values = np.array([None if is_missing(value) else value for value in values.tolist()], dtype="datetime64[us]")
        except (TypeError, ValueError) as error:
            example = quote(next(value for value in np.asarray(time).tolist() if not is_missing(value)))
            raise ValueError(f"`time` should be numbers or dates such as '2024-05-31', got {example}.") from error
    n_missing = int((np.isnat(values) if values.dtype.kind in "Mm" else ~np.isfinite(values)).sum())
    if n_missing:
        raise ValueError(
            f"`time` should have a time for every row, got {plural(n_missing, 'missing value')}. Drop these rows first."
        )
    return values
