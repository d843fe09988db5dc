"""What the profile says, in plain sentences. Each names the option that helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit._printable import printable
from metricfit.profile._column import MOSTLY, TableColumn
from metricfit.profile._copies import Copies
from metricfit.profile._repeats import LAG, Repeats
from metricfit.profile._result import ColumnProfile
from metricfit.profile._words import MOST_NAMED, columns_named, option, percent, shorten

MIN_COPIES, COPIES = 5, 0.002  # number and share of rows that are copies; fewer do not move a score
FEW_ROWS = 50
FEW_ROWS_PER_CLASS = 10


def leak(name: str, score: float) -> str:
    return (
        f"{columns_named([name])} alone gives the target in {percent(score)} of the rows (balanced accuracy). "
        f"Does it know the answer? If so, pass {option('--drop', name)}."
    )


def missing_leak(name: str, score: float) -> str:
    return (
        f"{columns_named([name])} gives the target in {percent(score)} of the rows (balanced accuracy) by where it is "
        f"missing. Is it filled in when the answer is known? If so, pass {option('--drop', name)}."
    )


def sorted_by_class(name: str, score: float) -> str:
    return (
        f"{columns_named([name])} counts the rows, and the rows are sorted by class: it alone gives the target in "
        f"{percent(score)} of them (balanced accuracy). It means nothing for new rows. Pass {option('--drop', name)}."
    )


def group_leak(name: str, score: float, n_groups: int) -> str:
    return (
        f"{columns_named([name])} alone gives the target in {percent(score)} of the rows (balanced accuracy), since the rows "
        f"of each of its {n_groups:,} values share a class. For values that are new, pass {option('--group', name)}; "
        f"or pass {option('--drop', name)}."
    )


def part(name: str, example: str, n_groups: int) -> str:
    return (
        f"{columns_named([name])} is different in each row, but its first part, such as '{shorten(example)}', repeats "
        f"({n_groups:,} different ones). Rows that share it may fall into both train and test. "
        "Put this part into a column of its own, and pass that column to --group."
    )


def group(name: str, n_groups: int, n_rows: int) -> str:
    return (
        f"{columns_named([name])} has {n_groups:,} values in {n_rows:,} rows. Rows of one value may fall into both train and "
        f"test. If new rows come with new values, pass {option('--group', name)}."
    )


def repeated(found: Repeats, n_rows: int) -> str:
    return (
        f"{columns_named([found.name])} has {found.n_values:,} values in {n_rows:,} rows, and rows of one value are alike "
        f"({percent(found.closeness)} closer than rows of other values; {_agreement(found)}). Such rows may fall into both "
        f"train and test, so scores may be too good. If new rows come with new values, pass {option('--group', found.name)}."
    )


def about_order(found: Repeats | None) -> list[str]:
    """Rows that follow each other in the file and are alike, although no column says why."""
    if found is None or found.name:
        return []
    return [
        f"Rows that follow each other in the file are alike ({percent(found.closeness)} closer than rows {LAG} apart; "
        f"{_agreement(found)}), as rows of one person or a time series are. Such rows may fall into both train and test, so "
        "scores may be too good. Pass the column that names the person to --group, or the one with the time to --time. "
        "If there is none, add it to the file."
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
    joined = " and ".join([parts[0], *map(_inside, parts[1:])])
    return f"{joined}: {'it has' if len(constant) + len(empty) == 1 else 'they have'} no effect."


def numbers_as_text(column: TableColumn) -> str:
    """A note on text that is numbers; empty for other columns."""
    share = column.number_share
    if share < MOSTLY:
        return ""
    if share == 1.0:
        return "All values are numbers, but some are written like codes: they are used as categories."
    odd = shorten(column.first_value_without_number())
    return f"{percent(share)} of the values are numbers, but not '{odd}': they are used as categories."


def about_copies(copies: Copies, n_rows: int, ids: Sequence[str]) -> list[str]:
    if copies.by_chance or copies.number < max(MIN_COPIES, COPIES * n_rows):
        return []
    without = f" without {_inside(columns_named(ids))}" if ids else ""
    other = f", {copies.contradictory:,} of them with another label" if copies.contradictory else ""
    return [
        f"{copies.number:,} rows equal an earlier row in all features{without}{other}. Copies may fall into both train and "
        "test, so scores may be too good. Remove them if they are mistakes."
    ]


def about_size(classes: NDArray[Any], counts: NDArray[np.int64], n_columns: int) -> list[str]:
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


def first_of(columns: Sequence[ColumnProfile]) -> list[str]:
    """The notes of the first columns, and the number of the others."""
    more = [column.name for column in columns[MOST_NAMED:]]
    rest = [f"The same holds for {_inside(columns_named(more))}."] if more else []
    return [column.note for column in columns[:MOST_NAMED]] + rest


def _inside(subject: str) -> str:
    """The beginning of a sentence in the middle of another one."""
    return subject[0].lower() + subject[1:]
