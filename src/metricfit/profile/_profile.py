"""Profile a table: examine each column once, then say what may mislead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from metricfit.profile import _sentences as say
from metricfit.profile._column import TableColumn, describe_type, describe_use, examples
from metricfit.profile._leaks import NEARLY_THE_TARGET, Leak, RowGroups, Target, find_leak
from metricfit.profile._subjects import NO_IDENTITY, Identity, Repeats, find_identity, find_repeats, is_in_blocks

if TYPE_CHECKING:
    from metricfit.data import Column, TableSchema

ALMOST_MISSING = 0.95  # share of rows
ID_KNOWS = 0.5  # how far from chance (0) to the target (1) a row number predicts before rows count as sorted by class


@dataclass(frozen=True)
class ColumnProfile:
    """A column: its type in the file, how it is used, and what may mislead."""

    name: str
    type: str  # in words: "number", "number (1.234,56 €)", "date (31.12.2024)", "text"; "" if it was not read
    use: str  # "number", "12 categories", "words", "date", "not used: constant", "dropped by --drop"
    n_missing: int
    n_distinct: int
    examples: tuple[str, ...]
    note: str = ""  # a warning about this column, in one or two sentences


@dataclass(frozen=True)
class TableProfile:
    """All columns of a file except the target, and warnings in sentences."""

    columns: tuple[ColumnProfile, ...]
    n_rows: int
    n_copies: int  # rows that equal an earlier row in all features except IDs
    warnings: tuple[str, ...] = ()
    n_contradictory: int = 0  # copies with another label than the earlier row

    def as_json(self) -> dict[str, Any]:
        """Everything as dicts, lists, strings and numbers."""
        return {
            "n_rows": self.n_rows,
            "n_copies": self.n_copies,
            "n_contradictory": self.n_contradictory,
            "columns": [{**asdict(column), "examples": list(column.examples)} for column in self.columns],
            "warnings": list(self.warnings),
        }


def profile_table(
    features: pa.Table,
    labels: NDArray[Any],
    schema: TableSchema | None = None,
    dropped: Mapping[str, str] = {},
    random_folds: bool = True,
) -> TableProfile:
    """Profile a table before anything is trained.

    Parameters
    ----------
    features : pyarrow.Table
        All columns but the target.
    labels : ndarray of shape (n_rows,)
        The target.
    schema : TableSchema, default=None
        How the columns were read; None for a table that is not from a file.
    dropped : dict, default={}
        The columns of the file that are not features, each with the reason, such as "dropped by --drop". They are listed with
        it and not examined.
    random_folds : bool, default=True
        Whether rows are held out at random. If not, repeated subjects are not searched for.

    Returns
    -------
    TableProfile
        The profile.

    Examples
    --------
    >>> table = pa.table({"size": [1.5, 2.5, 3.5, 1.5], "unit": ["cm"] * 4})
    >>> profile = profile_table(table, np.array([0, 1, 1, 0]), dropped={"row": "dropped by --drop"})
    >>> [(column.name, column.use) for column in profile.columns]
    [('size', 'number'), ('unit', 'not used: constant'), ('row', 'dropped by --drop')]
    >>> profile.n_copies
    1
    """
    read_as = {column.name: column for column in schema.columns} if schema is not None else {}
    target, groups = Target.of(labels), RowGroups(features.num_rows)
    entries, compared = list[_Entry](), list[TableColumn]()
    for index, name in enumerate(features.column_names):
        column = TableColumn.of(name, features.column(index))
        entry = _examine(column, index == 0, read_as.get(name), target, dropped.get(name, ""))
        entries.append(entry)
        if entry.is_used and not entry.identity.is_row:
            groups.add(column)
            compared.append(column)
    repeats = None
    if random_folds and not any(entry.identity.is_group for entry in entries):
        repeats = find_repeats(compared, target.classes)
    entries = [_add_repeats(entry, repeats, features.num_rows) for entry in entries]
    copies = groups.copies(target.classes)
    ids = [entry.profile.name for entry in entries if entry.identity.is_row]
    warnings = [
        *_column_warnings(entries, features.num_rows),
        *say.order_warning(repeats),
        *say.copies_warning(copies, features.num_rows, ids),
        *say.size_warnings(target.names, np.bincount(target.classes), sum(entry.is_used for entry in entries)),
    ]
    absent = [ColumnProfile(name, "", why, 0, 0, ()) for name, why in dropped.items() if name not in features.column_names]
    columns = (*(entry.profile for entry in entries), *absent)
    return TableProfile(columns, features.num_rows, copies.number, tuple(warnings), copies.contradictory)


@dataclass(frozen=True)
class _Entry:
    """A column's profile, and the warning that it takes part in."""

    profile: ColumnProfile
    topic: str = ""
    is_used: bool = False
    identity: Identity = NO_IDENTITY
    score: float = 0.0


