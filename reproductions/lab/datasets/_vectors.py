"""Word vectors: GloVe's text format, a word and its numbers on each line, or the arrays of a NumPy archive."""

from __future__ import annotations

import gzip
from collections.abc import Collection
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._errors import DataError
from metricfit._printable import quoted
from reproductions.lab.datasets._files import reading

_EXPECTED = "word vectors"


def read_vectors(file: str | Path, words: Collection[str], n_dimensions: int) -> dict[str, Tensor]:
    """The vectors of those ``words`` that the file contains.

    Args:
        file: text (plain or gzip) with a word and ``n_dimensions`` numbers on each line; or ``.npz`` with the arrays ``words``
            (text) and ``vectors`` (n, ``n_dimensions``).
        words: the words to look up, as they are spelled in the file.
        n_dimensions: the length of a vector.
    """
    return (_from_arrays if Path(file).suffix == ".npz" else _from_text)(Path(file), words, n_dimensions)


def _from_text(file: Path, words: Collection[str], n_dimensions: int) -> dict[str, Tensor]:
    """Read line by line, because such files have gigabytes. The numbers are the last fields: a word may contain spaces."""
    found: dict[str, Tensor] = {}
    with reading(file, _EXPECTED), (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            word, *values = line.rstrip().rsplit(" ", n_dimensions)
            if len(values) != n_dimensions:
                raise ValueError(f"{quoted(line)} is not a word and {n_dimensions} numbers")
            if word in words:
                found[word] = torch.tensor([float(value) for value in values])
    return found


def _from_arrays(file: Path, words: Collection[str], n_dimensions: int) -> dict[str, Tensor]:
    with reading(file, _EXPECTED), np.load(file, allow_pickle=False) as archive:
        names, vectors = archive["words"], archive["vectors"]
    if vectors.shape != (len(names), n_dimensions):
        raise DataError(f"{file}: `vectors` should have shape ({len(names)}, {n_dimensions}), got {vectors.shape}.")
    rows = torch.from_numpy(vectors.astype(np.float32))
    return {word: row for word, row in zip(names.tolist(), rows, strict=True) if word in words}
