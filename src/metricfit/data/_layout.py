"""The layout of a file: format, compression, encoding, delimiter and header. It is detected unless the caller gives it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metricfit._errors import DataError
from metricfit._printable import quoted
from metricfit.data import _arff, _excel, _json
from metricfit.data._bombs import check_parquet
from metricfit.data._cells import cell_text
from metricfit.data._kind import kind_of
from metricfit.data._names import unique_names, why_data
from metricfit.data._sniff import (
    MAX_RECORDS,
    WHITESPACE,
    check_encoding,
    detect_decimal,
    detect_delimiter,
    detect_encoding,
    first_lines,
    first_records,
    open_text,
)


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
    header_detected: bool = False
    first_line: str = ""  # why the first line is data
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
        if self.header_detected and not self.header:
            numbered = "columns are numbered from 1. Pass --header if it is a header."
            notes.append(f"The first line {self.first_line} and is read as data; {numbered}")
        for old, new in self.renamed[:5]:
            notes.append(f"There are several columns named {quoted(old)}: one is read as {quoted(new)}.")
        if len(self.renamed) > 5:
            notes.append(f"{len(self.renamed) - 5} more columns with repeated names are numbered in the same way.")
        return notes


def layout_of(path: Path, *, delimiter: str | None = None, encoding: str | None = None, header: bool | None = None) -> Layout:
    """Detect the layout. Arguments that are not None are used as given."""
    kind, compressed = kind_of(path)
    if kind == "parquet":
        return _parquet_layout(path)
    if kind == "excel":
        return _excel_layout(path, header)
    detected = encoding is None
    encoding = check_encoding(encoding) if encoding else detect_encoding(path, compressed)
    if kind == "jsonl":
        raw_names = _json.read_keys(path, compressed, encoding)
        names, renamed = unique_names(raw_names)
        return Layout(names, raw_names, "jsonl", renamed, compressed, encoding, detected)
    if kind == "arff":
        return _arff_layout(path, compressed, encoding, detected)
    lines = first_lines(path, compressed, encoding)
    blank = next((index for index, line in enumerate(lines) if line.strip()), None)
    if blank is None:
        raise DataError(f"{path} is empty.")
    delimiter_detected, delimiter = delimiter is None, delimiter or detect_delimiter(lines[blank:])
    records = first_records(lines[blank:], delimiter)
    raw_names = tuple(records[0])
    reason = why_data(records) if header is None else ""
    header_detected, header = header is None, not reason if header is None else header
    names, renamed = unique_names(raw_names) if header else _numbers(len(raw_names))
    return Layout(
        names=names,
        raw_names=raw_names,
        renamed=renamed,
        compressed=compressed,
        encoding=encoding,
        encoding_detected=detected,
        delimiter=delimiter,
        delimiter_detected=delimiter_detected,
        decimal=detect_decimal(records, delimiter),
        header=header,
        header_detected=header_detected,
        first_line=reason,
        blank_lines=blank,
    )


def _numbers(n_columns: int) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The names of columns without a header."""
    return tuple(str(index) for index in range(1, n_columns + 1)), ()


def _arff_layout(path: Path, compressed: bool, encoding: str, detected: bool) -> Layout:
    """The line @data takes the place of a header."""
    try:
        with open_text(path, compressed, encoding) as lines:
            header = _arff.read_header(lines, path)
    except (OSError, UnicodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    names, renamed = unique_names(header.names)
    return Layout(
        names=names,
        raw_names=header.names,
        format="arff",
        renamed=renamed,
        compressed=compressed,
        encoding=encoding,
        encoding_detected=detected,
        types=header.types,
        blank_lines=header.n_lines,
    )


def _parquet_layout(path: Path) -> Layout:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            raw_names = tuple(file.schema_arrow.names)
            check_parquet(path, file.metadata, whole=False)
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        raise DataError(f"{path} is a damaged Parquet file: {error}") from error
    if not raw_names:
        raise DataError(f"{path} has no columns.")
    names, renamed = unique_names(raw_names)
    return Layout(names, raw_names, "parquet", renamed)


def _excel_layout(path: Path, header: bool | None) -> Layout:
    sheet = _excel.read_sheet(path)
    records = [[cell_text(cell) for cell in row] for row in sheet.rows[:MAX_RECORDS]]
    raw_names = tuple(records[0])
    reason = why_data(records) if header is None else ""
    header_detected, header = header is None, not reason if header is None else header
    names, renamed = unique_names(raw_names) if header else _numbers(len(raw_names))
    return Layout(
        names=names,
        raw_names=raw_names,
        format="excel",
        renamed=renamed,
        header=header,
        header_detected=header_detected,
        first_line=reason,
        blank_lines=sheet.first_row,
        sheet=sheet.name,
        n_sheets=sheet.n_sheets,
    )
