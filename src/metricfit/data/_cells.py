"""From cells in Python, as JSON and Excel files give them, to a column of one Arrow type."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from metricfit.data._literals import MISSING

_MAX_INT = 2**63


def column_of(cells: Sequence[Any]) -> pa.Array:
    """A column of booleans, numbers, dates or times if all cells are, apart from missing values; else a column of text."""
    text, cells = cells, [None if isinstance(cell, str) and cell.strip() in MISSING else cell for cell in cells]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds and kinds <= {int, float} and all(abs(cell) < _MAX_INT for cell in cells if type(cell) is int):
        return pa.array(cells, pa.int64() if kinds == {int} else pa.float64())
    if kinds == {datetime.date}:
        return pa.array(cells, pa.date32())
    if kinds and kinds <= {datetime.date, datetime.datetime}:
        moments = [datetime.datetime(*cell.timetuple()[:3]) if type(cell) is datetime.date else cell for cell in cells]
        return pa.array(moments, pa.timestamp("us"))
    if kinds == {datetime.time}:
        return pa.array(cells, pa.time64("us"))
    if kinds == {datetime.timedelta}:
        return pa.array(cells, pa.duration("us"))
    return pa.array([None if cell is None else cell_text(cell) for cell in text], pa.string())


def cell_text(cell: Any) -> str:
    """The cell as text, as Arrow writes a whole column of its type, so that it is the same in every chunk."""
    if isinstance(cell, str):
        return cell
    if type(cell) is int:
        return str(cell)
    text: str = pa.scalar(cell).cast(pa.string()).as_py()
    return text
