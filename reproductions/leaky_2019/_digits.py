"""MNIST: folds of training and development images, and labels with noise."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import KFold

from reproductions._training import Rows
from reproductions.lab import datasets

N_FOLDS, N_CLASSES, NOISE = 10, 10, 0.05


def fold(data: Path, index: int, *, noisy: bool = False) -> tuple[Rows, Rows, Rows]:
    """Training and development images, 9:1 and with noisy labels if wanted, and the set's own test images."""
    (pixels, labels), test = _digits(data)
    if noisy:
        labels = with_noise(labels, index)
    train, development = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(pixels))[index]
    return (pixels[train], labels[train]), (pixels[development], labels[development]), test


def with_noise(labels: torch.Tensor, seed: int, n_classes: int = N_CLASSES) -> torch.Tensor:
    """With a probability of 5 % a label is drawn from all classes, so that of ten classes 4.5 % become wrong."""
    random = np.random.default_rng(seed)
    struck, drawn = random.random(len(labels)) < NOISE, random.integers(0, n_classes, len(labels))
    return torch.where(torch.from_numpy(struck), torch.from_numpy(drawn), labels)


@lru_cache(maxsize=1)
def _digits(data: Path) -> tuple[Rows, Rows]:
    return _part(data, "train"), _part(data, "test")


def _part(data: Path, part: str) -> Rows:
    """Pixels from 0 to 1, in a row per image, and labels."""
    images, labels = datasets.mnist(data / "mnist", part)
    return images.flatten(1).float() / 255.0, labels
