"""Classes with too few rows: merged with others, or dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit._errors import DataError
from metricfit._printable import quoted
from metricfit.data._source import Say

OTHER = "other"  # the class of rare classes


def merge_classes(
    classes: NDArray[Any],
    counts: NDArray[Any],
    min_rows: int,
    target: str,
    say: Say,
    order: Sequence[Any] | None = None,
) -> NDArray[Any]:
    """The new name of every class, so that all classes have at least ``min_rows`` rows; unchanged if they do already.

    Rare classes become the class "other". If that is rare too, the next smallest classes join it. With an ``order``, a rare
    class joins a neighbour in the order instead, because "other" has no position in it.
    """
    if not (counts < min_rows).any():
        return classes
    if order is not None:
        return _merge_neighbours(classes, counts, min_rows, target, say, order)
    names = classes.astype(str)
    merged = (counts < min_rows) | (names == OTHER)
    rare = merged & (names != OTHER)
    by_size = [index for index in np.argsort(counts, kind="stable") if not merged[index]]
    joining = list[int]()
    while counts[merged].sum() < min_rows and len(by_size) > 1:
        joining.append(by_size.pop(0))
        merged[joining[-1]] = True
    if merged.sum() < 2:
        raise DataError(
            f"--merge-rare {min_rows}: class {quoted(classes[merged].tolist()[0])} of column {target!r} has "
            f"{_rows(counts[merged].sum())}, and there is no third class to join it with. Add rows, or pass a smaller number."
        )
    sentences = list[str]()
    if rare.any():
        verb = ("join" if (names == OTHER).any() else "become") + ("s" if rare.sum() == 1 else "")
        sentences.append(f"{_name_rare(classes, counts, rare, min_rows)} {verb} the class {OTHER!r}.")
    if joining:
        shown = ", ".join(f"{quoted(classes.tolist()[index])} ({_rows(counts[index])})" for index in joining)
        verb = "joins" if len(joining) == 1 else "join"
        sentences.append(f"{shown} {verb} it, because {OTHER!r} alone would have fewer than {min_rows} rows.")
    if classes.dtype.kind != "U":
        sentences.append("All labels are text now.")
    say(f"Column {target!r}: {' '.join(sentences)}")
    return np.where(merged, OTHER, names)


def _merge_neighbours(
    classes: NDArray[Any], counts: NDArray[Any], min_rows: int, target: str, say: Say, order: Sequence[Any]
) -> NDArray[Any]:
    """Every rare class, the smallest first, joins the smaller of its neighbours."""
    size = dict(zip(classes.tolist(), counts.tolist(), strict=True))
    parts = [([label], size[label]) for label in order]  # merged classes; the first label gives the name
    while len(parts) > 2 and min(rows for _, rows in parts) < min_rows:
        smallest = min(range(len(parts)), key=lambda index: parts[index][1])
        near = [index for index in (smallest - 1, smallest + 1) if 0 <= index < len(parts)]
        other = min(near, key=lambda index: parts[index][1])
        large, small = sorted((parts[smallest], parts[other]), key=lambda part: -part[1])
        parts[min(smallest, other) : max(smallest, other) + 1] = [(large[0] + small[0], large[1] + small[1])]
    if min(rows for _, rows in parts) < min_rows:
        raise DataError(
            f"--merge-rare {min_rows}: column {target!r} has {_rows(sum(size.values()))}, too few for two classes with "
            f"{min_rows} rows each. Pass a smaller number."
        )
    moved = [f"{quoted(label)} ({_rows(size[label])}) joins {quoted(names[0])}" for names, _ in parts for label in names[1:]]
    say(f"Column {target!r}: classes with fewer than {min_rows} rows join a neighbour in the order: {', '.join(moved)}.")
    new = {label: names[0] for names, _ in parts for label in names}
    return np.array([new[label] for label in classes.tolist()], dtype=classes.dtype)


def frequent_classes(classes: NDArray[Any], counts: NDArray[Any], min_rows: int, target: str, say: Say) -> NDArray[np.bool_]:
    """Which classes have at least ``min_rows`` rows. A note says that the others are dropped."""
    rare = counts < min_rows
    if rare.any():
        verb, their = ("is", "its") if rare.sum() == 1 else ("are", "their")
        say(
            f"Column {target!r}: {_name_rare(classes, counts, rare, min_rows)} {verb} dropped with {their} rows (--drop-rare)."
        )
    return ~rare


def _name_rare(classes: NDArray[Any], counts: NDArray[Any], rare: NDArray[np.bool_], min_rows: int) -> str:
    names = [quoted(label) for label in classes[rare].tolist()]
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    what = "1 class" if len(names) == 1 else f"{len(names)} classes"
    return f"{what} with fewer than {min_rows} rows ({shown}; {_rows(counts[rare].sum())}{' together' * (len(names) > 1)})"


def _rows(number: Any) -> str:
    return "1 row" if number == 1 else f"{int(number):,} rows"
