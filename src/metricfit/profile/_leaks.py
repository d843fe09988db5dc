"""What makes scores too good: a column that gives away the target, and equal rows in one table or in two.

A leak is found by the balanced accuracy of a small model of one column. Values that repeat predict their majority class,
leaving out the row in question. Numbers and dates also get a small cross-validated tree. Missing values count as one more
value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from metricfit._typing import Floats
from metricfit.estimators import TEXT
from metricfit.profile._column import TableColumn
from metricfit.profile._subjects import find_identity

NEARLY_THE_TARGET = 0.99  # balanced accuracy
MIN_ROWS = 30  # fewer rows show nothing
MOST_ROWS = 5000  # of a balanced sample that trees are fitted to
MIN_ROWS_PER_CLASS = 10  # in this sample
N_FOLDS = 3
MIN_ROWS_PER_LEAF = 3
MIN_LEAVES = 8
MOST_CELLS = 5_000_000  # values times classes, in a table of counts
_WORTH_A_TREE = 0.9  # score of a histogram from which a tree is fitted; a histogram loses half a bin at each border
BY_CHANCE = 0.5  # share of the equal pairs that independent columns would have
STANDARD_ERRORS = 6.0  # more than three, because equal rows are shared together
SAMPLE_ROWS = 5000  # in which the equal values of a column are counted


@dataclass(frozen=True, eq=False)
class Target:
    """Classes as numbers from 0, and a balanced sample of rows."""

    names: NDArray[Any]  # of the classes
    classes: NDArray[np.int64]  # one per row
    rows: NDArray[np.int64]  # of the sample, sorted
    folds: NDArray[np.int64]  # of the sample

    @property
    def n_classes(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, labels: NDArray[Any]) -> Target:
        found, classes = np.unique(labels, return_inverse=True)
        rng, n_classes = np.random.default_rng(0), max(1, len(found))
        most = max(MIN_ROWS_PER_CLASS, MOST_ROWS // n_classes)
        parts = [rng.permutation(np.flatnonzero(classes == label))[:most] for label in range(len(found))]
        rows = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        folds = np.concatenate([np.arange(len(part)) % N_FOLDS for part in parts]) if parts else rows
        order = np.argsort(rows, kind="stable")
        return cls(found, classes.astype(np.int64), rows[order].astype(np.int64), folds[order].astype(np.int64))


@dataclass(frozen=True)
class Leak:
    """How well a column alone predicts the target."""

    score: float  # balanced accuracy
    by_missing: bool = False  # whether its missing values suffice


def find_leak(column: TableColumn, target: Target) -> Leak:
    """The balanced accuracy of a column alone; 0 where it is unknown."""
    if len(target.classes) < MIN_ROWS or column.kind == TEXT:
        return Leak(0.0)
    if 0 < column.n_missing < len(column.values):
        score = majority_score(column.is_missing.astype(np.int64), target.classes, target.n_classes)
        if score >= NEARLY_THE_TARGET:
            return Leak(score, by_missing=True)
    score = 0.0
    if (column.is_text or column.is_whole) and column.n_distinct <= len(column.values) / 2:
        score = majority_score(column.codes + 1, target.classes, target.n_classes)
    if score < NEARLY_THE_TARGET and not column.is_text:
        score = max(score, number_score(column, target))
    return Leak(score)


def majority_score(values: NDArray[np.int64], classes: NDArray[np.int64], n_classes: int) -> float:
    """The balanced accuracy of the majority class per value, without the row itself.

    >>> majority_score(np.array([0, 0, 0, 1, 1, 1, 2]), np.array([0, 0, 0, 1, 1, 1, 1]), 2)
    0.875
    """
    n_values = int(values.max(initial=0)) + 1
    if n_values * n_classes > MOST_CELLS:
        return 0.0
    counts = np.bincount(values * n_classes + classes, minlength=n_values * n_classes).reshape(n_values, n_classes)
    sizes = np.maximum(1, counts.sum(0))
    shares = counts / sizes
    order = np.sort(shares, 1)
    rivals = np.where(shares == order[:, -1:], order[:, -2:-1], order[:, -1:]) if n_classes > 1 else np.zeros_like(shares)
    right = (counts - 1) / sizes > rivals
    return float(((counts * right).sum(0) / sizes).mean())


def number_score(column: TableColumn, target: Target) -> float:
    """The cross-validated balanced accuracy of a small tree, or of a histogram where that is far from the target."""
    ranks, classes = column.ranks(target.rows), target.classes[target.rows]
    n_bins = min(len(ranks) // 8, 64 * target.n_classes)
    bins = ranks + 1
    if bins.max(initial=0) > n_bins:
        bins = np.searchsorted(np.sort(bins), bins) * n_bins // len(bins)  # equal values share a bin
    score = majority_score(bins, classes, target.n_classes)
    if score < _WORTH_A_TREE:
        return score
    values = column.floats(target.rows)  # values show the gap between classes, ranks are robust to outliers
    return max(score, *(_tree_score(numbers, classes, target) for numbers in (values, ranks)))


def _tree_score(numbers: NDArray[Any], classes: NDArray[np.int64], target: Target) -> float:
    features, right = numbers[:, None].astype(np.float32), np.zeros(len(numbers), bool)
    weights: Floats = 1.0 / np.bincount(classes, minlength=target.n_classes)[classes]
    for fold in range(N_FOLDS):
        train, test = target.folds != fold, target.folds == fold
        tree = DecisionTreeClassifier(
            max_leaf_nodes=max(MIN_LEAVES, 2 * target.n_classes), min_samples_leaf=MIN_ROWS_PER_LEAF, random_state=0
        )
        tree.fit(features[train], classes[train], sample_weight=weights[train])
        right[test] = tree.predict(features[test]) == classes[test]
    return float((weights * right).sum() / weights.sum())


@dataclass(frozen=True)
class Copies:
    """Rows that equal an earlier row."""

    number: int
    contradictory: int  # with another class than the first of the equal rows
    by_chance: bool  # whether independent columns with as few values would have as many


class RowGroups:
    """Groups of equal rows, by the columns added so far."""

    def __init__(self, n_rows: int) -> None:
        self.codes = np.zeros(n_rows, np.int64)  # the group of each row
        self.n_groups = min(1, n_rows)
        self.sample = np.sort(np.random.default_rng(0).permutation(n_rows)[:SAMPLE_ROWS])
        self.chance = 1.0  # that two rows are equal, if columns are independent

    def add(self, column: TableColumn) -> None:
        if self.n_groups == len(self.codes):  # all rows differ already
            return
        if column.kind == TEXT:  # which does not repeat by chance
            self.chance = 0.0
        self.chance *= _equal_pairs(column.codes[self.sample]) / max(1.0, _pairs(len(self.sample)))
        both = pa.array(self.codes * (column.n_distinct + 1) + column.codes).dictionary_encode()
        self.codes, self.n_groups = both.indices.to_numpy().astype(np.int64), len(both.dictionary)

    def copies(self, classes: NDArray[np.int64]) -> Copies:
        _, first, inverse = np.unique(self.codes, return_index=True, return_inverse=True)
        other = classes[first[inverse]] != classes
        by_chance = self.chance * _pairs(len(classes)) >= BY_CHANCE * _equal_pairs(self.codes)
        return Copies(len(classes) - len(first), int(other.sum()), by_chance)


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Rows of a test set that are rows of the training table."""

    rows: NDArray[np.bool_]  # all features and the label are equal
    n_other_label: int  # further rows with equal features
    by_chance: bool  # whether training rows repeat as often among themselves, as where columns have few values


