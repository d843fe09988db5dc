"""Look at each column once, then say what may mislead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from metricfit.profile import _sentences as say
from metricfit.profile._column import TableColumn, describe_type, describe_use, examples
from metricfit.profile._copies import RowHashes
from metricfit.profile._identity import Identity, find_identity, is_in_blocks
from metricfit.profile._leaks import NEARLY_THE_TARGET, Leak, Target, find_leak
from metricfit.profile._repeats import Repeats, find_repeats
from metricfit.profile._result import ColumnProfile, TableProfile

if TYPE_CHECKING:
    from metricfit.data import Column, TableSchema

ALMOST_MISSING = 0.95  # share of rows
ID_KNOWS = 0.5  # how far an ID is from chance (0) to the target (1) before rows count as sorted by class


def profile_table(
    features: pa.Table,
    labels: NDArray[Any],
    schema: TableSchema | None = None,
    dropped: Mapping[str, str] = {},
    random_folds: bool = True,
) -> TableProfile:
    """Look at a table before anything is trained.

    Args:
        features: all columns but the target.
        labels: the target, one per row of ``features``.
        schema: how the columns were read; None for a table that is not from a file.
        dropped: the columns of the file that are not features, each with the reason: "dropped by --drop". They are listed
            with it, and nothing else is said about them.
        random_folds: whether rows are held out at random. If not, nobody needs to know that rows repeat what they are about.

    >>> table = pa.table({"size": [1.5, 2.5, 3.5, 1.5], "unit": ["cm"] * 4})
    >>> profile = profile_table(table, np.array([0, 1, 1, 0]), dropped={"row": "dropped by --drop"})
    >>> [(column.name, column.use) for column in profile.columns]
    [('size', 'number'), ('unit', 'not used: constant'), ('row', 'dropped by --drop')]
    >>> profile.n_copies
    1
    """
    read_as = {column.name: column for column in schema.columns} if schema is not None else {}
    target, hashes = Target.of(labels), RowHashes(features.num_rows)
    looks, used = list[_Look](), list[TableColumn]()
    for place, name in enumerate(features.column_names):
        column = TableColumn.of(name, features.column(place))
        look = _look(column, place == 0, read_as.get(name), target, dropped.get(name, ""))
        looks.append(look)
        if look.is_used and not look.names_a_row:
            hashes.add(column)
            used.append(column)
    repeats = find_repeats(used, target.classes) if random_folds and not any(look.names_a_group for look in looks) else None
    looks = [_with_repeats(look, repeats, features.num_rows) for look in looks]
    copies = hashes.copies(target.classes)
    ids = [look.profile.name for look in looks if look.names_a_row]
    warnings = [
        *_about_columns(looks, features.num_rows),
        *say.about_order(repeats),
        *say.about_copies(copies, features.num_rows, ids),
        *say.about_size(target.names, np.bincount(target.classes), sum(look.is_used for look in looks)),
    ]
    absent = [ColumnProfile(name, "", why, 0, 0, ()) for name, why in dropped.items() if name not in features.column_names]
    columns = (*(look.profile for look in looks), *absent)
    return TableProfile(columns, features.num_rows, copies.number, tuple(warnings), copies.contradictory)


@dataclass(frozen=True)
class _Look:
    """A column's entry, and the warning that it takes part in."""

    profile: ColumnProfile
    topic: str = ""
    is_used: bool = False
    names_a_row: bool = False
    names_a_group: bool = False
    score: float = 0.0


def _look(column: TableColumn, is_first: bool, read_as: Column | None, target: Target, why_dropped: str) -> _Look:
    use = why_dropped or describe_use(column)
    entry = (column.name, describe_type(column, read_as), use, column.n_missing, column.n_distinct, examples(column))
    if why_dropped:
        return _Look(ColumnProfile(*entry))
    if use.startswith("not used"):
        return _Look(ColumnProfile(*entry, "It has no effect."), use)
    identity, leak = find_identity(column, is_first), find_leak(column, target)
    is_id = identity is not None and identity.what != "group"
    is_group = identity is not None and identity.what in ("group", "part")
    topic, note = _choose(column, identity, leak, target)
    return _Look(ColumnProfile(*entry, note), topic, True, is_id, is_group, leak.score)


def _with_repeats(look: _Look, repeats: Repeats | None, n_rows: int) -> _Look:
    """The column whose rows repeat what they are about is a group, whatever its name."""
    if repeats is None or look.profile.name != repeats.name:
        return look
    if look.topic == "leak":
        note = say.group_leak(repeats.name, look.score, repeats.n_values)
        return replace(look, profile=replace(look.profile, note=note))
    return replace(look, topic="group", profile=replace(look.profile, note=say.repeated(repeats, n_rows)))


def _choose(column: TableColumn, identity: Identity | None, leak: Leak, target: Target) -> tuple[str, str]:
    """The most important thing to say about a column: its topic and its sentence."""
    name = column.name
    chance = 1.0 / max(1, target.n_classes)
    if leak.by_missing:
        return "leak", say.missing_leak(name, leak.score)
    if identity is not None and identity.what == "row number" and leak.score >= chance + ID_KNOWS * (1.0 - chance):
        return "leak", say.sorted_by_class(name, leak.score)
    if leak.score >= NEARLY_THE_TARGET:
        many = column.n_distinct > 2 * target.n_classes
        if many and (is_in_blocks(column) or (identity is not None and identity.what == "group")):
            return "leak", say.group_leak(name, leak.score, column.n_distinct)
        return "leak", say.leak(name, leak.score)
    if identity is not None and identity.what == "part":
        return "part", say.part(name, identity.example, identity.n_groups)
    if identity is not None and identity.what == "group":
        return "group", say.group(name, identity.n_groups, column.n_known)
    if identity is not None:
        return "id", say.ids([name])
    if column.n_missing > ALMOST_MISSING * len(column.values):
        return "sparse", say.sparse([name], column.n_missing / len(column.values))
    return "", say.numbers_as_text(column)


def _about_columns(looks: list[_Look], n_rows: int) -> list[str]:
    """One sentence for each column that knows the target or names a group, one for all others of a topic."""

    def of(topic: str) -> list[ColumnProfile]:
        return [look.profile for look in looks if look.topic == topic]

    def names(topic: str) -> list[str]:
        return [column.name for column in of(topic)]

    leaks = sorted((look for look in looks if look.topic == "leak"), key=lambda look: -look.score)
    warnings = say.first_of([look.profile for look in leaks])
    warnings += say.first_of(of("part")) + say.first_of(of("group"))
    if of("id"):
        warnings.append(say.ids(names("id")))
    if of("sparse"):
        least = min(column.n_missing for column in of("sparse"))
        warnings.append(say.sparse(names("sparse"), least / n_rows))
    constant, empty = names("not used: constant"), names("not used: empty")
    if constant or empty:
        warnings.append(say.without_effect(constant, empty))
    return warnings
