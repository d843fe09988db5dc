"""A list of dictionaries that prints as a table; ``pandas.DataFrame(table)`` accepts it."""

from __future__ import annotations

from html import escape
from typing import Any


class Table(list[dict[str, Any]]):
    """A list of dictionaries.

    >>> Table([{"candidate": "threshold", "metric": 0.5}, {"candidate": "direct(1)", "metric": 0.625}])
    candidate  metric
    threshold  0.5
    direct(1)  0.625
    """

    def __repr__(self) -> str:
        lines = self._cells()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def _repr_html_(self) -> str:
        rows = ["".join(f"<td>{escape(cell)}</td>" for cell in line) for line in self._cells()]
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"

    def _cells(self) -> list[list[str]]:
        names = list(self[0]) if self else []
        return [names, *([_format(row[name]) for name in names] for row in self)]


def _format(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