def find_shared(features: pa.Table, labels: NDArray[Any], test: pa.Table, test_labels: NDArray[Any]) -> SharedRows:
    """Compare the rows of two tables with the same columns. Columns that identify a row do not count.

    >>> train, test = pa.table({"a": [1.5, 2.5], "b": [3.5, 4.5]}), pa.table({"a": [2.5, 2.5, 9.5], "b": [4.5, 4.5, 4.5]})
    >>> shared = find_shared(train, np.array([0, 1]), test, np.array([1, 0, 1]))
    >>> shared.rows.tolist(), shared.n_other_label
    ([True, False, False], 1)
    """
    n_train, groups = len(labels), RowGroups(len(labels) + len(test_labels))
    for index, name in enumerate(features.column_names):
        train = features.column(index)
        if not find_identity(TableColumn.of(name, train), is_first=index == 0).is_row:
            both = pa.chunked_array([*train.chunks, *test.column(index).cast(train.type, safe=False).chunks], train.type)
            groups.add(TableColumn.of(name, both))
    alike = np.isin(groups.codes[n_train:], groups.codes[:n_train])
    groups.add(TableColumn.of("label", pa.chunked_array([np.append(labels, test_labels).astype(str)])))
    rows = np.isin(groups.codes[n_train:], groups.codes[:n_train])
    _, inverse, counts = np.unique(groups.codes[:n_train], return_inverse=True, return_counts=True)
    repeated = float((counts[inverse] > 1).mean())  # the share expected if both tables come from one source
    spread = (repeated * (1.0 - repeated) * (1.0 / n_train + 1.0 / len(rows))) ** 0.5
    return SharedRows(rows, int((alike & ~rows).sum()), bool(rows.mean() <= repeated + STANDARD_ERRORS * spread))


def _pairs(n: Any) -> Any:
    return n * (n - 1.0) / 2.0


def _equal_pairs(codes: NDArray[np.int64]) -> float:
    return float(_pairs(np.unique(codes, return_counts=True)[1]).sum())
