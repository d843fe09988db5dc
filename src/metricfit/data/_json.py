"""JSON Lines, one object per line; and a JSON array of objects."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from metricfit._errors import DataError
from metricfit._printable import quoted
from metricfit.data._cells import column_of
from metricfit.data._sniff import open_bytes

Row = dict[str, Any]
MAX_LINE = 2**26  # characters of an object


def read_keys(path: Path, compressed: bool, encoding: str) -> tuple[str, ...]:
    """The keys of all objects, in the order in which they first occur."""
    keys: dict[str, None] = {}
    for row in _rows(path, compressed, encoding):
        keys |= dict.fromkeys(row)
    if not keys:
        raise DataError(f"{path} has no columns: its JSON objects are empty.")
    return tuple(keys)


def read_objects(path: Path, compressed: bool, encoding: str, keys: Sequence[str], n_rows: int) -> Iterator[pa.Table]:
    """Tables of at most ``n_rows`` rows, whose columns are called f0, f1, ...; a key that an object lacks is missing."""
    rows, done = _rows(path, compressed, encoding), 0
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


def _rows(path: Path, compressed: bool, encoding: str) -> Iterator[Row]:
    try:
        with open_bytes(path, compressed) as file, io.TextIOWrapper(file, encoding=encoding) as text:
            yield from _parse_rows(text, path)
    except UnicodeError as error:
        raise DataError(f"{path} cannot be read as {encoding}: {error}.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def _parse_rows(text: io.TextIOWrapper, path: Path) -> Iterator[Row]:
    started = False
    for number, line in enumerate(iter(lambda: text.readline(MAX_LINE + 1), ""), 1):
        starts = line.removeprefix("\ufeff").lstrip() if number == 1 else line.lstrip()
        if starts.startswith("[") and not started:
            yield from _parse_array(starts + text.read(), path)
            return
        if len(line) > MAX_LINE:
            raise DataError(f"{path}, line {number} is longer than {MAX_LINE / 2**20:.0f} MB, expected one object per line.")
        line = starts.rstrip()
        if not line:
            continue
        started = True
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{path}, line {number} is not a JSON object: {error}. Expected one object per line, or an array of objects."
            ) from error
        yield _check_row(row, path, f"line {number}")


def _parse_array(text: str, path: Path) -> Iterator[Row]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}.") from error
    for number, row in enumerate(rows, 1):
        yield _check_row(row, path, f"element {number}")


def _check_row(row: Any, path: Path, place: str) -> Row:
    if not isinstance(row, dict):
        raise DataError(f'{path}, {place} is a JSON {type(row).__name__}, expected an object such as {{"age": 31}}.')
    return row
