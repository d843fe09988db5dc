"""Profile a table: examine each column once, then say in plain sentences what may mislead, and which option helps."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from metricfit._printable import printable
from metricfit.data import Column, TableSchema
from metricfit.profile._column import MOSTLY, TableColumn, describe_type, describe_use, examples, show_example
from metricfit.profile._leaks import NEARLY_THE_TARGET, Copies, Leak, RowGroups, Target, find_leak
from metricfit.profile._subjects import LAG, NO_IDENTITY, Identity, Repeats, find_identity, find_repeats, is_in_blocks

ALMOST_MISSING = 0.95  # share of rows
ID_KNOWS = 0.5  # how far from chance (0) to the target (1) a row number predicts before rows count as sorted by class
MOST_NAMED = 5  # columns in one sentence
MIN_COPIES, COPIES = 5, 0.002  # number and share of rows that are copies; fewer do not move a score
FEW_ROWS = 50
FEW_ROWS_PER_CLASS = 10


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
        The columns of the file that are not features, each with the reason, such as "dropped by --drop".
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
        entry = _examine(column, index == 0, read_as.get(name), target)
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
        *_order_warning(repeats),
        *_copies_warning(copies, features.num_rows, ids),
        *_size_warnings(target.names, np.bincount(target.classes), sum(entry.is_used for entry in entries)),
    ]
    absent = [ColumnProfile(name, "", why, 0, 0, ()) for name, why in dropped.items()]
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


def _examine(column: TableColumn, is_first: bool, read_as: Column | None, target: Target) -> _Entry:
    use = describe_use(column)
    profile = ColumnProfile(
        column.name, describe_type(column, read_as), use, column.n_missing, column.n_distinct, examples(column)
    )
    if use.startswith("not used"):
        return _Entry(replace(profile, note="It has no effect."), use)
    identity, leak = find_identity(column, is_first), find_leak(column, target)
    topic, note = _choose_note(column, identity, leak, target)
    return _Entry(replace(profile, note=note), topic, True, identity, leak.score)


def _choose_note(column: TableColumn, identity: Identity, leak: Leak, target: Target) -> tuple[str, str]:
    """The most important thing to say about a column: its topic and its sentence."""
    name, chance = column.name, 1.0 / max(1, target.n_classes)
    named, drop, accuracy = columns_named([name]), option("--drop", name), percent(leak.score)
    if leak.by_missing:
        return "leak", (
            f"{named} predicts the target in {accuracy} of the rows (balanced accuracy) by its missing values alone. "
            f"Is it filled in only after the target is known? If so, pass {drop}."
        )
    if identity.what == "row number" and leak.score >= chance + ID_KNOWS * (1.0 - chance):
        return "leak", (
            f"{named} counts the rows, and the rows are sorted by class: it alone predicts the target in {accuracy} of them "
            f"(balanced accuracy). It means nothing for new rows. Pass {drop}."
        )
    if leak.score >= NEARLY_THE_TARGET:
        if column.n_distinct > 2 * target.n_classes and (identity.what == "group" or is_in_blocks(column)):
            return "leak", _group_leak(name, leak.score, column.n_distinct)
        return "leak", (
            f"{named} alone predicts the target in {accuracy} of the rows (balanced accuracy). "
            f"Is it known only after the target? If so, pass {drop}."
        )
    if identity.what == "part":
        return "part", (
            f"{named} is different in each row, but its first part, such as '{show_example(identity.example)}', repeats "
            f"({identity.n_groups:,} different ones). Rows that share it may fall into both train and test. "
            "Put this part into a separate column, and pass that column to --group."
        )
    if identity.what == "group":
        return "group", (
            f"{named} has {identity.n_groups:,} values in {column.n_known:,} rows. Rows of one value may fall into both train "
            f"and test. If new rows come with new values, pass {option('--group', name)}."
        )
    if identity.is_row:
        return "id", _ids([name])
    if column.n_missing > ALMOST_MISSING * len(column.values):
        return "sparse", _sparse([name], column.n_missing / len(column.values))
    if column.numbers.share < MOSTLY:
        return "", ""
    if not column.numbers.others:
        return "", "All values are numbers, but some are written like codes: they are used as categories."
    odd = show_example(column.numbers.others[0])
    return "", f"{percent(column.numbers.share)} of the values are numbers, but not '{odd}': they are used as categories."


def _add_repeats(entry: _Entry, found: Repeats | None, n_rows: int) -> _Entry:
    """The column that names the subject of a row is a group, whatever its name."""
    if found is None or entry.profile.name != found.name:
        return entry
    if entry.topic == "leak":
        return replace(entry, profile=replace(entry.profile, note=_group_leak(found.name, entry.score, found.n_values)))
    note = (
        f"{columns_named([found.name])} has {found.n_values:,} values in {n_rows:,} rows, and rows of one value are alike "
        f"({percent(found.closeness)} closer than rows of other values; {_agreement(found)}). Such rows may fall into both "
        f"train and test, so scores may be too good. If new rows come with new values, pass {option('--group', found.name)}."
    )
    return replace(entry, topic="group", profile=replace(entry.profile, note=note))


def _group_leak(name: str, score: float, n_groups: int) -> str:
    return (
        f"{columns_named([name])} alone predicts the target in {percent(score)} of the rows (balanced accuracy), because the "
        f"rows of each of its {n_groups:,} values share a class. If new rows come with new values, pass "
        f"{option('--group', name)} or {option('--drop', name)}."
    )


def _agreement(found: Repeats) -> str:
    agrees, chance = percent(found.target_agrees), percent(found.by_chance)
    return f"the target agrees in {agrees} of the pairs, {chance} by chance"


def _ids(names: Sequence[str]) -> str:
    verb, what = ("is", "an ID") if len(names) == 1 else ("are", "IDs")
    return (
        f"{columns_named(names)} {verb} different in nearly every row, like {what}, and an ID cannot help with new rows. "
        f"Pass {option('--drop', *names)}."
    )


def _sparse(names: Sequence[str], share: float) -> str:
    at_least = "" if len(names) == 1 else "at least "
    verb, it = ("is", "it helps") if len(names) == 1 else ("are", "they help")
    return f"{columns_named(names)} {verb} missing in {at_least}{percent(share)} of the rows, so {it} little at best."


def _column_warnings(entries: list[_Entry], n_rows: int) -> list[str]:
    """One sentence for each leak and each group, and one per topic for the other columns."""
    topics = defaultdict[str, list[ColumnProfile]](list)
    for entry in sorted(entries, key=lambda one: -one.score if one.topic == "leak" else 0.0):
        topics[entry.topic].append(entry.profile)
    names = {topic: [column.name for column in columns] for topic, columns in topics.items()}
    warnings = [note for topic in ("leak", "part", "group") for note in _first_notes(topics[topic])]
    if "id" in names:
        warnings.append(_ids(names["id"]))
    if "sparse" in names:
        warnings.append(_sparse(names["sparse"], min(column.n_missing for column in topics["sparse"]) / n_rows))
    useless = [(names[f"not used: {word}"], word) for word in ("constant", "empty") if f"not used: {word}" in names]
    if useless:
        parts = [f"{columns_named(of)} {'is' if len(of) == 1 else 'are'} {word}" for of, word in useless]
        it = "it has" if sum(len(of) for of, _ in useless) == 1 else "they have"
        warnings.append(f"{' and '.join([parts[0], *map(_uncapitalize, parts[1:])])}: {it} no effect.")
    return warnings


def _first_notes(columns: Sequence[ColumnProfile]) -> list[str]:
    """The notes of the first columns, and the names of the others."""
    more = [column.name for column in columns[MOST_NAMED:]]
    rest = [f"The same holds for {_uncapitalize(columns_named(more))}."] if more else []
    return [column.note for column in columns[:MOST_NAMED]] + rest


def _order_warning(found: Repeats | None) -> list[str]:
    """Adjacent rows that are alike, although no column explains it."""
    if found is None or found.name:
        return []
    return [
        f"Adjacent rows of the file are alike ({percent(found.closeness)} closer than rows {LAG} apart; {_agreement(found)}), "
        "as the rows of one person or of a time series are. Such rows may fall into both train and test, so scores may be too "
        "good. Pass the column that names the person to --group, or the one with the time to --time. If the file has no such "
        "column, add it."
    ]


def _copies_warning(copies: Copies, n_rows: int, ids: Sequence[str]) -> list[str]:
    if copies.by_chance or copies.number < max(MIN_COPIES, COPIES * n_rows):
        return []
    without = f" without {_uncapitalize(columns_named(ids))}" if ids else ""
    other = f", {copies.contradictory:,} of them with another label" if copies.contradictory else ""
    return [
        f"{copies.number:,} rows equal an earlier row in all features{without}{other}. Copies may fall into both train and "
        "test, so scores may be too good. Remove them if they are mistakes."
    ]


def _size_warnings(classes: NDArray[Any], counts: NDArray[np.int64], n_columns: int) -> list[str]:
    """Few rows, few rows per class, more columns than rows."""
    lines, n_rows = [], int(counts.sum())
    few = counts < FEW_ROWS_PER_CLASS
    if n_rows < FEW_ROWS:
        lines.append(f"The table has {n_rows} rows, so scores are rough. Pass --repeats 10 for steadier ones.")
    elif few.any():
        name, least = printable(str(classes[counts.argmin()])), counts.min()
        one = f"Class '{name}' has {least} rows"
        many = f"{few.sum():,} of {len(classes):,} classes have fewer than {FEW_ROWS_PER_CLASS} rows ('{name}' {least})"
        merge = f", or pass --merge-rare {FEW_ROWS_PER_CLASS}" if len(classes) > 2 else ""
        lines.append(f"{one if few.sum() == 1 else many}, too few to judge. Add rows{merge}.")
    if n_columns > n_rows:
        lines.append(
            f"The table has more columns ({n_columns:,}) than rows ({n_rows:,}), so chance patterns are likely. "
            "Pass --repeats 5 for steadier scores."
        )
    return lines


def columns_named(names: Sequence[str]) -> str:
    """The columns as the subject of a sentence.

    >>> columns_named(["a", "b"])
    "Columns 'a' and 'b'"
    """
    quoted = [f"'{printable(name)}'" for name in names]
    if len(quoted) == 1:
        return f"Column {quoted[0]}"
    if len(quoted) > MOST_NAMED:
        return f"Columns {', '.join(quoted[:MOST_NAMED])} and {len(quoted) - MOST_NAMED:,} more"
    return f"Columns {', '.join(quoted[:-1])} and {quoted[-1]}"


def option(name: str, *columns: str) -> str:
    """An option for each of these columns, as it is typed.

    >>> option("--drop", "id", "row number")
    "--drop id --drop 'row number'"
    """
    typed = " ".join(f"{name} {shlex.quote(printable(column))}" for column in columns[:MOST_NAMED])
    return typed + (" ..." if len(columns) > MOST_NAMED else "")


def percent(share: float) -> str:
    """A share in per cent, rounded down, so that only all rows are 100 %.

    >>> percent(0.9996), percent(1.0)
    ('99.9 %', '100 %')
    """
    return "100 %" if share >= 1.0 else f"{int(1000 * share) / 10:.1f} %"


def _uncapitalize(subject: str) -> str:
    return subject[0].lower() + subject[1:]
