"""The kind of a file, from its first bytes and not from its name."""

from __future__ import annotations

import codecs
import re
import zipfile
import zlib
from pathlib import Path

from metricfit._errors import DataError, UsageError
from metricfit._files import BoundedGzip
from metricfit.data._bombs import check_zip
from metricfit.data._sniff import BYTE_ORDER_MARKS

READS = "CSV, TSV, ARFF, Parquet, JSON Lines and Excel files are read"
START_BYTES = 2**16
MAX_CONTROLS = {True: 0.1, False: 0.005}  # the largest share of control characters in a text that is UTF-8, or is not
_GZIP, _OLE, _ZIP = b"\x1f\x8b", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04"
_FOREIGN = {
    b"%PDF": "a PDF file",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"SQLite format 3\0": "an SQLite database",
    b"\x89HDF\r\n": "an HDF5 file",
    b"ARROW1": "an Arrow (Feather) file",
    b"FEA1": "a Feather file",
    b"Obj\x01": "an Avro file",
    b"ORC": "an ORC file",
    b"\x93NUMPY": "a NumPy array",
    b"$FL2": "an SPSS file",
    b"<stata_dta>": "a Stata file",
    b"RDX": "an R data file",
    b"{\\rtf": "an RTF document",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\x7fELF": "a program",
    **{bytes([0x80, version]): "a Python pickle" for version in range(2, 6)},
}
_MARKUP = {
    re.compile(rb"\s*<(!doctype html|html)", re.IGNORECASE): "an HTML page",
    re.compile(rb"\s*<\?xml", re.IGNORECASE): "an XML file",
}
_ARFF = re.compile(rb"^[^\S\n]*@relation\b", re.IGNORECASE | re.MULTILINE)  # after comments
_JSON_LINES, _JSON_ARRAY = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*["}]'), re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*[\[{\]]")
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1a")  # Ctrl-Z ends some old files


def kind_of(path: Path) -> tuple[str, bool]:
    """One of csv, arff, parquet, jsonl and excel, and whether the file is compressed by gzip. Other files are refused."""
    start = _read_start(path)
    compressed = start.startswith(_GZIP)
    if compressed:
        start = _decompress_start(path)
    kind = _kind_of_bytes(path, start, compressed)
    if compressed and kind in ("parquet", "excel"):
        raise DataError(
            f"{path} is {'a Parquet' if kind == 'parquet' else 'an Excel'} file compressed by gzip. Decompress it first."
        )
    return kind, compressed


def check_start(path: Path, start: bytes) -> None:
    """Refuse a file by its first bytes, before the rest of it is there."""
    if not start.startswith((_GZIP, _ZIP)):  # these need more of it
        _kind_of_bytes(path, start, compressed=False)


def _kind_of_bytes(path: Path, start: bytes, compressed: bool) -> str:
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(_OLE):
        return "excel"
    if start.startswith(_ZIP):
        inside = "" if compressed else _kind_of_zip(path)
        if inside != "excel":
            raise _refusal(path, inside or "a zip archive", "Unpack it first")
        return inside
    foreign = next((name for magic, name in _FOREIGN.items() if start.startswith(magic)), "")
    foreign = foreign or next((name for pattern, name in _MARKUP.items() if pattern.match(start)), "")
    if start[257:262] == b"ustar":
        foreign = "a tar archive"
    if foreign:
        raise _refusal(path, foreign)
    encoding = next((name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark)), "")
    if encoding:
        start = start.decode(encoding, errors="ignore").encode("utf-8", errors="ignore")
    elif _is_binary(start):
        raise _refusal(path, "a binary file")
    if start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"%", b"@") and _ARFF.search(start):
        return "arff"
    return "jsonl" if _JSON_LINES.match(start) or _JSON_ARRAY.match(start) else "csv"


def _refusal(path: Path, what: str, hint: str = "Save the table as one of these") -> DataError:
    return DataError(f"{path} looks like {what}. {READS}. {hint}.")


def _kind_of_zip(path: Path) -> str:
    """What a zip file holds: a workbook, or something else in words."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if names & {"xl/workbook.xml", "xl/workbook.bin"} or ("mimetype" in names and _is_sheet(archive)):
                check_zip(path, archive)
                return "excel"
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path} is a damaged zip or Excel file: {error}.") from error
    if "word/document.xml" in names:
        return "a Word document"
    if any(name.endswith(".npy") for name in names):
        return "a NumPy archive"
    return "a PyTorch file" if any(name.endswith("data.pkl") for name in names) else "a zip archive"


def _is_sheet(archive: zipfile.ZipFile) -> bool:
    with archive.open("mimetype") as file:
        return b"spreadsheet" in file.read(100)


def _is_binary(start: bytes) -> bool:
    """Whether these bytes cannot be text in any encoding without a byte order mark."""
    if b"\0" in start:
        return True
    try:
        start[: max(start.rfind(b"\n"), 0)].decode("utf-8")  # a character may be cut off in the last line
        is_utf8 = True
    except UnicodeDecodeError:
        is_utf8 = False
    n_controls = len(start) - len(start.translate(None, _CONTROLS))
    return n_controls > MAX_CONTROLS[is_utf8] * len(start)


def _read_start(path: Path) -> bytes:
    if not path.exists():
        raise UsageError(f"File {path} does not exist.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder, expected a file.")
    if not path.is_file():
        raise UsageError(
            f"{path} is a pipe or a device, which cannot be read twice. Pass - and pipe the data into the command."
        )
    with path.open("rb") as file:
        start = file.read(START_BYTES)
    if not start:
        raise DataError(f"{path} is empty.")
    return start


def _decompress_start(path: Path) -> bytes:
    try:
        with BoundedGzip(path) as file:
            return file.read(START_BYTES)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from error
