"""Word vectors: GloVe's text format, a word and its numbers on each line, or the arrays of a NumPy archive."""

from __future__ import annotations

import io
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from metricfit._errors import DataError
from metricfit._printable import printable, quoted
from reproductions.lab.datasets._content import open_content, read_member

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
    with open_content(file, _EXPECTED) as lines:
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


def _from_arrays(file: Path, words: Collection[str], n_dimensions: int) -> dict[str, Tensor]:
    names, vectors = (_read_array(file, name) for name in ("words", "vectors"))
    if names.dtype.kind != "U" or names.ndim != 1:
        raise DataError(f"{file}: `words` should be text of shape (n,), got {names.dtype} of shape {names.shape}.")
    if vectors.dtype.kind != "f" or vectors.shape != (len(names), n_dimensions):
        expected = f"floats of shape ({len(names)}, {n_dimensions}), a row for each word"
        raise DataError(f"{file}: `vectors` should be {expected}, got {vectors.dtype} of shape {vectors.shape}.")
    if not np.isfinite(vectors).all():
        raise DataError(f"{file}: `vectors` should be finite, got NaN or infinity.")
    rows = torch.from_numpy(vectors.astype(np.float32))
    return {word: row for word, row in zip(names.tolist(), rows, strict=True) if word in words}


def _read_array(file: Path, name: str) -> np.ndarray[Any, Any]:
    """One array of a NumPy archive; arrays of Python objects, which could run code, are refused."""
    content = read_member(file, f"{name}.npy", _EXPECTED)
    try:
        return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except (ValueError, MemoryError, OverflowError) as error:
        raise DataError(f"{file}: `{name}` is not a readable NumPy array: {printable(str(error))}.") from error
