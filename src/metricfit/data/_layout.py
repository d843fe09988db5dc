"""How a file is laid out: format, compression, encoding, delimiter, header. Found out, unless told."""

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

SAMPLE = 2**18  # bytes that delimiter and header are found out from, more if the first line is longer
MOST_RECORDS = 200
ENOUGH_TO_GUESS = 16  # bytes that are not ASCII
LIKELY = (
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
DELIMITERS = ("\t", ";", "|", ",", " ")  # of several that fit, the first: commas and blanks stand in text and numbers too
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None")
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_FOREIGN = {
    b"PK\x03\x04": "an Excel or zip file",
    b"\xd0\xcf\x11\xe0": "an Excel file",
    b"BZh": "a bzip2 file",
    b"\xfd7zX": "an xz file",
}
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d+\.\d+\s*")


@dataclass(frozen=True)
class Layout:
    """A Parquet file has names only; they are ``written`` with the blanks that the file has."""

    names: tuple[str, ...]
    written: tuple[str, ...]
    parquet: bool = False
    compressed: bool = False
    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    header: bool = True
    told: bool = True  # whether somebody said what ``header`` is, or it was guessed
    blank_lines: int = 0  # before the first line that is none


def layout_of(path: Path, *, delimiter: str | None = None, encoding: str | None = None, header: bool | None = None) -> Layout:
    """Look at the file. What is given is taken for true."""
    start = _start(path)
    if start == b"PAR1":
        return _of_parquet(path)
    for magic, name in _FOREIGN.items():
        if start.startswith(magic):
            raise DataError(f"{path} is {name}, which cannot be read. Save it as CSV.")
    compressed = start.startswith(b"\x1f\x8b")
    encoding = _checked(encoding) if encoding else _encoding_of(path, compressed)
    lines = _sample(path, compressed, encoding)
    blank = next((place for place, line in enumerate(lines) if line.strip()), None)
    if blank is None:
        raise DataError(f"{path} is empty.")
    delimiter = delimiter or _delimiter_of(lines[blank:])
    records = _records(lines[blank:], delimiter)
    written = tuple(records[0])
    told, header = header is not None, _has_header(records) if header is None else header
    return Layout(
        names=unique_names(written, path) if header else tuple(str(place) for place in range(1, len(written) + 1)),
        written=written,
        compressed=compressed,
        encoding=encoding,
        delimiter=delimiter,
        decimal=_decimal_of(records, delimiter),
        header=header,
        told=told,
        blank_lines=blank,
    )


def opened(path: Path, compressed: bool) -> gzip.GzipFile | BufferedReader:
    """The file's bytes, unpacked."""
    return gzip.open(path, "rb") if compressed else path.open("rb")


def unique_names(written: Sequence[str], path: Path) -> tuple[str, ...]:
    """Names without blanks around them; a column without a name is called by its number."""
    names = tuple(name.strip() or f"column {place}" for place, name in enumerate(written, 1))
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        places = ", ".join(str(place) for place, name in enumerate(names, 1) if name == twice[0])
        raise DataError(
            f"{path} has several columns named {twice[0]!r} (columns {places}). Rename them, "
            "or pass --no-header if the first line is data."
        )
    return names


def _start(path: Path) -> bytes:
    if not path.exists():
        raise UsageError(f"There is no file {path}.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder, and a file is needed.")
    if not path.is_file():
        raise UsageError(f"{path} is a pipe or a device, which cannot be read twice. Save it to a file first.")
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise DataError(f"{path} is empty.")
    return start


def _of_parquet(path: Path) -> Layout:
    import pyarrow
    from pyarrow import parquet

    try:
        names = parquet.read_schema(path).names
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path} is a damaged Parquet file: {error}") from error
    if not names:
        raise DataError(f"{path} has no columns.")
    return Layout(names=unique_names(names, path), parquet=True, written=tuple(names))


