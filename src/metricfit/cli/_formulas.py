"""Cells that a spreadsheet would run as a formula when it opens a CSV file: found, and with ``--safe-csv`` made harmless."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from metricfit._printable import quoted

if TYPE_CHECKING:
    import pyarrow as pa

STARTS = ("=", "+", "-", "@", "\t", "\r")  # as OWASP lists them
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[-+]?[0-9][0-9.,' ]*([eE][-+]?[0-9]+)?%?$|^[-+]?\.[0-9]+([eE][-+]?[0-9]+)?$"


class Formulas:
    """What is done about formulas in the tables of an output."""

    def __init__(self, safe: bool, say: Callable[[str], None]) -> None:
        self.safe, self.say, self.said = safe, say, False

    def checked(self, table: pa.Table) -> pa.Table:
        """The table with a ' before such cells and names; unless ``safe``, the table as it is, and a note on the first one."""
        if self.safe:
            columns = [_quoted_formulas(column) for column in table.columns]
            return type(table).from_arrays(columns, names=[_quoted_name(name) for name in table.column_names])
        if not self.said:
            self._say_first(table)
        return table

    def _say_first(self, table: pa.Table) -> None:
        names = (name for name in table.column_names if _is_formula(name))
        first = next(names, None)
        for column in table.columns if first is None else ():
            first = _first_formula(column)
            if first is not None:
                break
        if first is not None:
            self.said = True
            self.say(f"A spreadsheet may run {quoted(first)} in the output as a formula. --safe-csv writes a ' before it.")


def _is_formula(text: str) -> bool:
    return text.startswith(STARTS) and not re.fullmatch(_NUMBER, text)


def _quoted_name(name: str) -> str:
    return f"'{name}" if _is_formula(name) else name


def _mask(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Which cells are formulas; None for a column of numbers or dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type)):
        return None
    text = column.cast(pa.large_string())
    found = pc.and_not(pc.match_substring_regex(text, _FORMULA), pc.match_substring_regex(text, _NUMBER))
    return pc.fill_null(found, False)


def _quoted_formulas(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    mask = _mask(column)
    if mask is None:
        return column
    text = column.cast(pa.large_string())
    quote, nothing = (pa.scalar(value, pa.large_string()) for value in ("'", ""))
    return pc.if_else(mask, pc.binary_join_element_wise(quote, text, nothing), text)  # of one type in every chunk


def _first_formula(column: pa.ChunkedArray) -> str | None:
    mask = _mask(column)
    found = column.filter(mask) if mask is not None else column[:0]
    return found[0].as_py() if len(found) else None
