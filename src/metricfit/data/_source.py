"""Open a file, or stdin, and know its kind by its first bytes and not by its name."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

import pyarrow as pa

from metricfit._errors import DataError, UsageError
from metricfit._extras import MissingExtraError

STDIN = Path("-")
READS = "CSV, TSV, ARFF, Parquet, JSON Lines and Excel files are read"
START_BYTES = 2**16
MOST_UNPACKED = 2**32  # bytes of a workbook
MOST_CONTROLS = 0.05  # share of control characters in a text
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_PARQUET, _GZIP, _OLE, _ZIP = b"PAR1", b"\x1f\x8b", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04"
_FOREIGN = {
    re.compile(rb"\x80[\x02-\x05]"): "a Python pickle",
    re.compile(rb"ARROW1|FEA1"): "an Arrow (Feather) file",
    re.compile(rb"\s*<(!doctype html|html|\?xml)", re.IGNORECASE): "an HTML or XML page",
}
_ARFF = re.compile(rb"^[^\S\n]*@relation\b", re.IGNORECASE | re.MULTILINE)  # after comments
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*[\[{\]])')
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1a")  # Ctrl-Z ends some old files
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


@contextmanager
def input_file(path: Path) -> Iterator[Path]:
    """Yield the path, or for ``-`` a copy of stdin, since a table is read twice. Errors call the copy "stdin"."""
    if path != STDIN:
        yield path
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("- stands for stdin, but nothing is piped into it. Try `metricfit ... - < data.csv`.")
    with tempfile.TemporaryDirectory(prefix="metricfit-") as folder:
        copy = Path(folder) / "stdin"
        try:
            with copy.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        except OSError as error:
            raise DataError(f"stdin could not be copied to a temporary file: {error.strerror}.") from error
        try:
            yield copy
        except (DataError, UsageError, MissingExtraError) as error:
            raise type(error)(str(error).replace(str(copy), copy.name)) from error


@contextmanager
def data_errors(path: Path) -> Iterator[None]:
    """Turn errors of Arrow, gzip, decoders and the system into :class:`DataError`."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeError) as error:
        if ragged := _RAGGED.search(str(error)):
            row, expected, found = ragged.groups()
            raise DataError(f"{path}, row {row} has {found} cells, expected {expected} as in the first row.") from None
        raise DataError(f"{path} cannot be read: {error}") from error


def open_bytes(path: Path, compressed: bool) -> gzip.GzipFile | BufferedReader:
    """Open the file for reading bytes, decompressed."""
    return gzip.open(path) if compressed else path.open("rb")


@contextmanager
def open_text(path: Path, compressed: bool, encoding: str, errors: str = "strict") -> Iterator[io.TextIOWrapper]:
    """Open the file for reading lines, decompressed and without a byte order mark."""
    known = "utf-8-sig" if encoding == "utf-8" else encoding
    with open_bytes(path, compressed) as file, io.TextIOWrapper(file, encoding=known, errors=errors) as text:
        yield text


def kind_of(path: Path) -> tuple[str, bool]:
    """One of csv, arff, parquet, jsonl and excel, and whether the file is compressed by gzip. Other files are refused."""
    if not path.exists():
        raise UsageError(f"File {path} does not exist.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder, expected a file.")
    if not path.is_file():
        raise UsageError(
            f"{path} is a pipe or a device, which cannot be read twice. Pass - and pipe the data into the command."
        )
    start = _first_bytes(path, compressed=False)
    if not start:
        raise DataError(f"{path} is empty.")
    compressed = start.startswith(_GZIP)
    start = _first_bytes(path, compressed) if compressed else start
    if compressed and start.startswith((_PARQUET, _OLE, _ZIP)):
        what = "a Parquet" if start.startswith(_PARQUET) else "an Excel or zip"
        raise DataError(f"{path} is {what} file compressed by gzip. Decompress it first.")
    return _kind_of_bytes(path, start), compressed


def _first_bytes(path: Path, compressed: bool) -> bytes:
    with open_bytes(path, compressed) as file:
        return file.read(START_BYTES)


def _kind_of_bytes(path: Path, start: bytes) -> str:
    if start.startswith(_PARQUET):
        return "parquet"
    if start.startswith(_OLE) or (start.startswith(_ZIP) and _is_workbook(path)):
        return "excel"
    if start.startswith(_ZIP):
        raise DataError(f"{path} looks like a zip archive. {READS}. Unpack it first.")
    encoding = next((name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark)), "")
    if encoding:
        start = start.decode(encoding, errors="ignore").encode("utf-8", errors="ignore")
    foreign = next((name for pattern, name in _FOREIGN.items() if pattern.match(start)), "")
    if foreign or _is_binary(start):
        raise DataError(f"{path} looks like {foreign or 'a binary file'}. {READS}. Save the table as one of these.")
    if start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"%", b"@") and _ARFF.search(start):
        return "arff"
    return "jsonl" if _JSON.match(start) else "csv"


def _is_workbook(path: Path) -> bool:
    """Whether a zip file is a workbook of Excel or OpenDocument. One that is too large for the memory is refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            names, size = set(archive.namelist()), sum(member.file_size for member in archive.infolist())
            is_sheet = "mimetype" in names and b"spreadsheet" in archive.read("mimetype")
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path} is a damaged zip or Excel file: {error}.") from error
    found = is_sheet or bool(names & {"xl/workbook.xml", "xl/workbook.bin"})
    if found and size > MOST_UNPACKED:
        raise DataError(f"{path} holds {size / 2**30:.1f} GB, too much for a workbook. Save the table as CSV.")
    return found


def _is_binary(start: bytes) -> bool:
    """Whether these bytes cannot be text, in UTF-8 or an encoding of one byte per character."""
    n_controls = len(start) - len(start.translate(None, _CONTROLS))
    return b"\0" in start or n_controls > MOST_CONTROLS * len(start)
