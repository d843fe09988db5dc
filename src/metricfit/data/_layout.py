"""How a file is laid out: format, compression, encoding, delimiter, header. Found out, unless told."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from metricfit._errors import DataError, UsageError

SAMPLE = 2**18  # bytes that delimiter and header are found out from
ENOUGH_TO_GUESS = 16  # bytes that are not ASCII
DELIMITERS = (",", "\t", ";", "|", " ")
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d+\.\d+\s*")


@dataclass(frozen=True)
class Layout:
    """A Parquet file has names only."""

    names: tuple[str, ...]
    parquet: bool = False
    compressed: bool = False
    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    header: bool = True
    told: bool = True  # whether somebody said what ``header`` is, or it was guessed
    written: tuple[str, ...] = ()  # the names as the file has them, blanks included


def layout_of(path: Path, *, delimiter: str | None = None, encoding: str | None = None, header: bool | None = None) -> Layout:
    """Look at the file. What is given is taken for true."""
    if not path.exists():
        raise UsageError(f"There is no file {path}.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder, and a file is needed.")
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise DataError(f"{path} is empty.")
    if start == b"PAR1":
        return _of_parquet(path)
    compressed = start[:2] == b"\x1f\x8b"
    encoding = encoding or _encoding_of(path, compressed)
    lines = _sample(path, compressed, encoding)
    if not any(line.strip() for line in lines):
        raise DataError(f"{path} is empty.")
    delimiter = delimiter or _delimiter_of(lines)
    records = _records(lines, delimiter)
    written = tuple(records[0])
    told, header = header is not None, not any(map(_is_number, written)) if header is None else header
    return Layout(
        names=unique_names(written, path) if header else tuple(str(place) for place in range(1, len(written) + 1)),
        compressed=compressed,
        encoding=encoding,
        delimiter=delimiter,
        decimal=_decimal_of(records, delimiter),
        header=header,
        told=told,
        written=written,
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


def _of_parquet(path: Path) -> Layout:
    import pyarrow
    from pyarrow import parquet

    try:
        names = parquet.read_schema(path).names
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path} is a damaged Parquet file: {error}") from error
    return Layout(names=unique_names(names, path), parquet=True, written=tuple(names))


def _encoding_of(path: Path, compressed: bool) -> str:
    """By the mark at the start; UTF-8 if all of it is; else what the bytes look like."""
    try:
        with opened(path, compressed) as file:
            start = file.read(4)
            for mark, encoding in _MARKS.items():
                if start.startswith(mark):
                    return encoding
            decoder, block = codecs.getincrementaldecoder("utf-8")(), start
            while block:
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    return _guess(block)
                block = file.read(2**20)
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    return "utf-8"


def _guess(block: bytes) -> str:
    """Western European where a few letters are all there is to go by, which would fit nearly anything."""
    from charset_normalizer import from_bytes

    first = next(place for place, byte in enumerate(block) if byte > 127)
    part = block[max(0, first - 2**15) : first + 2**15]
    found = from_bytes(part).best() if sum(byte > 127 for byte in part) >= ENOUGH_TO_GUESS else None
    return found.encoding if found is not None else "cp1252"


def _sample(path: Path, compressed: bool, encoding: str) -> list[str]:
    """Whole lines from the start of the file."""
    try:
        with opened(path, compressed) as file:
            start = file.read(SAMPLE)
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(start).removeprefix("\ufeff")
    except LookupError:
        raise UsageError(f"--encoding {encoding!r} is not an encoding that Python knows, such as utf-8 or cp1252.") from None
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    lines = io.StringIO(text, newline="").readlines()
    return lines[:-1] if len(start) == SAMPLE and len(lines) > 1 else lines


def _records(lines: Sequence[str], delimiter: str, most: int = 200) -> list[list[str]]:
    def some() -> Iterator[list[str]]:
        for record in csv.reader(lines, delimiter=delimiter):
            if any(cell.strip() for cell in record):
                yield record

    try:
        return [record for record, _ in zip(some(), range(most), strict=False)]
    except csv.Error as error:
        raise DataError(f"The start of the file cannot be read as a table: {error}.") from error


def _delimiter_of(lines: Sequence[str]) -> str:
    """The one that cuts most lines into as many cells as the first."""
    best, best_worth = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        widths = [len(record) for record in _records(lines, delimiter)]
        if widths and widths[0] > 1:
            worth = sum(width == widths[0] for width in widths) / len(widths), 0 if delimiter == " " else 1
            if worth > best_worth:
                best, best_worth = delimiter, worth
    return best


def _decimal_of(records: Sequence[Sequence[str]], delimiter: str) -> str:
    """A comma, where semicolons or tabs part cells and numbers such as 1,5 are among them but none such as 1.5."""
    cells = [cell for record in records for cell in record] if delimiter in ";\t" else []
    commas, points = any(map(_DECIMAL_COMMA.fullmatch, cells)), any(map(_DECIMAL_POINT.fullmatch, cells))
    return "," if commas and not points else "."


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return cell.strip().lower() not in ("nan", "inf", "infinity")
