"""Names, counts and values in sentences. Control characters of a file never reach a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from metricfit._printable import printable

LONGEST_EXAMPLE = 20  # characters
MOST_NAMED = 5  # columns in one sentence


def shorten(text: str) -> str:
    """At most 20 printable characters.

    >>> shorten("a long remark about everything")
    'a long remark about…'
    """
    shown = printable(text[: LONGEST_EXAMPLE + 1])
    return shown if len(shown) <= LONGEST_EXAMPLE else shown[: LONGEST_EXAMPLE - 1] + "…"


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
    """A share in per cent, rounded down, so that only everything is 100 %.

    >>> percent(0.9996), percent(1.0)
    ('99.9 %', '100 %')
    """
    return "100 %" if share >= 1.0 else f"{int(1000 * share) / 10:.1f} %"
