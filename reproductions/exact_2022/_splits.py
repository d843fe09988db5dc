"""Repeated random splits of the paper's ten tables, with the rows for the search of hyper-parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import Tensor

from reproductions import _tables as tables
from reproductions._training import Rows
from reproductions.exact_2022._protocol import NAMES

MOST_ROWS = {"adult": 6000, "dry-bean": 6000}  # a random part of the rows, stratified; the same for all splits


@dataclass(frozen=True)
class Splits:
    """Features (g, n, d) and labels (g, n) of g splits: all training rows, four fifths of them, the last fifth, test rows."""

    train: Rows
    inner: Rows
    held_out: Rows
    test: Rows
    n_classes: int


@lru_cache(maxsize=1)
def load_splits(name: str, data: Path, n_splits: int, capped: bool = True) -> Splits:
    """80 % of the rows for training and 20 % for testing, stratified, the same splits for all methods.

    All rows: the part that a set has for testing (adult, annealing) is mixed with the others, and no last row is left out. One
    row of mice-protein is one of fifteen measurements of a mouse, so a mouse is in both parts, here as in the paper's split.
    Preprocessing is fitted on the training part; categories that are absent from it are columns of zeros.
    """
    features, target = tables.load(NAMES.get(name, name), data)
    classes, labels = np.unique(target, return_inverse=True)
    rows = np.arange(len(labels))
    if capped and len(rows) > MOST_ROWS.get(name, len(rows)):
        rows, _ = _cut(rows, labels, 0, train_size=MOST_ROWS[name])
        features, labels, rows = features.iloc[rows], labels[rows], np.arange(len(rows))
    cuts, values = [], []
    for split in range(n_splits):
        known_rows, test_rows = _cut(rows, labels, split, test_size=0.2)
        cuts.append((known_rows, *_cut(known_rows, labels, split, test_size=0.2), test_rows))
        values.append(torch.from_numpy(tables.numeric_features(features, known_rows)).float())
    widest = max(value.shape[1] for value in values)
    padded = [torch.nn.functional.pad(value, (0, widest - value.shape[1])) for value in values]
    known = torch.from_numpy(labels)
    train, inner, held_out, test = (
        (_stack(padded, which), torch.stack([known[part] for part in which])) for which in zip(*cuts, strict=True)
    )
    return Splits(train, inner, held_out, test, len(classes))


def _stack(values: list[Tensor], which: tuple[np.ndarray, ...]) -> Tensor:
    return torch.stack([value[part] for value, part in zip(values, which, strict=True)])


def _cut(rows: np.ndarray, labels: np.ndarray, seed: int, **sizes: float) -> tuple[np.ndarray, np.ndarray]:
    """Two parts of the rows, stratified if every class has two rows."""
    counts = np.bincount(labels[rows])
    strata = labels[rows] if counts[counts > 0].min() >= 2 else None
    one, other = train_test_split(rows, random_state=seed, stratify=strata, **sizes)
    return one, other
