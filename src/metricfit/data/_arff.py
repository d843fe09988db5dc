"""ARFF files of Weka and OpenML, and the ``.dat`` files of KEEL: a header with names and types, then rows of cells.

The rows become lines of CSV, so that all text files are read alike.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from metricfit._errors import DataError

_QUOTED = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+(?:{_QUOTED}|([^\s{{]+))\s*(.*)", re.IGNORECASE)
_CELL = re.compile(rf"\s*(?:{_QUOTED}|([^,\t]*?))\s*(,|\t|$)")
_DATA = re.compile(r"@data\b", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")
_NUMBERS = ("numeric", "real", "integer")
_TEXTS = ("string", "date")


@dataclass(frozen=True)
class Header:
    """The columns with their types ("number", "string", or "" for a date), and the number of lines before ``@data``."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    n_lines: int


def read_header(lines: Iterable[str], path: Path) -> Header:
    """Read up to the first row. Sparse rows are refused.

    >>> read_header(["@relation r", "@attribute 'my size' real", "@attribute sort {a, b}", "@data", "1.5, a"], Path("r.arff"))
    Header(names=('my size', 'sort'), types=('number', 'string'), n_lines=3)
    """
    columns: list[tuple[str, str]] = []
    numbered = enumerate(map(str.strip, lines), 1)
    for number, line in numbered:
        if _DATA.match(line):
            break
        if line.lower().startswith("@attribute"):
            columns.append(_column(line, f"{path}, line {number}"))
    else:
        raise DataError(f"{path} is an ARFF file without a @data line.")
    if not columns:
        raise DataError(f"{path} is an ARFF file without @attribute lines, which name the columns.")
    first = next((line for _, line in numbered if line and not line.startswith("%")), "")
    if first.startswith("{"):
        raise DataError(f"{path} is a sparse ARFF file, which is not supported. Convert it with Weka's SparseToNonSparse.")
    names, types = zip(*columns, strict=True)
    return Header(names, types, number - 1)


def _column(line: str, where: str) -> tuple[str, str]:
    """The name and the type of a column."""
    found = _ATTRIBUTE.match(line)
    if found is None:
        raise DataError(f"{where} should be @attribute, a name and a type, got {line!r}.")
    name, kind = _first_group(found), found[4]
    word = re.split(r"[\s\[]", kind.lower())[0]
    if kind.startswith("{"):
        return name, "string"
    if word not in _NUMBERS + _TEXTS:
        raise DataError(f"{where}: column {name!r} has the type {kind!r}, expected one of numeric, nominal, string and date.")
    return name, "number" if word in _NUMBERS else "string" if word == "string" else ""


def csv_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines after ``@data`` as CSV. Comments and the header become blank lines, so that rows keep their numbers.

    >>> list(csv_lines(["@data", r"1, 'it\\'s', ?", "% a comment", "2, 'Ann, Bob', x", "3,y,z"]))
    ['\\n', "1,it's,?\\n", '\\n', '2,"Ann, Bob",x\\n', '3,y,z\\n']
    """
    rows = iter(lines)
    for line in rows:
        yield "\n"
        if _DATA.match(line.strip()):
            break
    for line in rows:
        text = line.strip().replace("<null>", "?")  # KEEL's missing value
        if text.startswith("%"):
            yield "\n"
        elif any(sign in text for sign in "'\"\\\t"):
            yield _csv_line(text)
        else:
            yield f"{text}\n"


def _csv_line(text: str) -> str:
    cells, end = list[str](), 0
    while found := _CELL.match(text, end):
        cells.append(_first_group(found))
        end = found.end()
        if not found[4]:
            break
    else:
        return f"{text}\n"  # quotes that do not end at a comma
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _first_group(found: re.Match[str]) -> str:
    """The text in quotes, or without them."""
    return next((_ESCAPED.sub(r"\1", text) for text in found.groups()[:2] if text is not None), found[3] or "")
