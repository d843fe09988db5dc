"""The warnings of a profile, in plain sentences. Each names the option that helps."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metricfit._printable import printable
from metricfit.profile._column import MOSTLY, TableColumn, show_example
from metricfit.profile._leaks import Copies
from metricfit.profile._subjects import LAG, Repeats

if TYPE_CHECKING:
    from metricfit.profile._profile import ColumnProfile

MOST_NAMED = 5  # columns in one sentence
MIN_COPIES, COPIES = 5, 0.002  # number and share of rows that are copies; fewer do not move a score
FEW_ROWS = 50
FEW_ROWS_PER_CLASS = 10


def leak(name: str, score: float) -> str:
    return (
        f"{columns_named([name])} alone predicts the target in {percent(score)} of the rows (balanced accuracy). "
        f"Is it known only after the target? If so, pass {option('--drop', name)}."
    )


def missing_leak(name: str, score: float) -> str:
    return (
        f"{columns_named([name])} predicts the target in {percent(score)} of the rows (balanced accuracy) by its missing "
        f"values alone. Is it filled in only after the target is known? If so, pass {option('--drop', name)}."
    )


def sorted_by_class(name: str, score: float) -> str:
    return (
        f"{columns_named([name])} counts the rows, and the rows are sorted by class: it alone predicts the target in "
        f"{percent(score)} of them (balanced accuracy). It means nothing for new rows. Pass {option('--drop', name)}."
    )


def group_leak(name: str, score: float, n_groups: int) -> str:
    return (
        f"{columns_named([name])} alone predicts the target in {percent(score)} of the rows (balanced accuracy), because the "
        f"rows of each of its {n_groups:,} values share a class. If new rows come with new values, pass "
        f"{option('--group', name)} or {option('--drop', name)}."
    )


def part(name: str, example: str, n_groups: int) -> str:
    return (
        f"{columns_named([name])} is different in each row, but its first part, such as '{show_example(example)}', repeats "
        f"({n_groups:,} different ones). Rows that share it may fall into both train and test. "
        "Put this part into a separate column, and pass that column to --group."
    )


def group(name: str, n_groups: int, n_rows: int) -> str:
    return (
        f"{columns_named([name])} has {n_groups:,} values in {n_rows:,} rows. Rows of one value may fall into both train and "
        f"test. If new rows come with new values, pass {option('--group', name)}."
    )


def repeated_subject(found: Repeats, n_rows: int) -> str:
    return (
        f"{columns_named([found.name])} has {found.n_values:,} values in {n_rows:,} rows, and rows of one value are alike "
        f"({percent(found.closeness)} closer than rows of other values; {_agreement(found)}). Such rows may fall into both "
        f"train and test, so scores may be too good. If new rows come with new values, pass {option('--group', found.name)}."
    )


def order_warning(found: Repeats | None) -> list[str]:
    """Adjacent rows that are alike, although no column explains it."""
    if found is None or found.name:
        return []
    return [
        f"Adjacent rows of the file are alike ({percent(found.closeness)} closer than rows {LAG} apart; {_agreement(found)}), "
        "as the rows of one person or of a time series are. Such rows may fall into both train and test, so scores may be too "
        "good. Pass the column that names the person to --group, or the one with the time to --time. If the file has no such "
        "column, add it."
    ]


def _agreement(found: Repeats) -> str:
    agrees, chance = percent(found.target_agrees), percent(found.by_chance)
    return f"the target agrees in {agrees} of the pairs, {chance} by chance"


def ids(names: Sequence[str]) -> str:
    verb, what = ("is", "an ID") if len(names) == 1 else ("are", "IDs")
    return (
        f"{columns_named(names)} {verb} different in nearly every row, like {what}, and an ID cannot help with new rows. "
        f"Pass {option('--drop', *names)}."
    )


def sparse(names: Sequence[str], share: float) -> str:
    at_least = "" if len(names) == 1 else "at least "
    verb, it = ("is", "it helps") if len(names) == 1 else ("are", "they help")
    return f"{columns_named(names)} {verb} missing in {at_least}{percent(share)} of the rows, so {it} little at best."


def without_effect(constant: Sequence[str], empty: Sequence[str]) -> str:
    parts = []
    for names, word in ((constant, "constant"), (empty, "empty")):
        if names:
            parts.append(f"{columns_named(names)} {'is' if len(names) == 1 else 'are'} {word}")
    joined = " and ".join([parts[0], *map(_uncapitalize, parts[1:])])
    return f"{joined}: {'it has' if len(constant) + len(empty) == 1 else 'they have'} no effect."


def numbers_as_text(column: TableColumn) -> str:
    """A note on text that is mostly numbers; empty for other columns."""
    found = column.numbers
    if found.share < MOSTLY:
        return ""
    if not found.others:
        return "All values are numbers, but some are written like codes: they are used as categories."
    odd = show_example(found.others[0])
    return f"{percent(found.share)} of the values are numbers, but not '{odd}': they are used as categories."


def copies_warning(copies: Copies, n_rows: int, ids: Sequence[str]) -> list[str]:
    if copies.by_chance or copies.number < max(MIN_COPIES, COPIES * n_rows):
        return []
    without = f" without {_uncapitalize(columns_named(ids))}" if ids else ""
    other = f", {copies.contradictory:,} of them with another label" if copies.contradictory else ""
    return [
        f"{copies.number:,} rows equal an earlier row in all features{without}{other}. Copies may fall into both train and "
        "test, so scores may be too good. Remove them if they are mistakes."
    ]


def size_warnings(classes: NDArray[Any], counts: NDArray[np.int64], n_columns: int) -> list[str]:
    """Few rows, few rows per class, more columns than rows."""
    lines, n_rows = [], int(counts.sum())
    few = counts < FEW_ROWS_PER_CLASS
    if n_rows < FEW_ROWS:
        lines.append(f"The table has {n_rows} rows, so scores are rough. Pass --repeats 10 for steadier ones.")
    elif few.any():
        name, least = printable(str(classes[counts.argmin()])), counts.min()
        one = f"Class '{name}' has {least} rows"
        many = f"{few.sum():,} of {len(classes):,} classes have fewer than {FEW_ROWS_PER_CLASS} rows ('{name}' {least})"
        lines.append(f"{one if few.sum() == 1 else many}, too few to judge. Add rows, or merge classes.")
    if n_columns > n_rows:
        lines.append(
            f"The table has more columns ({n_columns:,}) than rows ({n_rows:,}), so chance patterns are likely. "
            "Pass --repeats 5 for steadier scores."
        )
    return lines


def first_notes(columns: Sequence[ColumnProfile]) -> list[str]:
    """The notes of the first columns, and the names of the others."""
    more = [column.name for column in columns[MOST_NAMED:]]
    rest = [f"The same holds for {_uncapitalize(columns_named(more))}."] if more else []
    return [column.note for column in columns[:MOST_NAMED]] + rest


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
