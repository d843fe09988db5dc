"""Sentences with one tag per word: CoNLL-U, and files with a word and its tags on each line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from metricfit._errors import DataError
from metricfit._printable import quoted
from reproductions.lab.datasets._files import read_lines

N_COLUMNS, WORD, PART_OF_SPEECH = 10, 1, 3  # of CoNLL-U
_FILE = "sentences with a word on each line"
_NOT_A_WORD = re.compile(r"\d+(-|\.)\d+")  # several words in one token, such as 1-2, and empty nodes, such as 1.1


class Sentence(NamedTuple):
    """The words of a sentence, and as many tags."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_conllu(file: str | Path) -> list[Sentence]:
    """Sentences of a CoNLL-U file (plain or gzip) with universal parts of speech.

    Tokens of several words (``1-2``) and empty nodes (``1.1``) are skipped.
    """
    sentences = []
    for block in _blocks(file, comments=True):
        pairs: list[tuple[str, str]] = []
        for number, line in block:
            fields = line.split("\t")
            if len(fields) != N_COLUMNS:
                raise _damaged(file, number, f"{N_COLUMNS} columns with tabs between them", line)
            if _NOT_A_WORD.fullmatch(fields[0]):
                continue
            if fields[0] != str(len(pairs) + 1):
                raise _damaged(file, number, f"the word {len(pairs) + 1} of its sentence", line)
            pairs.append((fields[WORD], fields[PART_OF_SPEECH]))
        sentences.append(Sentence(*zip(*pairs, strict=True)))
    return sentences


def read_conll(file: str | Path, column: int = -1, *, member: str = "") -> list[Sentence]:
    """Sentences of a file (plain or gzip) with a word and its tags on each line, and an empty line after each sentence.

    Tabs or spaces separate the columns, and all lines have equally many. The first column is the word.

    Args:
        file: the text file, or with ``member`` a zip archive.
        column: the column of the tag, counted from 0; by default the last one. CoNLL-2000 has the part of speech in column 1
            and the chunk in column 2.
        member: the name of the text file in the archive, such as ``"conll2000/train.txt"``.
    """
    sentences, n_fields = [], 0
    for block in _blocks(file, member=member):
        pairs = []
        for number, line in block:
            fields = re.split(r"[ \t]+", line.strip(" \t"))
            n_fields = n_fields or max(len(fields), 2, column + 1)
            if len(fields) != n_fields:
                raise _damaged(file, number, f"{n_fields} columns, the first of them a word", line)
            pairs.append((fields[0], fields[column]))
        sentences.append(Sentence(*zip(*pairs, strict=True)))
    return sentences


def _blocks(file: str | Path, comments: bool = False, member: str = "") -> Iterator[list[tuple[int, str]]]:
    """The lines of each sentence with their numbers, from 1. Lines of white space separate sentences."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*read_lines(file, _FILE, member=member), ""], 1):
        if line.strip():
            if not (comments and line.startswith("#")):
                block.append((number, line))
        elif block:
            yield block
            block = []


def _damaged(file: str | Path, number: int, expected: str, line: str) -> DataError:
    return DataError(f"{file}, line {number}: should have {expected}, got {quoted(line)}.")
