"""MNIST and sets in its format, such as Fashion-MNIST: four idx files, gzipped or plain."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._checks import check_option
from metricfit._errors import DataError
from reproductions.lab.datasets._files import first_existing, read_content, reading

SIZE, N_CLASSES = 28, 10
_PREFIX = {"train": "train", "test": "t10k"}
_FETCH = "Fetch its four idx files (gzipped or not) and pass their folder."


def mnist(folder: str | Path, part: str = "train") -> tuple[Tensor, Tensor]:
    """Images (n, 1, 28, 28) of bytes and labels 0 ... 9, from ``train-images-idx3-ubyte`` and the like, gzipped or plain.

    Args:
        folder: has the idx files of MNIST, Fashion-MNIST or another set of 28 × 28.
        part: "train" or "test"; the test files begin with ``t10k``.
    """
    prefix = _PREFIX[check_option(part, "part", _PREFIX)]
    names = (f"{prefix}-{name}-ubyte" for name in ("images-idx3", "labels-idx1"))
    images_file, labels_file = (first_existing(Path(folder), (f"{name}.gz", name), _FETCH) for name in names)
    images, labels = read_idx(images_file), read_idx(labels_file)
    if images.shape[1:] != (SIZE, SIZE):
        raise DataError(f"{images_file} should have images of shape ({SIZE}, {SIZE}), got an array of {images.shape}.")
    if labels.shape != (len(images),) or labels.max(initial=0) >= N_CLASSES:
        got = f"an array of {labels.shape} up to {labels.max(initial=0)}"
        raise DataError(f"{labels_file} should have {len(images):,} labels 0 ... {N_CLASSES - 1}, one per image, got {got}.")
    return torch.from_numpy(images[:, None]), torch.from_numpy(labels).long()


def read_idx(file: Path) -> np.ndarray:
    """An array of bytes from an idx file: two zeros, the type (8), the number of axes, their lengths, the values."""
    with reading(file, "an idx file of bytes"):
        content = bytearray(read_content(file))  # so that the array can be written to
        kind, n_axes = struct.unpack_from(">3sB", content)
        if kind != b"\x00\x00\x08":
            raise ValueError(f"it begins with {kind!r}")
        shape = struct.unpack_from(f">{n_axes}I", content, 4)
        return np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes).reshape(shape)
