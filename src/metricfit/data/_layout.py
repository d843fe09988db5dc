"""The layout of a file: format, compression, encoding, delimiter, decimal sign and header, detected unless you pass them."""

from __future__ import annotations

import codecs
import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charset_normalizer import from_bytes
from pyarrow import ArrowException, parquet

from metricfit._errors import DataError, UsageError
from metricfit._printable import quoted
from metricfit.data._formats import cell_text, read_arff_header, read_keys, read_sheet
from metricfit.data._numbers import MISSING, is_number
from metricfit.data._source import data_errors, detect_format, marked_encoding, open_bytes, open_text

MOST_RENAMED = 5  # repeated names with a note each
SAMPLE_BYTES = 2**18  # for delimiter and header; more if the first line is longer
MAX_RECORDS = 200
MIN_BYTES_TO_GUESS = 16  # non-ASCII bytes
LIKELY_ENCODINGS = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256"),
    *("koi8_r", "shift_jis", "gb18030", "big5", "euc_kr"),
)
WHITESPACE = r"\s+"  # a delimiter: any number of spaces and tabs, as in aligned columns
DELIMITERS = ("\t", ";", "|", ",", " ")  # the first that fits, since text and numbers also contain commas and spaces
_CELLS = re.compile(r'(?:"(?:[^"]|"")*"|\S)+')
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d+\.\d+\s*")
_MAY_GROUP = re.compile(r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*")


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
            names, types, n_lines = read_arff_header(lines, path)
        return _named_layout(names, notes, types=types, blank_lines=n_lines, **text)  # @data is the header


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
        raise DataError(f"{path} has several columns with the same name. Rename them.")
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


def check_encoding(encoding: str) -> str:
    """The encoding by its usual name."""
    try:
        "text".encode(encoding)  # some codecs, such as hex, do not encode text
        return codecs.lookup(encoding).name
    except (LookupError, ValueError, TypeError, AssertionError):
        raise UsageError(f"--encoding {encoding!r} is not a text encoding in Python. Try utf-8 or cp1252.") from None


def detect_encoding(path: Path, compressed: bool) -> str:
    """The encoding of the byte order mark; UTF-8 if the whole file decodes; else a guess."""
    with open_bytes(path, compressed) as file:
        before, block = b"", file.read(2**20)
        if encoding := marked_encoding(block):
            return encoding
        decoder = codecs.getincrementaldecoder("utf-8")()
        while block:
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                return _guess_encoding(before[-4:] + block)
            before, block = block, file.read(2**20)
    return "utf-8"


def _guess_encoding(block: bytes) -> str:
    """The most likely encoding; cp1252 (Western European) if there are few non-ASCII bytes."""
    first = next(index for index, byte in enumerate(block) if byte > 127)
    part = block[max(0, first - 2**15) : first + 2**15]
    enough = sum(byte > 127 for byte in part) >= MIN_BYTES_TO_GUESS
    found = from_bytes(part, cp_isolation=list(LIKELY_ENCODINGS)).best() if enough else None
    return found.encoding if found is not None else "cp1252"


def first_lines(path: Path, compressed: bool, encoding: str) -> list[str]:
    """Whole lines from the start of the file, at least two if there are."""
    with open_text(path, compressed, encoding, errors="replace") as text:
        lines = text.readlines(SAMPLE_BYTES)
        return lines if len(lines) > 1 else lines + text.readlines(1)


def first_records(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    csv.field_size_limit(sys.maxsize)
    records: list[list[str]] = []
    if delimiter == WHITESPACE:
        lines, delimiter = [*single_spaces(lines)], " "
    for record in csv.reader(lines, delimiter=delimiter):
        if record:
            records.append(record)
        if len(records) == MAX_RECORDS:
            break
    return records


def detect_delimiter(lines: Sequence[str]) -> str:
    """The delimiter for which most lines have as many cells as the first line."""
    best, best_share = ",", 0.0
    for delimiter in DELIMITERS:
        share = _share_alike(lines, delimiter)
        if share > best_share:
            best, best_share = delimiter, share
    share, aligned = _share_alike(lines, WHITESPACE), first_records(lines, WHITESPACE)
    is_aligned = share > best_share or (share == best_share and best == " " and aligned != first_records(lines, " "))
    return WHITESPACE if is_aligned else best


def _share_alike(lines: Sequence[str], delimiter: str) -> float:
    """The share of lines with as many cells as the first; 0 for one cell."""
    widths = [len(record) for record in first_records(lines, delimiter)]
    return sum(width == widths[0] for width in widths) / len(widths) if widths[0] > 1 else 0.0


def single_spaces(lines: Iterable[str]) -> Iterator[str]:
    """Lines with one space between cells and none around them; cells in double quotes stay as they are.

    >>> list(single_spaces(["  a   b", 'c\\t"d  e"']))
    ['a b\\n', 'c "d  e"\\n']
    """
    for line in lines:
        cells = _CELLS.findall(line) if '"' in line else line.split()
        yield " ".join(cells) + "\n"


def detect_decimal(records: Sequence[Sequence[str]], delimiter: str) -> str:
    """A comma if the delimiter is a semicolon, tab or whitespace and some cells look like 1,5 but none like 1.5; else a point.

    Cells such as 1,234 count only between semicolons, which are used where the comma is the decimal sign.
    """
    cells = [cell for record in records for cell in record] if delimiter in (";", "\t", WHITESPACE) else []
    commas = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    sure = delimiter == ";" or not all(map(_MAY_GROUP.fullmatch, commas))
    return "," if commas and sure and not any(map(_DECIMAL_POINT.fullmatch, cells)) else "."


def unique_names(raw_names: Sequence[str]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Unique names without surrounding spaces, and the repeated ones with their new names.

    An unnamed column is called "column" and its number.

    >>> unique_names(["a", "b", " a", ""])
    (('a', 'b', 'a (2)', 'column 4'), (('a', 'a (2)'),))
    """
    clean = [name.strip() or f"column {index}" for index, name in enumerate(raw_names, 1)]
    names: list[str] = []
    renamed: list[tuple[str, str]] = []
    used, original = set[str](), set(clean)
    for name in clean:
        new, times = name, 1
        while new in used or (times > 1 and new in original):
            times += 1
            new = f"{name} ({times})"
        if new != name:
            renamed.append((name, new))
        used.add(new)
        names.append(new)
    return tuple(names), tuple(renamed)


def why_data(records: Sequence[Sequence[str]]) -> str:
    """Why the first line is data; "" if it is a header.

    A header has no number, or has a word above a column of numbers. A line whose words all occur again below, each in its
    column, is data.
    """
    first, rest = records[0], records[1:]
    if not any(map(is_number, first)):
        words = [cell.strip() for cell in first]
        repeated = all(word not in MISSING and word in _below(rest, index) for index, word in enumerate(words))
        return "has only values that occur again below" if words and repeated else ""
    for index, name in enumerate(first):
        below = [cell for cell in _below(rest, index) if cell not in MISSING]
        if below and all(map(is_number, below)) and name.strip() not in MISSING and not is_number(name):
            return ""
    return "has numbers"


def _below(rest: Sequence[Sequence[str]], index: int) -> set[str]:
    return {row[index].strip() for row in rest if index < len(row)}
