"""Binary trees with a label for every node, in the brackets of the Penn Treebank: the Stanford Sentiment Treebank."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from metricfit._errors import DataError
from metricfit._printable import quoted
from reproductions.lab.datasets._files import read_lines
from reproductions.lab.datasets._vocabulary import PADDING
from reproductions.lab.networks import Trees

N_LABELS = 5  # very negative, negative, neutral, positive, very positive
_SIGN = re.compile(r"\([ \t]*[^() \t]*|\)|[^() \t]+")  # ( with its label, ), or a word; some have a no-break space


@dataclass(frozen=True)
class LabelledTree:
    """The nodes of a sentence; children come before their parent, and the last node is the whole sentence."""

    words: tuple[str | None, ...]  # of the leaves; None for others
    left: tuple[int, ...]  # the index of the left child, -1 for a leaf
    right: tuple[int, ...]
    height: tuple[int, ...]  # 0 for a leaf
    labels: tuple[int, ...]

    def leaves(self) -> list[str]:
        """The words of the sentence, in order."""
        return [word for word in self.words if word is not None]

    def with_numbers(self, leaves: Tensor) -> Trees:
        """The input of :class:`reproductions.lab.networks.TreeTagger`, from the numbers of the sentence's words in order.

        The labels belong to its nodes in the same order.
        """
        words = torch.full((len(self.words),), PADDING)
        words[[word is not None for word in self.words]] = leaves
        return Trees(words, *map(torch.tensor, (self.left, self.right, self.height)))


def read_sst(file: str | Path) -> list[LabelledTree]:
    """The trees of a file (plain or gzip), one on each line, such as ``(3 (2 It) (4 works))``; labels are 0 to 4."""
    trees = []
    for number, line in enumerate(read_lines(file, "trees in brackets"), 1):
        if line.strip():
            try:
                trees.append(parse_tree(line))
            except ValueError as error:
                raise DataError(f"{file}, line {number}: {error}") from None
    return trees


def parse_tree(line: str) -> LabelledTree:
    """Read a tree with an explicit stack, because some trees are deeper than Python's.

    >>> parse_tree("(3 (2 It) (4 works))")
    LabelledTree(words=('It', 'works', None), left=(-1, -1, 0), right=(-1, -1, 1), height=(0, 0, 1), labels=(2, 4, 3))
    """
    nodes: list[tuple[str | None, int, int, int, int]] = []
    is_open: list[tuple[int, list[int | str]]] = []  # label, and a word or the indices of children
    for found in _SIGN.finditer(line):
        sign, column = found.group(), found.start() + 1
        if not is_open and (nodes or sign[0] != "("):
            expected = "should end after its tree" if nodes else "should begin with '('"
            raise ValueError(f"{expected}, got {quoted(sign)} in column {column}.")
        if sign[0] == "(":
            is_open.append((_label(sign[1:].strip(), column), []))
        elif sign != ")":
            is_open[-1][1].append(sign)
        else:
            label, inside = is_open.pop()
            match inside:
                case [str(word)]:
                    nodes.append((word, -1, -1, 0, label))
                case [int(left), int(right)]:
                    nodes.append((None, left, right, 1 + max(nodes[left][3], nodes[right][3]), label))
                case _:
                    raise ValueError(f"a node should be one word or two nodes; the one that ends in column {column} is not.")
            if is_open:
                is_open[-1][1].append(len(nodes) - 1)
    if is_open or not nodes:
        raise ValueError(f"should be a tree; {len(is_open)} of its brackets are still open at the end.")
    return LabelledTree(*zip(*nodes, strict=True))


def _label(text: str, column: int) -> int:
    """The number after a bracket."""
    if text not in map(str, range(N_LABELS)):
        raise ValueError(f"a label from 0 to {N_LABELS - 1} should follow '(' in column {column}, got {quoted(text)}.")
    return int(text)
