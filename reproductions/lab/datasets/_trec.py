"""Questions by what they ask for: the TREC question classification of Li and Roth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from metricfit._errors import DataError
from metricfit._printable import quoted
from reproductions.lab.datasets._files import read_lines

_LINE = re.compile(r"([A-Z]+):([a-z]+) (.*\S.*)")


class Question(NamedTuple):
    """A question in words separated by spaces, its coarse class such as NUM, and its fine class such as dist."""

    text: str
    coarse: str
    fine: str


def read_trec(file: str | Path) -> list[Question]:
    """The questions of a file (plain or gzip, Latin-1), from lines such as ``NUM:dist How far is it to Aspen ?``."""
    questions = []
    for number, line in enumerate(read_lines(file, "questions of TREC", "latin-1"), 1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise DataError(f"{file}, line {number}: should be COARSE:fine and a question, got {quoted(line)}.")
        coarse, fine, text = found.groups()
        questions.append(Question(text, coarse, fine))
    return questions
