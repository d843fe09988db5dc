"""Real tables for the study of where training for a metric pays: the papers' sets, and a class of them against the rest.

A class against the rest is a task that people have ("is it this kind of bean?"), and with a linear model it is often a curved
one with a rare class. Such tables share their rows, so tests take the mean of the tables of one set.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from reproductions import _tables

Part = tuple[pd.DataFrame, NDArray[np.int64]]

MOST_ROWS, TEST_SHARE = 5000, 0.2
SETS = tuple(_tables.SETS)
AGAINST_REST = {"car": 4, "satellite": 6, "dry-bean": 7, "balance-scale": 3}  # set: number of its classes
RESTS = tuple(f"{name}:{index}" for name, n_classes in AGAINST_REST.items() for index in range(n_classes))


def source(name: str) -> str:
    """The set that a table is from.

    >>> source("car:2"), source("car")
    ('car', 'car')
    """
    return name.partition(":")[0]


def load_table(name: str, data: Path) -> Part:
    """Features, and labels 0 ... k - 1; of a class against the rest, 1 is the class."""
    features, target = _tables.load(source(name), data)
    _, labels = np.unique(target, return_inverse=True)
    _, _, index = name.partition(":")
    return features, (labels == int(index)).astype(np.int64) if index else labels


def split_table(name: str, data: Path, seed: int) -> tuple[Part, Part]:
    """A random split, stratified, of at most ``MOST_ROWS`` rows: four fifths to train, one to test."""
    features, labels = load_table(name, data)
    if len(labels) > MOST_ROWS:
        features, _, labels, _ = train_test_split(features, labels, train_size=MOST_ROWS, stratify=labels, random_state=seed)
    return hold_out((features, labels), seed)


def hold_out(rows: Part, seed: int) -> tuple[Part, Part]:
    """Training rows, and a stratified fifth."""
    parts = train_test_split(*rows, test_size=TEST_SHARE, stratify=rows[1], random_state=seed)
    return (parts[0], parts[2]), (parts[1], parts[3])