def _checked(encoding: str) -> str:
    try:
        codecs.lookup(encoding)
        "text".encode(encoding)  # some codecs, such as hex, are not about text
    except (LookupError, ValueError, TypeError, AssertionError):
        raise UsageError(f"--encoding {encoding!r} is not an encoding that Python knows, such as utf-8 or cp1252.") from None
    return encoding


def _encoding_of(path: Path, compressed: bool) -> str:
    """By the mark at the start; UTF-8 if all of it is; else what the bytes look like."""
    try:
        with opened(path, compressed) as file:
            before, block = b"", file.read(2**20)
            for mark, encoding in _MARKS.items():
                if block.startswith(mark):
                    return encoding
            if block.startswith(b"PAR1"):
                raise DataError(f"{path} is a packed Parquet file. Unpack it first.")
            if b"\0" in block:
                raise DataError(f"{path} is not a table of text: there are zero bytes in it.")
            decoder = codecs.getincrementaldecoder("utf-8")()
            while block:
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    return _guess(before[-4:] + block)
                before, block = block, file.read(2**20)
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    return "utf-8"


def _guess(block: bytes) -> str:
    """Western European where a few letters are all there is to go by, which would fit nearly anything."""
    from charset_normalizer import from_bytes

    first = next(place for place, byte in enumerate(block) if byte > 127)
    part = block[max(0, first - 2**15) : first + 2**15]
    enough = sum(byte > 127 for byte in part) >= ENOUGH_TO_GUESS
    found = from_bytes(part, cp_isolation=list(LIKELY)).best() if enough else None
    return found.encoding if found is not None else "cp1252"


def _sample(path: Path, compressed: bool, encoding: str) -> list[str]:
    """Whole lines from the start of the file."""
    try:
        with opened(path, compressed) as file:
            start = file.read(SAMPLE)
            while start.count(b"\n") < 2 and (more := file.read(SAMPLE)):
                start += more
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(start).removeprefix("\ufeff")
    except UnicodeError as error:
        raise DataError(f"{path} cannot be read as {encoding}: {error}.") from error
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    lines = io.StringIO(text, newline="").readlines()
    return lines[:-1] if len(start) >= SAMPLE and len(lines) > 1 else lines


def _records(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    csv.field_size_limit(sys.maxsize)
    records: list[list[str]] = []
    for record in csv.reader(lines, delimiter=delimiter):
        if record:
            records.append(record)
        if len(records) == MOST_RECORDS:
            break
    return records


def _delimiter_of(lines: Sequence[str]) -> str:
    """The one that cuts most lines into as many cells as the first."""
    best, best_worth = ",", 0.0
    for delimiter in DELIMITERS:
        widths = [len(record) for record in _records(lines, delimiter)]
        worth = sum(width == widths[0] for width in widths) / len(widths) if widths[0] > 1 else 0.0
        if worth > best_worth:
            best, best_worth = delimiter, worth
    return best


def _has_header(records: Sequence[Sequence[str]]) -> bool:
    """No number in the first line; or a word in it over a column of numbers."""
    first, rest = records[0], records[1:]
    if not any(map(is_number, first)):
        return True
    for place, name in enumerate(first):
        below = [row[place] for row in rest if place < len(row) and row[place].strip() not in MISSING]
        if below and all(map(is_number, below)) and name.strip() not in MISSING and not is_number(name):
            return True
    return False


def _decimal_of(records: Sequence[Sequence[str]], delimiter: str) -> str:
    """A comma, where semicolons or tabs part cells and numbers such as 1,5 are among them but none such as 1.5."""
    cells = [cell for record in records for cell in record] if delimiter in ";\t" else []
    commas, points = any(map(_DECIMAL_COMMA.fullmatch, cells)), any(map(_DECIMAL_POINT.fullmatch, cells))
    return "," if commas and not points else "."


def is_number(cell: str) -> bool:
    """Whether a cell reads as a finite number, with a decimal point or comma."""
    try:
        return abs(float(cell.replace(",", "."))) < float("inf")
    except ValueError:
        return False
