"""Where cross-entropy is watched: text and digits, which a model can learn by heart, and tables whose classes overlap.

Every seed draws a fifth of the rows to hold out. Large sets are capped, for time. Adam's rates are constant, so that the last
epochs still move. They are usual values, set before the first run and not tuned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import nn

from reproductions import _tables as tables
from reproductions._training import Rows
from reproductions.critique_2022._text import HELD_OUT, model_of, questions
from reproductions.leaky_2019._digits import N_CLASSES, N_FOLDS, fold

MOST_ROWS = {"mnist": 10_000, "adult": 5_000}  # with those held out
HIDDEN = 100


@dataclass(frozen=True)
class Setting:
    """Rows to train on and held out, a new model for them, and how it is trained."""

    train: Rows
    held_out: Rows
    build: Callable[[], nn.Module]
    rate: float
    batch: int


def _trec(data: Path, model: str, seed: int, rate: float) -> Setting:
    found = questions(data, model, seed)
    return Setting(found.train, found.held_out, lambda: model_of(model, found.n_places, found.n_classes), rate, 256)


def _digits(data: Path, seed: int, rate: float) -> Setting:
    pixels, labels = fold(data, seed % N_FOLDS)[0]
    train, held_out = _split(labels.numpy(), seed, MOST_ROWS["mnist"])
    return Setting(
        (pixels[train], labels[train]),
        (pixels[held_out], labels[held_out]),
        lambda: nn.Sequential(nn.Linear(pixels.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, N_CLASSES)),
        rate,
        100,
    )


def _table(name: str, data: Path, seed: int, rate: float) -> Setting:
    features, target = tables.load(name, data)
    labels = np.unique(target, return_inverse=True)[1]
    train, held_out = _split(labels, seed, MOST_ROWS.get(name, len(labels)))
    numbers = torch.from_numpy(tables.numeric_features(features, train)).float()
    n_features, n_classes = numbers.shape[1], int(labels.max()) + 1
    first, second = ((numbers[part], torch.from_numpy(labels[part])) for part in (train, held_out))
    return Setting(first, second, lambda: nn.Linear(n_features, n_classes), rate, 64)


def _split(labels: np.ndarray, seed: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and held out, with the classes' shares kept."""
    rows = np.random.default_rng(seed).permutation(len(labels))[:most]
    train, held_out = train_test_split(rows, test_size=HELD_OUT, stratify=labels[rows], random_state=seed)
    return train, held_out


SETTINGS: dict[str, Callable[[Path, int], Setting]] = {
    "TREC, TF-IDF": lambda data, seed: _trec(data, "TF-IDF", seed, 0.03),
    "TREC, word vectors": lambda data, seed: _trec(data, "word vectors", seed, 0.003),
    "MNIST, network": lambda data, seed: _digits(data, seed, 0.001),
    "car, linear": lambda data, seed: _table("car", data, seed, 0.01),
    "adult, linear": lambda data, seed: _table("adult", data, seed, 0.003),
}


@lru_cache(maxsize=1)
def setting_of(name: str, data: Path, seed: int) -> Setting:
    return SETTINGS[name](data, seed)
