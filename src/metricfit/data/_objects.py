"""Tables whose cells come as Python objects: JSON Lines, a JSON array of objects, and the first sheet of a workbook."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from metricfit._errors import DataError
from metricfit._extras import require
from metricfit._printable import quoted
from metricfit.data._numbers import MISSING
from metricfit.data._source import open_text

Row = dict[str, Any]
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


def read_keys(path: Path, compressed: bool, encoding: str) -> tuple[str, ...]:
    """The keys of all objects of a JSON file, in the order in which they first occur."""
    keys: dict[str, None] = {}
    for row in _json_rows(path, compressed, encoding):
        keys |= dict.fromkeys(row)
    if not keys:
        raise DataError(f"{path} has no columns: its JSON objects are empty.")
    return tuple(keys)


def read_objects(path: Path, compressed: bool, encoding: str, keys: Sequence[str], n_rows: int) -> Iterator[pa.Table]:
    """Tables of at most ``n_rows`` rows, whose columns are called f0, f1, ...; a key that an object lacks is missing."""
    rows, done = _json_rows(path, compressed, encoding), 0
    while part := list(islice(rows, n_rows)):
        columns = []
        for key in keys:
            cells = [row.get(key) for row in part]
            for index, cell in enumerate(cells):
                if isinstance(cell, dict | list):
                    what = "an object" if isinstance(cell, dict) else "a list"
                    raise DataError(
                        f"{path}, row {done + index + 1}, column {quoted(key)} holds {what}, expected a number, text, true or "
                        f"false. Pass --drop {quoted(key)}, or write one column for each of its values."
                    )
            columns.append(column_of(cells))
        yield pa.table(columns, names=[f"f{index}" for index in range(len(keys))])
        done += len(part)


def _json_rows(path: Path, compressed: bool, encoding: str) -> Iterator[Row]:
    """The objects of the lines, or of the array if the first line that is not blank begins one."""
    with open_text(path, compressed, encoding) as text:
        lines = ((number, line.strip()) for number, line in enumerate(text, 1) if line.strip())
        first = next(lines, (1, ""))
        if first[1].startswith("["):
            yield from _array_rows(first[1] + text.read(), path)
            return
        for number, line in chain([first], lines):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(
                    f"{path}, line {number} is not a JSON object: {error}. "
                    "Expected one object per line, or an array of objects."
                ) from error
            yield _check_row(row, path, f"line {number}")


def _array_rows(text: str, path: Path) -> Iterator[Row]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}.") from error
    for number, row in enumerate(rows, 1):
        yield _check_row(row, path, f"element {number}")


def _check_row(row: Any, path: Path, where: str) -> Row:
    if not isinstance(row, dict):
        raise DataError(f'{path}, {where} is a JSON {type(row).__name__}, expected an object such as {{"age": 31}}.')
    return row


@dataclass(frozen=True)
class Sheet:
    """The cells of a sheet; ``first_row`` empty rows above them were left out."""

    name: str
    n_sheets: int
    first_row: int
    rows: list[list[Any]]


def read_sheet(path: Path) -> Sheet:
    """The first visible sheet of an Excel or OpenDocument workbook."""
    require("python_calamine", "excel", f"{path} is an Excel file, which")
    import python_calamine as calamine

    try:
        with calamine.CalamineWorkbook.from_path(str(path)) as book:
            visible = [
                sheet.name
                for sheet in book.sheets_metadata
                if sheet.typ == calamine.SheetTypeEnum.WorkSheet and sheet.visible == calamine.SheetVisibleEnum.Visible
            ]
            if not visible:
                raise DataError(f"{path} has no visible sheet.")
            sheet = book.get_sheet_by_name(visible[0])
            rows, start = sheet.to_python(), sheet.start
    except calamine.PasswordError as error:
        raise DataError(f"{path} is an Excel file with a password. Save it without one.") from error
    except (calamine.CalamineError, OSError) as error:
        raise DataError(f"{path} cannot be read as an Excel file: {error}.") from error
    while rows and all(cell == "" for cell in rows[-1]):
        rows.pop()
    if not rows or start is None:
        raise DataError(f"{path}, sheet {visible[0]!r} is empty.")
    return Sheet(visible[0], len(visible), start[0], rows)
