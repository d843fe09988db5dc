"""MNIST and sets in its format, such as Fashion-MNIST: four idx files, gzipped or plain."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._checks import check_option
from metricfit._errors import DataError
from reproductions.lab.datasets._content import first_existing, open_content, read_bytes

SIZE, N_CLASSES = 28, 10
MOST_VALUES = 2**30
_IDX = "an idx file of bytes"
_PREFIX = {"train": "train", "test": "t10k"}
_FETCH = "Fetch its four idx files (gzipped or not) and pass their folder."


def mnist(folder: str | Path, part: str = "train") -> tuple[Tensor, Tensor]:
    """Images (n, 1, 28, 28) of bytes and labels 0 ... 9, from ``train-images-idx3-ubyte`` and the like, gzipped or plain.

    Args:
        folder: has the idx files of MNIST, Fashion-MNIST or another set of 28 × 28.
        part: "train" or "test"; the test files begin with ``t10k``.
    """
    prefix = _PREFIX[check_option(part, "part", _PREFIX)]
    images_file, labels_file = (_find(Path(folder), f"{prefix}-{name}-ubyte") for name in ("images-idx3", "labels-idx1"))
    images, labels = read_idx(images_file), read_idx(labels_file)
    if images.shape[1:] != (SIZE, SIZE):
        raise DataError(f"{images_file} should have images of shape ({SIZE}, {SIZE}), got an array of {images.shape}.")
    if labels.shape != (len(images),):
        raise DataError(f"{labels_file} should have {len(images):,} labels, one per image, got an array of {labels.shape}.")
    if labels.size and labels.max() >= N_CLASSES:
        raise DataError(f"{labels_file} should have labels 0 ... {N_CLASSES - 1}, got {labels.max()}.")
    return torch.from_numpy(images[:, None]), torch.from_numpy(labels).long()


def read_idx(file: Path) -> np.ndarray:
    """An array of bytes from an idx file: two zeros, the type (8), the number of axes, their lengths, the values."""
    with open_content(file, _IDX) as content:
        head = content.read(4)
        if len(head) < 4 or head[:3] != b"\x00\x00\x08":
            raise DataError(f"{file} should be {_IDX}, but begins with {head[:3]!r}.")
        lengths = content.read(4 * head[3])
        if len(lengths) < 4 * head[3]:
            raise DataError(f"{file} should have the lengths of {head[3]} axes, but ends before.")
        shape = tuple(np.frombuffer(lengths, ">u4").tolist())
        if math.prod(shape) > MOST_VALUES:
            raise DataError(f"{file} should have at most {MOST_VALUES:,} values, but says that its shape is {shape}.")
        return read_bytes(content, math.prod(shape), file, f"for an array of {shape}").reshape(shape)


def _find(folder: Path, name: str) -> Path:
    return first_existing(folder, (f"{name}.gz", name), _FETCH)
