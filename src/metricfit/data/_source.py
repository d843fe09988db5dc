"""Open a file or stdin, and detect the format by the first bytes instead of the name."""

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

import pyarrow as pa

from metricfit._errors import DataError, UsageError
from metricfit._extras import MissingExtraError

STDIN = Path("-")
START_BYTES = 2**16
MAX_WORKBOOK_BYTES = 2**32  # uncompressed
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_PARQUET, _GZIP, _OLE, _ZIP = b"PAR1", b"\x1f\x8b", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04"
_ARFF = re.compile(rb"^[^\S\n]*@relation\b", re.IGNORECASE | re.MULTILINE)  # after comments
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*[\[{\]])')
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
Say = Callable[[str], None]


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
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    with open_bytes(path, compressed) as file, io.TextIOWrapper(file, encoding=codec, errors=errors) as text:
        yield text


def marked_encoding(start: bytes) -> str:
    """The encoding of the byte order mark; "" if there is none."""
    return next((name for mark, name in _BYTE_ORDER_MARKS.items() if start.startswith(mark)), "")


def detect_format(path: Path) -> tuple[str, bool]:
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
    if start.startswith(_PARQUET):
        return "parquet", False
    if start.startswith((_OLE, _ZIP)):
        if start.startswith(_ZIP):
            _check_workbook(path)
        return "excel", False
    compressed = start.startswith(_GZIP)
    return _text_format(path, _first_bytes(path, compressed) if compressed else start), compressed


def _first_bytes(path: Path, compressed: bool) -> bytes:
    with open_bytes(path, compressed) as file:
        return file.read(START_BYTES)


def _text_format(path: Path, start: bytes) -> str:
    if encoding := marked_encoding(start):
        start = start.decode(encoding, errors="ignore").encode("utf-8", errors="ignore")
    if b"\0" in start:
        raise DataError(f"{path} looks like a binary file. Save the table as CSV, TSV, ARFF, Parquet, JSON Lines or Excel.")
    if start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"%", b"@") and _ARFF.search(start):
        return "arff"
    return "jsonl" if _JSON.match(start) else "csv"


def _check_workbook(path: Path) -> None:
    """Refuse zip files that are not workbooks of Excel or OpenDocument, and workbooks too large for the memory."""
    try:
        with zipfile.ZipFile(path) as archive:
            names, size = archive.namelist(), sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile as error:
        raise DataError(f"{path} is a damaged zip or Excel file: {error}.") from error
    if not any(name.startswith("xl/workbook.") or name == "content.xml" for name in names):
        raise DataError(f"{path} is a zip archive without a workbook. Unpack it first.")
    if size > MAX_WORKBOOK_BYTES:
        raise DataError(f"{path} holds {size / 2**30:.1f} GB, too much for a workbook. Save the table as CSV.")
