"""Columns that identify a row or its subject: IDs, and groups of rows of one customer, patient or mouse.

A name such as "patient_id" tells. Repeated subjects are also found under any other name: rows that share a value are alike,
and rows with the next value are not. Two rows are close in a category if they are equal, and in a number if their ranks are
near. The closeness of a column is 0 for random pairs and 1 for equal values. Rows with neighbouring values of a measurement,
such as an age, are close as well, but rows with neighbouring IDs are not. So rows of one value are compared with rows of
neighbouring values. Adjacent rows of the file are compared in the same way with rows some distance apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from metricfit.estimators import CATEGORIES, TEXT
from metricfit.profile._column import MOSTLY, TableColumn

MIN_ROWS = 20  # fewer rows do not show an ID
NEARLY_ALL_DIFFER = 0.95  # share of distinct values in an ID
MOST_DIFFER = 0.9  # the same for rising numbers in the first column
MOST_MISSING = 0.05  # share of rows; an ID is rarely missing
NEARLY_SORTED = 0.95  # share of steps that do not fall
MOST_FREQUENT = 0.05  # share of rows in frequent categories, up to which a category identifies a row
MIN_GROUPS = 10
MIN_ROWS_PER_GROUP = 2.0  # on average
_ID_WORDS = {"id", "ids", "uuid", "guid", "key", "index", "idx", "rowid", "nr", "row", "unnamed"}  # anywhere in a name
_LAST_WORDS = {"no", "num", "number", "code", "serial", "name"} | _ID_WORDS  # at its end
_SUBJECTS = [
    *("animal", "athlete", "borrower", "caller", "child", "client", "customer", "donor", "driver", "employee", "family"),
    *("household", "member", "mother", "mouse", "participant", "passenger", "patient", "person", "player", "pupil", "rat"),
    *("speaker", "student", "subject", "traveller", "user", "visitor", "volunteer", "voter", "worker"),
]
_CLOCK = {"time", "timestamp", "date", "datetime", "epoch", "year", "day", "seconds", "sec", "hour"}
_JOINED = re.compile(rf"^({'|'.join(_SUBJECTS)}|row|record|sample|case|order|account|item)(id|nr|no|key|number)$")
_PART = r"^(?P<unit>.*[^_\-/: ])[_\-/: ]+\d{1,3}$"  # 309_1, 309_2: two measurements of 309
CLOSE = 0.25  # mean closeness from which rows of one value are alike
CLOSE_WITH_TARGET, TARGET_CLOSE = 0.15, 0.4  # less is enough if the target agrees, too
CLOSE_IN_ORDER = 0.5  # for adjacent rows; a grid of all combinations reaches 0.35
MIN_VALUES, MIN_ROWS_PER_VALUE = 20, 2.0  # of a column
LARGEST_VALUE = 0.2  # share of rows of the most frequent value
MIN_COLUMNS = 3
MOST_COLUMNS, MOST_CANDIDATES = 30, 50
N_PAIRS, FIRST_PAIRS, FIRST_COLUMNS = 1000, 250, 8  # in all, and in a first quick test
MOST_ROWS = 100_000  # sorted by a column; larger tables use a range of its values
LAG = 25  # rows between two that are not adjacent

Rows = NDArray[np.int64]
Pairs = tuple[Rows, Rows, Rows]  # a row, one with the same value, and one with a neighbouring value


@dataclass(frozen=True)
class Identity:
    """What a column identifies: "row", "row number", "group", "part" (an ID whose first part names a group), or ""."""

    what: str = ""
    example: str = ""  # the first part of a value, for "part"
    n_groups: int = 0

    @property
    def is_row(self) -> bool:
        return self.what in ("row", "row number", "part")

    @property
    def is_group(self) -> bool:
        return self.what in ("group", "part")


NO_IDENTITY = Identity()


def find_identity(column: TableColumn, is_first: bool = False) -> Identity:
    """Whether a column identifies its row or a group of rows; in doubt, neither."""
    if column.n_known < MIN_ROWS:
        return NO_IDENTITY
    words, is_known = _words(column.name), column.n_missing <= MOST_MISSING * len(column.values)
    if column.is_text and column.kind == CATEGORIES:
        if column.frequent_share <= MOST_FREQUENT and is_known:
            return NO_IDENTITY if _is_measured(column) else _part(column) or Identity("row")
        return _group(column, words)
    if not column.is_whole:
        return NO_IDENTITY
    share = column.n_distinct / column.n_known if is_known else 0.0
    if share >= NEARLY_ALL_DIFFER and (_sounds_like_id(words) or _is_dense(column)):
        return Identity("row number" if _rises(column) else "row")
    if is_first and share >= MOST_DIFFER and not _CLOCK & set(words) and _rises(column):
        return Identity("row number")
    return _group(column, words)


def is_in_blocks(column: TableColumn) -> bool:
    """Whether the rows of each value are adjacent, as in a table that was assembled group by group."""
    if not (column.is_text or column.is_whole) or not _is_group_like(column):
        return False
    return int((np.diff(column.codes) != 0).sum()) <= column.n_distinct


def _is_group_like(column: TableColumn) -> bool:
    return MIN_GROUPS <= column.n_distinct <= column.n_known / MIN_ROWS_PER_GROUP


def _group(column: TableColumn, words: list[str]) -> Identity:
    """A group by its name: "customer", "customer_id", "MouseID", but not "customer_age"."""
    while len(words) > 1 and words[-1] in _LAST_WORDS:
        words = words[:-1]
    is_subject = bool(words) and words[-1] in _SUBJECTS
    return Identity("group", n_groups=column.n_distinct) if is_subject and _is_group_like(column) else NO_IDENTITY


def _part(column: TableColumn) -> Identity | None:
    """An ID such as 309_1, if its first part repeats."""
    found = pc.extract_regex(column.values.drop_null().cast(pa.string()), _PART)
    if found.null_count:
        return None
    units = found.field("unit")
    n_groups = int(pc.count_distinct(units).as_py())
    if not MIN_GROUPS <= n_groups <= len(units) / MIN_ROWS_PER_GROUP:
        return None
    return Identity("part", str(units[0].as_py()), n_groups)


def _is_measured(column: TableColumn) -> bool:
    """Whether text is mostly numbers, some with fractions."""
    return column.numbers.share >= MOSTLY and bool(pc.any(pc.match_substring_regex(column.values, r"\d[.,]\d")).as_py())


def _words(name: str) -> list[str]:
    """The words of a name, in lower case: "MouseID" and "mouse_id" are mouse and id; "userid" is user and id."""
    words = [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    return " ".join(_JOINED.sub(r"\1 \2", word) for word in words).split()


def _sounds_like_id(words: list[str]) -> bool:
    return bool(words) and (bool(_ID_WORDS & set(words)) or words[-1] in _LAST_WORDS)


def _is_dense(column: TableColumn) -> bool:
    """Whether the values are all the integers of a range, in any order."""
    ends = pc.min_max(column.values).as_py()
    return column.n_distinct == column.n_known == ends["max"] - ends["min"] + 1


def _rises(column: TableColumn) -> bool:
    """Whether values rise from row to row, as numbers or as text."""
    known = column.values.drop_null().cast(pa.int64())
    steps = np.diff(known.to_numpy(zero_copy_only=False))
    if (steps >= 0).mean() >= NEARLY_SORTED:
        return True
    text = known.cast(pa.string())
    return float(pc.mean(pc.less_equal(text[:-1], text[1:]).cast(pa.int8())).as_py()) >= NEARLY_SORTED


@dataclass(frozen=True)
class Repeats:
    """How much closer rows of one value are than rows of neighbouring values; ``name`` is empty for adjacent rows."""

    name: str
    n_values: int
    closeness: float  # mean over the columns
    target: float  # closeness of the target
    target_agrees: float  # share of pairs with the same target
    by_chance: float  # the same for random pairs

    @property
    def is_found(self) -> bool:
        if not self.name:
            return self.closeness >= CLOSE_IN_ORDER
        return self.closeness >= CLOSE or (self.closeness >= CLOSE_WITH_TARGET and self.target >= TARGET_CLOSE)


def find_repeats(columns: Sequence[TableColumn], classes: NDArray[np.int64]) -> Repeats | None:
    """The column that names the subject of a row; else adjacent rows, if they are alike; else None."""
    compared = [column for column in columns if column.kind != TEXT and column.n_distinct > 1]
    if len(compared) <= MIN_COLUMNS:
        return None
    rng = np.random.default_rng(0)
    candidates = [column for column in columns if _may_repeat(column)][:MOST_CANDIDATES]
    found = [one for column in candidates if (one := _compare(column, compared, classes, rng)) is not None]
    if found:
        return max(found, key=lambda one: one.closeness + max(0.0, one.target))
    return _compare(None, compared, classes, rng)


def _may_repeat(column: TableColumn) -> bool:
    if not (column.is_whole or (column.is_text and column.kind == CATEGORIES)):
        return False
    if not MIN_VALUES <= column.n_distinct <= column.n_known / MIN_ROWS_PER_VALUE:
        return False
    return bool(column.counts.max() <= LARGEST_VALUE * column.n_known)


def _compare(
    column: TableColumn | None, compared: Sequence[TableColumn], classes: NDArray[np.int64], rng: np.random.Generator
) -> Repeats | None:
    """Compare a few pairs and columns, then more; None if the rows are not alike."""
    others = [one for one in compared if one is not column]
    pairs = _lagged_pairs(len(classes), rng) if column is None else _pairs(column, rng)
    if pairs is None:
        return None
    name, n_values = ("", 0) if column is None else (column.name, column.n_distinct)
    for n_columns, n_pairs, enough in ((FIRST_COLUMNS, FIRST_PAIRS, 0.75), (MOST_COLUMNS, N_PAIRS, 1.0)):
        chosen = [others[index] for index in np.unique(np.linspace(0, len(others) - 1, n_columns).astype(int))]
        rows = rng.permutation(len(pairs[0]))[:n_pairs]
        first, same, near = (part[rows] for part in pairs)
        chance = rng.permutation(len(rows))
        found = np.array([_closeness(one, first, same, near, chance) for one in chosen])
        if found.mean() < enough * CLOSE_WITH_TARGET:
            return None
    distances = _mean_distances(classes[first], classes[same], classes[near], chance, are_equal=True)
    repeats = Repeats(name, n_values, float(found.mean()), _excess(*distances), 1.0 - distances[0], 1.0 - distances[2])
    return repeats if repeats.is_found else None


def _pairs(column: TableColumn, rng: np.random.Generator) -> Pairs | None:
    """Rows that share a value with the next row in the order of the column, that row, and one with a neighbouring value."""
    rows = np.flatnonzero(~column.is_missing)
    keys = column.codes if column.is_text else np.asarray(column.values.to_numpy(zero_copy_only=False))
    if len(rows) > MOST_ROWS:
        sample = np.sort(keys[rng.choice(rows, MOST_ROWS // 10)])
        width = len(sample) * MOST_ROWS // len(rows)
        start = int(rng.integers(len(sample) - width))
        rows = rows[(keys[rows] >= sample[start]) & (keys[rows] <= sample[start + width])]
    rows = rng.permutation(rows)
    rows = rows[np.argsort(keys[rows], kind="stable")]
    borders = np.flatnonzero(np.diff(keys[rows])) + 1
    if not len(borders):
        return None
    starts, ends = np.append(0, borders), np.append(borders, len(rows))
    value = np.repeat(np.arange(len(starts)), ends - starts)
    followed = np.flatnonzero(value[:-1] == value[1:])
    near = np.where(value[followed] < len(starts) - 1, value[followed] + 1, value[followed] - 1)
    partner = (starts[near] + rng.random(len(near)) * (ends[near] - starts[near])).astype(np.int64)
    return rows[followed], rows[followed + 1], rows[partner]


def _lagged_pairs(n_rows: int, rng: np.random.Generator) -> Pairs | None:
    """Rows, the next row in the file, and a row some distance away."""
    if n_rows < 4 * LAG:
        return None
    rows = rng.integers(n_rows - LAG, size=min(n_rows, N_PAIRS))
    return rows, rows + 1, rows + LAG


def _closeness(column: TableColumn, first: Rows, same: Rows, near: Rows, chance: Rows) -> float:
    ranks = column.ranks(np.concatenate([first, same, near])) + 1
    counts = np.bincount(ranks)
    are_equal = column.kind == CATEGORIES
    values = ranks if are_equal else (np.cumsum(counts) - 0.5 * counts)[ranks]
    one, other, neighbour = np.split(values, 3)
    return _excess(*_mean_distances(one, other, neighbour, chance, are_equal))


def _mean_distances(
    first: NDArray[Any], same: NDArray[Any], near: NDArray[Any], chance: Rows, are_equal: bool
) -> tuple[float, float, float]:
    """Mean distances of rows of one value, of neighbouring values, and of random pairs. Categories are equal or not."""
    pairs = [first != other if are_equal else np.abs(first - other) for other in (same, near, same[chance])]
    one_value, neighbours, random = (float(distances.mean()) for distances in pairs)
    return one_value, neighbours, random


def _excess(same: float, near: float, chance: float) -> float:
    """How much smaller a distance is between rows of one value than of neighbouring values, from 0 to 1."""
    return max(0.0, (min(near, chance) - same) / chance) if chance > 0.0 else 0.0
