"""The lines of a text file: plain, compressed by gzip, or in a zip archive."""

from __future__ import annotations

from pathlib import Path

from metricfit._errors import DataError
from reproductions.lab.datasets._content import open_content, read_member


def read_lines(file: str | Path, expected: str, encoding: str = "utf-8", member: str = "") -> list[str]:
    """The lines without their ends; ``expected`` says in errors what the file should be.

    With ``member``, the file is a zip archive and this is the name of the text file in it.
    """
    if member:
        content = read_member(Path(file), member, expected)
    else:
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
