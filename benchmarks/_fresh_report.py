"""The page about fresh sets."""

from __future__ import annotations

from benchmarks._fresh_sets import FRESH
from reproductions._markdown import table


def list_sets() -> str:
    """All fresh sets as a Markdown table."""
    heads = ("set", "group", "file", "class", "what it is", "rows", "columns", "of them text", "classes", "rarest", "left out")
    rows = []
    for one in FRESH.values():
        left_out = "; ".join(f"{column} ({why})" for column, why in one.left_out.items())
        size, rarest = one.size, f"{100.0 * one.size.rarest / one.size.rows:.1f} %"
        numbers = (f"{size.rows:,}", str(size.columns), str(size.text), str(size.classes), rarest)
        rows.append([one.name, one.group, one.path, one.target, one.about, *numbers, left_out])
    return table(heads, rows)
