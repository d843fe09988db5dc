"""The lines of a text file, plain or compressed by gzip."""

from __future__ import annotations

from pathlib import Path

from metricfit._errors import DataError
from metricfit.datasets._content import open_content


def read_lines(file: str | Path, expected: str, encoding: str = "utf-8") -> list[str]:
    """The lines without their ends; ``expected`` says in errors what the file should be."""
    with open_content(Path(file), expected) as opened:
        content = opened.read()
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
        raise DataError(f"{file}, line {line}: should be {encoding} text, got the byte {byte:#04x}.") from error
    lines = [
        line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")
    ]  # splitlines() cuts at other signs too
    return lines if lines[-1] else lines[:-1]
