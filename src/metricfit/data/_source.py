"""Data from a pipe: ``-`` is stdin, which is copied to a file because a table is read more than once."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metricfit._errors import DataError, UsageError
from metricfit._extras import MissingExtraError
from metricfit.data._kind import START_BYTES, check_start

STDIN = Path("-")


@contextmanager
def input_file(path: Path) -> Iterator[Path]:
    """Yield the path, or for ``-`` a copy of stdin, which is deleted at the end and which errors call "stdin"."""
    if path != STDIN:
        yield path
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("- stands for stdin, but nothing is piped into it. Try `metricfit ... - < data.csv`.")
    with tempfile.TemporaryDirectory(prefix="metricfit-") as folder:
        copy = Path(folder) / "stdin"
        try:
            _copy_stdin(copy)
            yield copy
        except (DataError, UsageError, MissingExtraError) as error:
            raise type(error)(str(error).replace(str(copy), copy.name)) from error


def _copy_stdin(copy: Path) -> None:
    """Copy all of stdin; what cannot be a table is refused by its start, because /dev/zero has no end."""
    with copy.open("wb") as file:
        start = sys.stdin.buffer.read(START_BYTES)
        check_start(copy, start)
        file.write(start)
        try:
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.flush()
        except OSError as error:
            raise DataError(f"stdin could not be copied to a temporary file: {error.strerror}.") from error
