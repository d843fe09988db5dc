"""The layout of a file: format, compression, encoding, delimiter and header. It is detected unless the caller gives it."""

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
from metricfit.data._source import data_errors, kind_of, open_text


@dataclass(frozen=True)
class Layout:
    """``raw_names`` are the names as in the file, with surrounding spaces. Some fields are for some formats only."""

    names: tuple[str, ...]
    raw_names: tuple[str, ...]
    format: str = "csv"  # or arff, parquet, jsonl, excel
    renamed: tuple[tuple[str, str], ...] = ()  # repeated names, and what these columns are called instead
    compressed: bool = False
    encoding: str = "utf-8"
    encoding_detected: bool = False
    delimiter: str = ","  # or "\\s+", any number of spaces
    delimiter_detected: bool = False
    types: tuple[str, ...] = ()  # of the columns, where the file has them: "number", "string", or "" for a date
    decimal: str = "."
    header: bool = True
    first_line: str = ""  # why the first line was detected as data
    blank_lines: int = 0  # before the first non-blank line, or before @data in an ARFF file
    sheet: str = ""
    n_sheets: int = 1

    @property
    def first_row(self) -> int:
        """The number of the first row of data, as an editor or a spreadsheet counts."""
        return 1 + self.blank_lines + int(self.header) if self.format in ("csv", "arff", "excel") else 1

    @property
    def notes(self) -> list[str]:
        """Sentences about everything that was detected and might be wrong."""
        notes = []
        if self.sheet:
            of = f"the first of {self.n_sheets}" if self.n_sheets > 1 else "the only one"
            notes.append(f"Sheet {quoted(self.sheet)} is read, {of}.")
        if self.encoding_detected and not self.encoding.startswith("utf"):
            notes.append(f"The file is not UTF-8: read as {self.encoding}. Pass --encoding to change this.")
        if self.delimiter_detected and self.delimiter == WHITESPACE:
            notes.append("Columns are separated by spaces, any number of them. Pass --delimiter to change this.")
        if self.first_line:
            numbered = "columns are numbered from 1. Pass --header if it is a header."
            notes.append(f"The first line {self.first_line} and is read as data; {numbered}")
        for old, new in self.renamed[:5]:
            notes.append(f"There are several columns named {quoted(old)}: one is read as {quoted(new)}.")
        if len(self.renamed) > 5:
            notes.append(f"{len(self.renamed) - 5} more columns with repeated names are numbered in the same way.")
        return notes


def layout_of(path: Path, *, delimiter: str | None = None, encoding: str | None = None, header: bool | None = None) -> Layout:
    """Detect the layout. Arguments that are not None are used as given."""
    with data_errors(path):
        kind, compressed = kind_of(path)
        if kind == "parquet":
            return _parquet_layout(path)
        if kind == "excel":
            return _excel_layout(path, header)
        detected = encoding is None
        encoding = check_encoding(encoding) if encoding else detect_encoding(path, compressed)
        text: dict[str, Any] = {"compressed": compressed, "encoding": encoding, "encoding_detected": detected}
        if kind == "jsonl":
            return Layout(**_named(read_keys(path, compressed, encoding)), format="jsonl", **text)
        if kind == "arff":
            with open_text(path, compressed, encoding) as lines:
                found = _arff.read_header(lines, path)
            # the line @data takes the place of a header
            return Layout(**_named(found.names), format="arff", types=found.types, blank_lines=found.n_lines, **text)
        return _csv_layout(path, delimiter, header, text)


def _csv_layout(path: Path, delimiter: str | None, header: bool | None, text: dict[str, Any]) -> Layout:
    lines = first_lines(path, text["compressed"], text["encoding"])
    blank = next((index for index, line in enumerate(lines) if line.strip()), None)
    if blank is None:
        raise DataError(f"{path} is empty.")
    delimiter_detected, delimiter = delimiter is None, delimiter or detect_delimiter(lines[blank:])
    records = first_records(lines[blank:], delimiter)
    return Layout(
        **_with_header(records, header),
        **text,
        delimiter=delimiter,
        delimiter_detected=delimiter_detected,
        decimal=detect_decimal(records, delimiter),
        blank_lines=blank,
    )


def _parquet_layout(path: Path) -> Layout:
    try:
        with parquet.ParquetFile(path) as file:
            raw_names = file.schema_arrow.names
    except (ArrowException, OSError, UnicodeError) as error:
        raise DataError(f"{path} is a damaged Parquet file: {error}") from error
    if not raw_names:
        raise DataError(f"{path} has no columns.")
    return Layout(**_named(raw_names), format="parquet")


def _excel_layout(path: Path, header: bool | None) -> Layout:
    sheet = read_sheet(path)
    records = [[cell_text(cell) for cell in row] for row in sheet.rows[:MAX_RECORDS]]
    where: dict[str, Any] = {"blank_lines": sheet.first_row, "sheet": sheet.name, "n_sheets": sheet.n_sheets}
    return Layout(**_with_header(records, header), format="excel", **where)


def _with_header(records: Sequence[Sequence[str]], header: bool | None) -> dict[str, Any]:
    """The fields about names, from the first rows."""
    reason = why_data(records) if header is None else ""
    if header or (header is None and not reason):
        return _named(records[0])
    numbers = tuple(str(index) for index in range(1, len(records[0]) + 1))
    return {"names": numbers, "raw_names": tuple(records[0]), "header": False, "first_line": reason}


def _named(raw_names: Sequence[str]) -> dict[str, Any]:
    names, renamed = unique_names(raw_names)
    return {"names": names, "raw_names": tuple(raw_names), "renamed": renamed}
