"""Open files of data sets, whoever made them: plain or gzipped, of limited size, with errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from metricfit._errors import DataError
from metricfit._files import BoundedGzip, open_regular

MOST_BYTES = 2**32
_BLOCK = 2**20
_GZIP = b"\x1f\x8b"


@contextmanager
def open_content(file: Path, expected: str) -> Iterator[BinaryIO]:
    """Open a file, decompressed if it begins as gzip does; a DataError if it cannot be read, or later while it is read."""
    try:
        with open_regular(file, MOST_BYTES) as raw:
            start = raw.read(len(_GZIP))
            raw.seek(0)
            yield cast(BinaryIO, BoundedGzip(file, raw)) if start == _GZIP else raw
    except DataError:
        raise
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{file} should be {expected}, but cannot be read: {reason}.") from error


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
