"""The layout of a file: format, compression, encoding, delimiter and header. It is detected unless you pass it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import ArrowException, parquet

from metricfit._errors import DataError
from metricfit._printable import quoted
from metricfit.data import _arff
from metricfit.data._objects import cell_text, read_keys, read_sheet
from metricfit.data._sniff import (
    MAX_RECORDS,
    WHITESPACE,
    check_encoding,
    detect_decimal,
    detect_delimiter,
    detect_encoding,
    first_lines,
    first_records,
    unique_names,
    why_data,
)
from metricfit.data._source import data_errors, detect_format, open_text

MOST_RENAMED = 5  # repeated names with a note each


@dataclass(frozen=True)
class Layout:
    """The names of the columns, and how to read the file. Some fields apply to some formats only."""

    names: tuple[str, ...]
    raw_names: tuple[str, ...]  # as in the file, with surrounding spaces
    format: str = "csv"  # or arff, parquet, jsonl, excel
    compressed: bool = False
    encoding: str = "utf-8"
    delimiter: str = ","  # or "\\s+", any number of spaces
    types: tuple[str, ...] = ()  # of the columns, where the file has them: "number", "string", or "" for a date
    decimal: str = "."
    header: bool = True
    blank_lines: int = 0  # before the first non-blank line, or before @data in an ARFF file
    notes: tuple[str, ...] = ()  # sentences about everything that was detected and might be wrong

    @property
    def first_row(self) -> int:
        """The number of the first row of data, as an editor or a spreadsheet counts."""
        return 1 + self.blank_lines + int(self.header) if self.format in ("csv", "arff", "excel") else 1


def layout_of(path: Path, *, delimiter: str | None = None, encoding: str | None = None, header: bool | None = None) -> Layout:
    """Detect the layout. Arguments that are not None are used as given."""
    with data_errors(path):
        format, compressed = detect_format(path)
        if format == "parquet":
            return _parquet_layout(path)
        if format == "excel":
            return _excel_layout(path, header)
        notes = []
        if encoding is not None:
            encoding = check_encoding(encoding)
        elif not (encoding := detect_encoding(path, compressed)).startswith("utf"):
            notes.append(f"The file is not UTF-8: read as {encoding}. Pass --encoding to change this.")
        if format == "csv":
            return _csv_layout(path, compressed, encoding, delimiter, header, notes)
        text: dict[str, Any] = {"format": format, "compressed": compressed, "encoding": encoding}
        if format == "jsonl":
            return _named_layout(read_keys(path, compressed, encoding), notes, **text)
        with open_text(path, compressed, encoding) as lines:
            found = _arff.read_header(lines, path)
        return _named_layout(found.names, notes, types=found.types, blank_lines=found.n_lines, **text)  # @data is the header


def _csv_layout(
    path: Path, compressed: bool, encoding: str, delimiter: str | None, header: bool | None, notes: list[str]
) -> Layout:
    lines = first_lines(path, compressed, encoding)
    n_blank = next((index for index, line in enumerate(lines) if line.strip()), None)
    if n_blank is None:
        raise DataError(f"{path} is empty.")
    lines = lines[n_blank:]
    if delimiter is None:
        delimiter = detect_delimiter(lines)
        if delimiter == WHITESPACE:
            notes.append("Columns are separated by spaces, any number of them. Pass --delimiter to change this.")
    records = first_records(lines, delimiter)
    return _table_layout(
        records,
        header,
        notes,
        compressed=compressed,
        encoding=encoding,
        delimiter=delimiter,
        decimal=detect_decimal(records, delimiter),
        blank_lines=n_blank,
    )


def _parquet_layout(path: Path) -> Layout:
    try:
        with parquet.ParquetFile(path) as file:
            raw_names = file.schema_arrow.names
    except (ArrowException, OSError, UnicodeError) as error:
        raise DataError(f"{path} is a damaged Parquet file: {error}") from error
    if not raw_names:
        raise DataError(f"{path} has no columns.")
    if len(set(raw_names)) < len(raw_names):
        raise DataError(f"{path} has several columns of one name. Write them with different names.")
    return _named_layout(raw_names, [], format="parquet")


def _excel_layout(path: Path, header: bool | None) -> Layout:
    sheet = read_sheet(path)
    records = [[cell_text(cell) for cell in row] for row in sheet.rows[:MAX_RECORDS]]
    of = f"the first of {sheet.n_sheets}" if sheet.n_sheets > 1 else "the only one"
    notes = [f"Sheet {quoted(sheet.name)} is read, {of}."]
    return _table_layout(records, header, notes, format="excel", blank_lines=sheet.first_row)


def _table_layout(records: Sequence[Sequence[str]], header: bool | None, notes: list[str], **fields: Any) -> Layout:
    """The layout of a file whose first row may be a header."""
    reason = why_data(records) if header is None else ""
    if header or (header is None and not reason):
        return _named_layout(records[0], notes, **fields)
    if reason:
        numbered = "columns are numbered from 1. Pass --header if it is a header."
        notes.append(f"The first line {reason} and is read as data; {numbered}")
    numbers = tuple(str(index) for index in range(1, len(records[0]) + 1))
    return Layout(numbers, tuple(records[0]), header=False, notes=tuple(notes), **fields)


def _named_layout(raw_names: Sequence[str], notes: list[str], **fields: Any) -> Layout:
    names, renamed = unique_names(raw_names)
    for old, new in renamed[:MOST_RENAMED]:
        notes.append(f"There are several columns named {quoted(old)}: one is read as {quoted(new)}.")
    if len(renamed) > MOST_RENAMED:
        notes.append(f"{len(renamed) - MOST_RENAMED} more columns with repeated names are numbered in the same way.")
    return Layout(names, tuple(raw_names), notes=tuple(notes), **fields)