def _examine(column: TableColumn, is_first: bool, read_as: Column | None, target: Target, why_dropped: str) -> _Entry:
    use = why_dropped or describe_use(column)
    profile = ColumnProfile(
        column.name, describe_type(column, read_as), use, column.n_missing, column.n_distinct, examples(column)
    )
    if why_dropped:
        return _Entry(profile)
    if use.startswith("not used"):
        return _Entry(replace(profile, note="It has no effect."), use)
    identity, leak = find_identity(column, is_first), find_leak(column, target)
    topic, note = _choose_note(column, identity, leak, target)
    return _Entry(replace(profile, note=note), topic, True, identity, leak.score)


def _add_repeats(entry: _Entry, repeats: Repeats | None, n_rows: int) -> _Entry:
    """The column that names the subject of a row is a group, whatever its name."""
    if repeats is None or entry.profile.name != repeats.name:
        return entry
    if entry.topic == "leak":
        note = say.group_leak(repeats.name, entry.score, repeats.n_values)
        return replace(entry, profile=replace(entry.profile, note=note))
    return replace(entry, topic="group", profile=replace(entry.profile, note=say.repeated_subject(repeats, n_rows)))


def _choose_note(column: TableColumn, identity: Identity, leak: Leak, target: Target) -> tuple[str, str]:
    """The most important thing to say about a column: its topic and its sentence."""
    name = column.name
    chance = 1.0 / max(1, target.n_classes)
    if leak.by_missing:
        return "leak", say.missing_leak(name, leak.score)
    if identity.what == "row number" and leak.score >= chance + ID_KNOWS * (1.0 - chance):
        return "leak", say.sorted_by_class(name, leak.score)
    if leak.score >= NEARLY_THE_TARGET:
        if column.n_distinct > 2 * target.n_classes and (identity.what == "group" or is_in_blocks(column)):
            return "leak", say.group_leak(name, leak.score, column.n_distinct)
        return "leak", say.leak(name, leak.score)
    if identity.what == "part":
        return "part", say.part(name, identity.example, identity.n_groups)
    if identity.what == "group":
        return "group", say.group(name, identity.n_groups, column.n_known)
    if identity.is_row:
        return "id", say.ids([name])
    if column.n_missing > ALMOST_MISSING * len(column.values):
        return "sparse", say.sparse([name], column.n_missing / len(column.values))
    return "", say.numbers_as_text(column)


def _column_warnings(entries: list[_Entry], n_rows: int) -> list[str]:
    """One sentence for each leak and each group, and one per topic for the other columns."""

    def of(topic: str) -> list[ColumnProfile]:
        return [entry.profile for entry in entries if entry.topic == topic]

    def names(topic: str) -> list[str]:
        return [column.name for column in of(topic)]

    leaks = sorted((entry for entry in entries if entry.topic == "leak"), key=lambda entry: -entry.score)
    warnings = say.first_notes([entry.profile for entry in leaks])
    warnings += say.first_notes(of("part")) + say.first_notes(of("group"))
    if of("id"):
        warnings.append(say.ids(names("id")))
    if of("sparse"):
        least = min(column.n_missing for column in of("sparse"))
        warnings.append(say.sparse(names("sparse"), least / n_rows))
    constant, empty = names("not used: constant"), names("not used: empty")
    if constant or empty:
        warnings.append(say.without_effect(constant, empty))
    return warnings
