"""The first line of a table: whether it has names, and names that differ."""

from __future__ import annotations

from collections.abc import Sequence

from metricfit.data._literals import MISSING, is_number


def unique_names(raw_names: Sequence[str]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Names without surrounding spaces, each once, and the repeated ones with their new names.

    An unnamed column is called "column" and its number.

    >>> unique_names(["a", "b", " a", ""])
    (('a', 'b', 'a (2)', 'column 4'), (('a', 'a (2)'),))
    """
    wanted = [name.strip() or f"column {index}" for index, name in enumerate(raw_names, 1)]
    names: list[str] = []
    renamed: list[tuple[str, str]] = []
    used, taken = set[str](), set(wanted)
    for name in wanted:
        new, times = name, 1
        while new in used or (times > 1 and new in taken):
            times += 1
            new = f"{name} ({times})"
        if new != name:
            renamed.append((name, new))
        used.add(new)
        names.append(new)
    return tuple(names), tuple(renamed)


def why_data(records: Sequence[Sequence[str]]) -> str:
    """Why the first line is data; "" if it is a header.

    A header has no number, or has a word above a column of numbers. Words that all occur below, each in its own column, are
    data.
    """
    first, rest = records[0], records[1:]
    if not any(map(is_number, first)):
        repeated = bool(first) and all(
            cell.strip() not in MISSING and cell.strip() in _below(rest, i) for i, cell in enumerate(first)
        )
        return "has only values that occur again below" if repeated else ""
    for index, name in enumerate(first):
        below = [cell for cell in _below(rest, index) if cell not in MISSING]
        if below and all(map(is_number, below)) and name.strip() not in MISSING and not is_number(name):
            return ""
    return "has numbers"


def _below(rest: Sequence[Sequence[str]], index: int) -> set[str]:
    return {row[index].strip() for row in rest if index < len(row)}
