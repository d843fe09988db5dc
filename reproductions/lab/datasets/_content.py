"""Open files of data sets from any source: plain, gzipped or zipped, of limited size, with errors that name the file."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from metricfit._errors import DataError
from metricfit._files import open_regular
from metricfit._printable import listed, printable

MOST_BYTES = 2**32
_BLOCK = 2**20
# the last two are for encryption and rare compressions, and for names that are not UTF-8
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, RuntimeError, UnicodeDecodeError)
_SHOWN = 5  # names of an archive in an error
_GZIP = b"\x1f\x8b"


@contextmanager
def open_content(file: Path, expected: str) -> Iterator[BinaryIO]:
    """Open a file, decompressed if it begins as gzip does; a DataError if it cannot be read, or later while it is read."""
    try:
        with open_regular(file, MOST_BYTES) as raw:
            start = raw.read(len(_GZIP))
            raw.seek(0)
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if start == _GZIP else raw
    except DataError:
        raise
    except (OSError, EOFError, *_ZIP_ERRORS) as error:
        reason = getattr(error, "strerror", None) or printable(str(error))
        raise DataError(f"{file} should be {expected}, but cannot be read: {reason}.") from error


def read_member(file: Path, member: str, expected: str) -> bytes:
    """The content of one file in a zip archive; a DataError if it cannot be read."""
    with open_content(file, f"{expected} in a zip archive") as opened, zipfile.ZipFile(opened) as archive:
        if member not in archive.namelist():
            names = printable(listed(archive.namelist(), _SHOWN)) or "an empty archive"
            raise DataError(f"{file} should contain {member}, got {names}.")
        return archive.read(member)


def read_bytes(content: BinaryIO, n_bytes: int, file: Path, purpose: str) -> np.ndarray:
    """The rest of a file as an array; a DataError unless it has ``n_bytes``.

    It is read block by block, because the number may come from the file itself and promise more than there is.
    """
    read = bytearray()
    while len(read) < n_bytes and (block := content.read(min(_BLOCK, n_bytes - len(read)))):
        read += block
    if len(read) < n_bytes or content.read(1):
        got = f"{len(read):,}" if len(read) < n_bytes else "more"
        raise DataError(f"{file} should have {n_bytes:,} bytes {purpose}, got {got}.")
    return np.frombuffer(read, np.uint8)


def first_existing(folder: Path, names: tuple[str, ...], fetch: str) -> Path:
    """The first of these names that the folder has; a DataError says what to fetch if it has none."""
    for name in names:
        if (folder / name).exists():
            return folder / name
    others = f" (nor is there {' or '.join(names[1:])})" if names[1:] else ""
    raise DataError(f"{folder / names[0]} is missing{others}. {fetch}")
