"""Find the files of a data set and read them, with errors that name the file."""

from __future__ import annotations

import gzip
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metricfit._errors import DataError

_READ_ERRORS = (OSError, EOFError, ValueError, KeyError, struct.error, tarfile.TarError, zipfile.BadZipFile, zlib.error)


def first_existing(folder: Path, names: tuple[str, ...], fetch: str) -> Path:
    """The first of these names that the folder has; a DataError says what to fetch if it has none."""
    for name in names:
        if (folder / name).exists():
            return folder / name
    others = f" (nor is there {' or '.join(names[1:])})" if names[1:] else ""
    raise DataError(f"{folder / names[0]} is missing{others}. {fetch}")


@contextmanager
def reading(file: Path, expected: str) -> Iterator[None]:
    """Turn an error while ``file`` is read into a DataError that says what the file should be."""
    try:
        yield
    except _READ_ERRORS as error:
        raise DataError(f"{file} should be {expected}, but cannot be read: {error}.") from error


def read_content(file: Path) -> bytes:
    """The bytes of a file, decompressed if its name ends in ``.gz``."""
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def read_lines(file: str | Path, expected: str, encoding: str = "utf-8", member: str = "") -> list[str]:
    """The lines of a text file without their ends; ``expected`` says in errors what the file should be.

    With ``member``, the file is a zip archive and this is the name of the text file in it.
    """
    file = Path(file)
    with reading(file, expected):
        if member:
            with zipfile.ZipFile(file) as archive:
                content = archive.read(member)
        else:
            content = read_content(file)
        lines = [line.removesuffix("\r") for line in content.decode(encoding).split("\n")]  # splitlines() cuts at U+2028 too
    return lines if lines[-1] else lines[:-1]
