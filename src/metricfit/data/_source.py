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
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield copy
        except (DataError, UsageError, MissingExtraError) as error:
            raise type(error)(str(error).replace(str(copy), copy.name)) from error
