"""Workbooks and Parquet files that hold far more than they seem to: refused before they fill the memory or the disk."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable
from functools import reduce
from pathlib import Path
from typing import Any

from metricfit import _files
from metricfit._errors import DataError
from metricfit._files import describe_bomb, is_bomb

MOST_CELLS = 10**8  # of a sheet
_BLOCK = 2**20
_SHEET = re.compile(r"xl/worksheets/[^/]*\.xml")
_CELL = re.compile(rb' r="([A-Z]{1,3})([0-9]{1,7})"')


def check_zip(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse a workbook that holds too much, or other sizes than it says."""
    size, stored = sum(member.file_size for member in archive.infolist()), path.stat().st_size
    if is_bomb(size, stored):
        raise DataError(f"{path} {describe_bomb(size, stored)} Save the table as CSV if this is right.")
    for member in archive.infolist():
        with archive.open(member) as file:  # reads no more of a member than its size, and checks its sum at the end
            sheet = _SHEET.fullmatch(member.filename) is not None
            row, column = _last_cell(iter(lambda: file.read(_BLOCK), b""), sheet)
        if row * column > MOST_CELLS:
            raise DataError(
                f"{path} has a cell in row {row:,}, column {column:,}: its sheet spans {row * column:,} cells, most of them "
                "empty. Delete what is far from the table, or save the table as CSV."
            )


def _last_cell(blocks: Iterable[bytes], sheet: bool) -> tuple[int, int]:
    """The last row and the last column of a sheet's cells, which the reader keeps as a whole rectangle."""
    row = column = 0
    before = b""
    for block in blocks:
        for letters, number in set(_CELL.findall(before + block)) if sheet else ():
            row = max(row, int(number))
            column = max(column, reduce(lambda total, letter: 26 * total + letter - 64, letters, 0))
        before = block[-20:]  # a cell may lie on the border
    return row, column


def check_parquet(path: Path, metadata: Any, whole: bool) -> None:
    """Refuse a Parquet file whose pages, or with ``whole`` whose cells, are far more than its size."""
    groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
    pages = sum(group.total_byte_size for group in groups)
    cells = 8 * metadata.num_rows * metadata.num_columns if whole else 0
    size, stored = max(pages, cells), path.stat().st_size
    if is_bomb(pages, stored) or is_bomb(cells, _files.MOST_TIMES * stored):
        raise DataError(f"{path} {describe_bomb(size, stored)} Write it without compression, or take some of its rows.")
