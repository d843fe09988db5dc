"""MNIST from its four idx files: folds of training and development images, and labels with noise."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import KFold

from metricfit._errors import DataError
from reproductions._training import Rows

N_FOLDS, N_CLASSES, NOISE = 10, 10, 0.05


def fold(data: Path, place: int, *, noisy: bool = False) -> tuple[Rows, Rows, Rows]:
    """Training and development images, 9:1 and with noisy labels if wanted, and the set's own test images."""
    (pixels, labels), test = _digits(data)
    if noisy:
        labels = with_noise(labels, place)
    train, development = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(pixels))[place]
    return (pixels[train], labels[train]), (pixels[development], labels[development]), test


def with_noise(labels: torch.Tensor, seed: int) -> torch.Tensor:
    """With a probability of 5 % a label is drawn anew from all ten, so that 4.5 % of them become wrong."""
    random = np.random.default_rng(seed)
    struck, drawn = random.random(len(labels)) < NOISE, random.integers(0, N_CLASSES, len(labels))
    return torch.where(torch.from_numpy(struck), torch.from_numpy(drawn), labels)


@lru_cache(maxsize=1)
def _digits(data: Path) -> tuple[Rows, Rows]:
    train, test = (_part(data / "mnist", part) for part in ("train", "t10k"))
    return train, test


def _part(folder: Path, part: str) -> Rows:
    """Pixels from 0 to 1, in a row per image, and labels."""
    try:
        images = read_idx(folder / f"{part}-images-idx3-ubyte.gz")
        labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz")
    except FileNotFoundError as error:
        raise DataError(
            f"MNIST is not there: {error.filename} is missing. Fetch its four idx files (gzip), put them into a folder "
            "'mnist', and name the folder above it by --data or METRICFIT_DATA."
        ) from error
    return torch.from_numpy(images.reshape(len(images), -1)).float() / 255.0, torch.from_numpy(labels).long()


def read_idx(file: Path) -> np.ndarray:
    """An array of bytes: two zeros, the type (8), the number of axes, their lengths, the values."""
    with gzip.open(file) as packed:
        content = packed.read()
    if content[:3] != b"\x00\x00\x08":
        raise DataError(f"{file} should be an idx file of bytes, but begins with {content[:3]!r}.")
    n_axes = content[3]
    lengths = np.frombuffer(content, ">i4", n_axes, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes).reshape(lengths).copy()
