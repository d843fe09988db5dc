"""Formats that Arrow does not read: JSON Lines and arrays, the first sheet of a workbook, and ARFF.

The cells of JSON files and workbooks are Python objects. ARFF files of Weka and OpenML, and the ``.dat`` files of KEEL, have a
header with names and types; their rows become lines of CSV, so that all text files are read alike.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from metricfit._errors import DataError
from metricfit._extras import require
from metricfit._printable import quoted
from metricfit.data._numbers import MISSING
from metricfit.data._source import open_text

_MAX_INT = 2**63
_QUOTED = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+(?:{_QUOTED}|([^\s{{]+))\s*(.*)", re.IGNORECASE)
_CELL = re.compile(rf"\s*(?:{_QUOTED}|([^,\t]*?))\s*(,|\t|$)")
_DATA = re.compile(r"@data\b", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")
_NUMBERS = ("numeric", "real", "integer")
_TEXTS = ("string", "date")


@dataclass(frozen=True)
class Sheet:
    """The cells of a sheet below ``first_row`` empty rows."""

    name: str
    n_sheets: int
    first_row: int
    rows: list[list[Any]]


def column_of(cells: Sequence[Any]) -> pa.Array:
    """A column of booleans, numbers, dates or times if all known cells are; else a column of text."""
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
    """The cell as text, as Arrow writes it: 7.0 is "7", True is "true"."""
    if isinstance(cell, str):
        return cell
    if type(cell) is int:
        return str(cell)
    text: str = pa.scalar(cell).cast(pa.string()).as_py()
    return text


def read_keys(path: Path, compressed: bool, encoding: str) -> tuple[str, ...]:
    """The keys of all objects of a JSON file, in order of first occurrence."""
    keys = dict.fromkeys(key for row in _read_json(path, compressed, encoding) for key in row)
    if not keys:
        raise DataError(f"{path} has no columns: its JSON objects are empty.")
    return tuple(keys)


def read_objects(path: Path, compressed: bool, encoding: str, keys: Sequence[str]) -> list[pa.Array]:
    """A column for each key of a JSON file; a key that an object lacks is missing."""
    rows = _read_json(path, compressed, encoding)
    for number, row in enumerate(rows, 1):
        for key in keys:
            if isinstance(cell := row.get(key), dict | list):
                what = "an object" if isinstance(cell, dict) else "a list"
                raise DataError(
                    f"{path}, row {number}, column {quoted(key)} contains {what}, expected a number, text, true or "
                    f"false. Pass --drop {quoted(key)}, or write one column for each of its values."
                )
    return [column_of([row.get(key) for row in rows]) for key in keys]


def _read_json(path: Path, compressed: bool, encoding: str) -> list[dict[str, Any]]:
    """The objects of an array, or of the lines."""
    with open_text(path, compressed, encoding) as file:
        text = file.read()
    if text.lstrip().startswith("["):
        rows = _parse_json(text, f"{path}")
        numbered = [(f"{path}, element {number}", row) for number, row in enumerate(rows, 1)]
    else:
        lines = [(f"{path}, line {number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        numbered = [(where, _parse_json(line, where)) for where, line in lines]
    for where, row in numbered:
        if not isinstance(row, dict):
            raise DataError(f'{where} is a JSON {type(row).__name__}, expected an object such as {{"age": 31}}.')
    return [row for _, row in numbered]


def _parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{where} is not valid JSON: {error}. Expected one object per line, or an array of objects."
        ) from error


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


def read_arff_header(lines: Iterable[str], path: Path) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """The names of the columns, their types ("number", "string", or "" for a date), and the number of lines before ``@data``.

    >>> read_arff_header(["@attribute 'my size' real", "@attribute sort {a, b}", "@data", "1.5, a"], Path("r.arff"))
    (('my size', 'sort'), ('number', 'string'), 2)
    """
    columns: list[tuple[str, str]] = []
    numbered = enumerate(map(str.strip, lines), 1)
    for number, line in numbered:
        if _DATA.match(line):
            break
        if line.lower().startswith("@attribute"):
            columns.append(_column(line, f"{path}, line {number}"))
    else:
        raise DataError(f"{path} is an ARFF file without a @data line.")
    if not columns:
        raise DataError(f"{path} is an ARFF file without @attribute lines, which name the columns.")
    first = next((line for _, line in numbered if line and not line.startswith("%")), "")
    if first.startswith("{"):
        raise DataError(f"{path} is a sparse ARFF file, which is not supported. Convert it with Weka's SparseToNonSparse.")
    names, types = zip(*columns, strict=True)
    return names, types, number - 1


def _column(line: str, where: str) -> tuple[str, str]:
    """The name and the type of a column."""
    found = _ATTRIBUTE.match(line)
    if found is None:
        raise DataError(f"{where} should be @attribute, a name and a type, got {line!r}.")
    name, kind = _first_group(found), found[4]
    word = re.split(r"[\s\[]", kind.lower())[0]
    if kind.startswith("{"):
        return name, "string"
    if word not in _NUMBERS + _TEXTS:
        raise DataError(f"{where}: column {name!r} has the type {kind!r}, expected one of numeric, nominal, string and date.")
    return name, "number" if word in _NUMBERS else "string" if word == "string" else ""


def arff_as_csv(lines: Iterable[str]) -> Iterator[str]:
    """The lines after ``@data`` as CSV. Comments and the header become blank lines, so that rows keep their numbers.

    >>> list(arff_as_csv(["@data", r"1, 'it\\'s', ?", "% a comment", "2, 'Ann, Bob', x", "3,y,z"]))
    ['\\n', "1,it's,?\\n", '\\n', '2,"Ann, Bob",x\\n', '3,y,z\\n']
    """
    rows = iter(lines)
    for line in rows:
        yield "\n"
        if _DATA.match(line.strip()):
            break
    for line in rows:
        text = line.strip().replace("<null>", "?")  # KEEL's missing value
        if text.startswith("%"):
            yield "\n"
        elif any(sign in text for sign in "'\"\\\t"):
            yield _csv_line(text)
        else:
            yield f"{text}\n"


def _csv_line(text: str) -> str:
    cells, end = list[str](), 0
    while found := _CELL.match(text, end):
        cells.append(_first_group(found))
        end = found.end()
        if not found[4]:
            break
    else:
        return f"{text}\n"  # quotes that do not end at a comma
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _first_group(found: re.Match[str]) -> str:
    """The text in quotes, or without them."""
    return next((_ESCAPED.sub(r"\1", text) for text in found.groups()[:2] if text is not None), found[3] or "")
