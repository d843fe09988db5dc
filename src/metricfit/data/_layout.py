"""The layout of a file: format, compression, encoding, delimiter and header. It is detected unless the caller gives it."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from metricfit._errors import DataError, UsageError

SAMPLE_BYTES = 2**18  # for detecting delimiter and header; more if the first line is longer
MAX_RECORDS = 200
MIN_BYTES_TO_GUESS = 16  # non-ASCII bytes
LIKELY_ENCODINGS = (
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "koi8_r",
    "shift_jis",
    "gb18030",
    "big5",
    "euc_kr",
)
DELIMITERS = ("\t", ";", "|", ",", " ")  # the first that fits is used, since text and numbers also contain commas and spaces
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None")
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UNSUPPORTED = {
    b"PK\x03\x04": "an Excel or zip file",
    b"\xd0\xcf\x11\xe0": "an Excel file",
    b"BZh": "a bzip2 file",
    b"\xfd7zX": "an xz file",
}
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d+\.\d+\s*")


@dataclass(frozen=True)
class Layout:
    """``raw_names`` are the names as in the file, with surrounding spaces. Fields after ``compressed`` are for CSV only."""

    names: tuple[str, ...]
    raw_names: tuple[str, ...]
    parquet: bool = False
    compressed: bool = False
    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    header: bool = True
    header_detected: bool = False
    blank_lines: int = 0  # before the first non-blank line


def layout_of(path: Path, *, delimiter: str | None = None, encoding: str | None = None, header: bool | None = None) -> Layout:
    """Detect the layout. Arguments that are not None are used as given."""
    start = _first_bytes(path)
    if start == b"PAR1":
        return _parquet_layout(path)
    for magic, name in _UNSUPPORTED.items():
        if start.startswith(magic):
            raise DataError(f"{path} is {name}, expected CSV, TSV or Parquet. Save it as CSV.")
    compressed = start.startswith(b"\x1f\x8b")
    encoding = _check_encoding(encoding) if encoding else _detect_encoding(path, compressed)
    lines = _first_lines(path, compressed, encoding)
    blank = next((index for index, line in enumerate(lines) if line.strip()), None)
    if blank is None:
        raise DataError(f"{path} is empty.")
    delimiter = delimiter or _detect_delimiter(lines[blank:])
    records = _records(lines[blank:], delimiter)
    raw_names = tuple(records[0])
    header_detected, header = header is None, _has_header(records) if header is None else header
    return Layout(
        names=unique_names(raw_names, path) if header else tuple(str(index) for index in range(1, len(raw_names) + 1)),
        raw_names=raw_names,
        compressed=compressed,
        encoding=encoding,
        delimiter=delimiter,
        decimal=_detect_decimal(records, delimiter),
        header=header,
        header_detected=header_detected,
        blank_lines=blank,
    )


def open_bytes(path: Path, compressed: bool) -> gzip.GzipFile | BufferedReader:
    """Open the file for reading bytes, decompressed."""
    return gzip.open(path, "rb") if compressed else path.open("rb")


def unique_names(raw_names: Sequence[str], path: Path) -> tuple[str, ...]:
    """The names without surrounding spaces; an unnamed column is called "column" and its number."""
    names = tuple(name.strip() or f"column {index}" for index, name in enumerate(raw_names, 1))
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        numbers = ", ".join(str(index) for index, name in enumerate(names, 1) if name == repeated[0])
        raise DataError(
            f"{path} has several columns named {repeated[0]!r} (columns {numbers}). Rename them, "
            "or pass --no-header if the first line is data."
        )
    return names


def _first_bytes(path: Path) -> bytes:
    if not path.exists():
        raise UsageError(f"File {path} does not exist.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder, expected a file.")
    if not path.is_file():
        raise UsageError(f"{path} is a pipe or a device, which cannot be read twice. Save the data to a file first.")
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise DataError(f"{path} is empty.")
    return start


def _parquet_layout(path: Path) -> Layout:
    import pyarrow
    from pyarrow import parquet

    try:
        names = parquet.read_schema(path).names
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path} is a damaged Parquet file: {error}") from error
    if not names:
        raise DataError(f"{path} has no columns.")
    return Layout(names=unique_names(names, path), parquet=True, raw_names=tuple(names))


def _check_encoding(encoding: str) -> str:
    try:
        codecs.lookup(encoding)
        "text".encode(encoding)  # some codecs, such as hex, do not encode text
    except (LookupError, ValueError, TypeError, AssertionError):
        raise UsageError(f"--encoding {encoding!r} is not a text encoding in Python. Try utf-8 or cp1252.") from None
    return encoding


def _detect_encoding(path: Path, compressed: bool) -> str:
    """The encoding of the byte order mark; UTF-8 if the whole file decodes; else a guess."""
    try:
        with open_bytes(path, compressed) as file:
            before, block = b"", file.read(2**20)
            for mark, encoding in _BYTE_ORDER_MARKS.items():
                if block.startswith(mark):
                    return encoding
            if block.startswith(b"PAR1"):
                raise DataError(f"{path} is a Parquet file compressed by gzip. Decompress it first.")
            if b"\0" in block:
                raise DataError(f"{path} contains zero bytes, expected a text file or Parquet.")
            decoder = codecs.getincrementaldecoder("utf-8")()
            while block:
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    return _guess_encoding(before[-4:] + block)
                before, block = block, file.read(2**20)
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    return "utf-8"


def _guess_encoding(block: bytes) -> str:
    """The most likely encoding; cp1252 (Western European) if there are too few non-ASCII bytes to tell."""
    from charset_normalizer import from_bytes

    first = next(index for index, byte in enumerate(block) if byte > 127)
    part = block[max(0, first - 2**15) : first + 2**15]
    enough = sum(byte > 127 for byte in part) >= MIN_BYTES_TO_GUESS
    found = from_bytes(part, cp_isolation=list(LIKELY_ENCODINGS)).best() if enough else None
    return found.encoding if found is not None else "cp1252"


def _first_lines(path: Path, compressed: bool, encoding: str) -> list[str]:
    """Whole lines from the start of the file."""
    try:
        with open_bytes(path, compressed) as file:
            start = file.read(SAMPLE_BYTES)
            while start.count(b"\n") < 2 and (more := file.read(SAMPLE_BYTES)):
                start += more
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(start).removeprefix("\ufeff")
    except UnicodeError as error:
        raise DataError(f"{path} cannot be read as {encoding}: {error}.") from error
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    lines = io.StringIO(text, newline="").readlines()
    return lines[:-1] if len(start) >= SAMPLE_BYTES and len(lines) > 1 else lines


def _records(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    csv.field_size_limit(sys.maxsize)
    records: list[list[str]] = []
    for record in csv.reader(lines, delimiter=delimiter):
        if record:
            records.append(record)
        if len(records) == MAX_RECORDS:
            break
    return records


def _detect_delimiter(lines: Sequence[str]) -> str:
    """The delimiter for which most lines have as many cells as the first line."""
    best, best_share = ",", 0.0
    for delimiter in DELIMITERS:
        widths = [len(record) for record in _records(lines, delimiter)]
        share = sum(width == widths[0] for width in widths) / len(widths) if widths[0] > 1 else 0.0
        if share > best_share:
            best, best_share = delimiter, share
    return best


def _has_header(records: Sequence[Sequence[str]]) -> bool:
    """Whether the first line has no number, or has a word above a column of numbers."""
    first, rest = records[0], records[1:]
    if not any(map(is_number, first)):
        return True
    for index, name in enumerate(first):
        below = [row[index] for row in rest if index < len(row) and row[index].strip() not in MISSING]
        if below and all(map(is_number, below)) and name.strip() not in MISSING and not is_number(name):
            return True
    return False


def _detect_decimal(records: Sequence[Sequence[str]], delimiter: str) -> str:
    """A comma if the delimiter is a semicolon or tab and some cells look like 1,5 but none like 1.5; else a point."""
    cells = [cell for record in records for cell in record] if delimiter in ";\t" else []
    commas, points = any(map(_DECIMAL_COMMA.fullmatch, cells)), any(map(_DECIMAL_POINT.fullmatch, cells))
    return "," if commas and not points else "."


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number, with a decimal point or comma."""
    try:
        return abs(float(cell.replace(",", "."))) < float("inf")
    except ValueError:
        return False
