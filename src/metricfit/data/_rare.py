"""Classes with too few rows: merged with others, or dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit._errors import DataError
from metricfit._printable import quoted

OTHER = "other"  # the class of rare classes
Say = Callable[[str], None]


def merge_classes(
    classes: NDArray[Any],
    counts: NDArray[Any],
    fewest: int,
    target: str,
    say: Say,
    order: Sequence[Any] | None = None,
) -> NDArray[Any]:
    """The new name of every class, so that classes have ``fewest`` rows at least; unchanged if they have.

    Rare classes become the class "other". If that is rare too, the next smallest classes join it. With an ``order``, a rare
    class joins a neighbour in the order instead, because "other" has no place in it.
    """
    if not (counts < fewest).any():
        return classes
    if order is not None:
        return _merge_neighbours(classes, counts, fewest, target, say, order)
    names = classes.astype(str)
    merged = (counts < fewest) | (names == OTHER)
    by_size = [place for place in np.argsort(counts, kind="stable") if not merged[place]]
    joining = list[int]()
    while counts[merged].sum() < fewest and len(by_size) > 1:
        joining.append(by_size.pop(0))
        merged[joining[-1]] = True
    if merged.sum() < 2:
        raise DataError(
            f"--merge-rare {fewest}: class {quoted(classes[merged].tolist()[0])} of column {target!r} has "
            f"{_rows(counts[merged].sum())}, and there is no third class to join it with. Add rows, or pass a smaller number."
        )
    rare = (counts < fewest) & (names != OTHER)
    exists = (names == OTHER).any()
    _say_merged(classes, counts, fewest, target, say, rare, bool(exists), joining)
    return np.where(merged, OTHER, names)


def _say_merged(
    classes: NDArray[Any],
    counts: NDArray[Any],
    fewest: int,
    target: str,
    say: Say,
    rare: NDArray[np.bool_],
    exists: bool,
    joining: Sequence[int],
) -> None:
    one, named = int(rare.sum()) == 1, list[str]()
    if rare.any():
        become = f"become{'s' * one} the class {OTHER!r}"
        join = f"join{'s' * one} the class {OTHER!r}, which exists already"
        named.append(f"{name_rare(classes, counts, rare, fewest)} {join if exists else become}.")
    if joining:
        names = ", ".join(f"{quoted(classes.tolist()[place])} ({_rows(counts[place])})" for place in joining)
        verb = "joins" if len(joining) == 1 else "join"
        named.append(f"{names} {verb} it, because {OTHER!r} alone would have fewer than {fewest} rows.")
    if classes.dtype.kind != "U":
        named.append("All labels are text now.")
    say(f"Column {target!r}: {' '.join(named)}")


def _merge_neighbours(
    classes: NDArray[Any], counts: NDArray[Any], fewest: int, target: str, say: Say, order: Sequence[Any]
) -> NDArray[Any]:
    """Every rare class, the smallest first, joins the smaller of its neighbours."""
    size = dict(zip(classes.tolist(), counts.tolist(), strict=True))
    parts = [([label], size[label]) for label in order]  # classes that became one, the first of which gives the name
    while len(parts) > 2 and min(rows for _, rows in parts) < fewest:
        place = min(range(len(parts)), key=lambda index: parts[index][1])
        near = [index for index in (place - 1, place + 1) if 0 <= index < len(parts)]
        other = min(near, key=lambda index: parts[index][1])
        large, small = sorted((parts[place], parts[other]), key=lambda part: -part[1])
        parts[min(place, other) : max(place, other) + 1] = [(large[0] + small[0], large[1] + small[1])]
    if min(rows for _, rows in parts) < fewest:
        raise DataError(
            f"--merge-rare {fewest}: column {target!r} has {_rows(sum(size.values()))}, too few for two classes with {fewest} "
            "rows each. Pass a smaller number."
        )
    moved = [f"{quoted(label)} ({_rows(size[label])}) joins {quoted(names[0])}" for names, _ in parts for label in names[1:]]
    say(f"Column {target!r}: classes with fewer than {fewest} rows join a neighbour in the order: {', '.join(moved)}.")
    new = {label: names[0] for names, _ in parts for label in names}
    return np.array([new[label] for label in classes.tolist()], dtype=classes.dtype)


def frequent_classes(classes: NDArray[Any], counts: NDArray[Any], fewest: int, target: str, say: Say) -> NDArray[np.bool_]:
    """The classes with ``fewest`` rows at least. The others are dropped, and this is said."""
    rare = counts < fewest
    if rare.any():
        its = "its" if rare.sum() == 1 else "their"
        what = name_rare(classes, counts, rare, fewest)
        say(f"Column {target!r}: {what} {'is' if rare.sum() == 1 else 'are'} dropped with {its} rows (--drop-rare).")
    return ~rare


def name_rare(classes: NDArray[Any], counts: NDArray[Any], rare: NDArray[np.bool_], fewest: int) -> str:
    names = [quoted(label) for label in classes[rare].tolist()]
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    what = "1 class" if len(names) == 1 else f"{len(names)} classes"
    together = " together" if len(names) > 1 else ""
    return f"{what} with fewer than {fewest} rows ({shown}; {_rows(counts[rare].sum())}{together})"


def _rows(number: Any) -> str:
    return "1 row" if number == 1 else f"{int(number):,} rows"
