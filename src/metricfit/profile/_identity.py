"""Columns that identify a row or its subject: IDs, and groups of rows of one customer, patient or mouse."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metricfit.estimators import CATEGORIES
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
