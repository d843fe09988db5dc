"""Encoding, delimiter and decimal sign of a text file, from its first lines."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from metricfit._errors import DataError, UsageError
from metricfit._files import BoundedGzip

SAMPLE_BYTES = 2**18  # for detecting delimiter and header; more if the first line is longer
MAX_LINE_BYTES = 2**24  # of the first line
MAX_RECORDS = 200
MIN_BYTES_TO_GUESS = 16  # non-ASCII bytes
LIKELY_ENCODINGS = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256"),
    *("koi8_r", "shift_jis", "gb18030", "big5", "euc_kr"),
)
WHITESPACE = r"\s+"  # a delimiter: any number of spaces and tabs, as in aligned columns
DELIMITERS = ("\t", ";", "|", ",", " ")  # the first that fits is used, since text and numbers also contain commas and spaces
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CELLS = re.compile(r'(?:"(?:[^"]|"")*"|\S)+')
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d+\.\d+\s*")
_MAY_GROUP = re.compile(r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*")


def open_bytes(path: Path, compressed: bool) -> gzip.GzipFile | BufferedReader:
    """Open the file for reading bytes, decompressed."""
    return BoundedGzip(path) if compressed else path.open("rb")


@contextmanager
def open_text(path: Path, compressed: bool, encoding: str) -> Iterator[io.TextIOWrapper]:
    """Open the file for reading lines, decompressed and without a byte order mark."""
    known = "utf-8-sig" if encoding == "utf-8" else encoding
    with open_bytes(path, compressed) as file, io.TextIOWrapper(file, encoding=known) as text:
        yield text


def check_encoding(encoding: str) -> str:
    try:
        codecs.lookup(encoding)
        "text".encode(encoding)  # some codecs, such as hex, do not encode text
    except (LookupError, ValueError, TypeError, AssertionError):
        raise UsageError(f"--encoding {encoding!r} is not a text encoding in Python. Try utf-8 or cp1252.") from None
    return encoding


def detect_encoding(path: Path, compressed: bool) -> str:
    """The encoding of the byte order mark; UTF-8 if the whole file decodes; else a guess."""
    try:
        with open_bytes(path, compressed) as file:
            before, block = b"", file.read(2**20)
            for mark, encoding in BYTE_ORDER_MARKS.items():
                if block.startswith(mark):
                    return encoding
            decoder = codecs.getincrementaldecoder("utf-8")()
            while block:
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    return _guess_encoding(before[-4:] + block)
                before, block = block, file.read(2**20)
    except OSError as error:
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


def first_lines(path: Path, compressed: bool, encoding: str) -> list[str]:
    """Whole lines from the start of the file."""
    try:
        with open_bytes(path, compressed) as file:
            start = _first_bytes(file, path)
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(start).removeprefix("\ufeff")
    except UnicodeError as error:
        raise DataError(f"{path} cannot be read as {encoding}: {error}.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    lines = io.StringIO(text, newline="").readlines()
    return lines[:-1] if len(start) >= SAMPLE_BYTES and len(lines) > 1 else lines


def _first_bytes(file: gzip.GzipFile | BufferedReader, path: Path) -> bytes:
    """The start of the file, with more than one line. A line ends in CR, LF or both."""
    blocks, n_ends, size = [], 0, 0
    while n_ends < 2 and (block := file.read(SAMPLE_BYTES)):
        blocks.append(block)
        n_ends += block.count(b"\n") + block.count(b"\r")
        size += len(block)
        if n_ends < 2 and size > MAX_LINE_BYTES:
            raise DataError(f"{path} has no end of a line in its first {size / 2**20:.0f} MB, expected one row per line.")
    return b"".join(blocks)


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
