"""Word vectors in the text format of GloVe: a word and its numbers on each line."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import torch
from torch import Tensor

from metricfit._errors import DataError
from metricfit._printable import quoted
from metricfit.datasets._content import open_content


def read_vectors(file: str | Path, words: Collection[str], n_dimensions: int) -> dict[str, Tensor]:
    """The vectors of these words, of those that the file (plain or gzip) has.

    It is read line by line, because such files have gigabytes. The numbers are the last ``n_dimensions`` fields: a word may
    contain spaces.
    """
    found: dict[str, Tensor] = {}
    with open_content(Path(file), "word vectors") as lines:
        for number, line in enumerate(lines, 1):
            text = line.decode("utf-8", "replace").rstrip()
            word, *values = text.rsplit(" ", n_dimensions)
            if word not in words and len(values) == n_dimensions:
                continue
            try:
                vector = torch.tensor([float(value) for value in values])
            except ValueError:
                vector = torch.empty(0)
            if len(vector) != n_dimensions or not vector.isfinite().all():
                raise DataError(f"{file}, line {number}: should be a word and {n_dimensions} numbers, got {quoted(text)}.")
            found[word] = vector
    return found
