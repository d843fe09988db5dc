"""Two sets as EAST's predecessor reads them: "Bridging the Gap", Tsoi et al., NeurIPS 2022, github.com/nathantsoi/btg.

EAST takes its four binary sets from there (Section D). How they are read follows ``src/datasets.py`` and
``notebooks/binary_cocktail_party.ipynb`` of that repository (commit 68af8b2); the code here is our own.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from metricfit._errors import DataError
from reproductions import _tables as tables

AGE, WEIGHT, LABEL = 0, 2, 14  # columns of adult; the predecessor drops the weight
PEOPLE = [f"ID_{number:03}" for number in range(1, 7)]


def adult_with_age_codes(data: Path) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Features of adult in which the same age has another code in the test file; labels; a mask of the test file's rows.

    The first line of ``adult.test`` is a comment. The predecessor drops it after pandas has read the file, but by then it has
    turned all ages of the file into text. The predecessor concatenates both files and encodes text as categories. Numbers
    sort before text, so the 73 ages of the training file become 0 ... 72, and those of the test file 73 ... 145: to the model,
    everybody in the test file is older than anybody in the training file. Words become the ranks of their alphabetical order.
    """
    train, test = tables.adult_files(data)
    table = pd.concat([train, test], ignore_index=True)
    features = table.drop(columns=[WEIGHT, LABEL])
    for column in features.select_dtypes(exclude="number"):
        features[column] = np.unique(features[column].fillna("?").astype(str), return_inverse=True)[1]
    (known, codes), (_, test_codes) = (np.unique(part[AGE], return_inverse=True) for part in (train, test))
    features[AGE] = np.concatenate([codes, len(known) + test_codes])
    return features.rename(columns=str), table[LABEL].str.rstrip(".").to_numpy(), np.arange(len(table)) >= len(train)


def cocktail_party(data: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """The 22 features of each pair of people in each frame, and 1 if the two are not in one group.

    The origin is the centre of the pair, and the x axis points from its second person to its first. Features are x, cosine and
    sine of the head's angle for both (their y is zero), then x, y, cosine and sine for each of the other four people. Which of
    the two is the first is random. Pairs that are not in one group are the positive class, 30.29 % of the rows.
    """
    folder = data / "cocktail-party"
    people, groups = _frames(folder / "features.txt"), _groups(folder / "group_names.txt")
    if set(groups) != set(people):
        raise DataError(f"{folder} should have the same time stamps in features.txt and group_names.txt, but they differ.")
    random = np.random.default_rng(0)
    rows, labels = [], []
    for stamp, positions in people.items():
        for pair in combinations(range(len(PEOPLE)), 2):
            rows.append(pair_features(positions, *(pair if random.random() < 0.5 else pair[::-1])))
            labels.append(not any({PEOPLE[person] for person in pair} <= group for group in groups[stamp]))
    return pd.DataFrame(rows), np.array(labels, np.int64)


def pair_features(people: np.ndarray, first: int, second: int) -> np.ndarray:
    """Features of a pair, from the x, y and angle of all people (n, 3).

    >>> pair_features(np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 0.0]]), 1, 0).round(6) + 0.0
    array([ 1.,  0., -1., -1.,  0., -1.,  0., -1.,  0., -1.])
    """
    positions, angles = people[:, :2], people[:, 2]
    x, y = positions[first] - positions[second]
    turn = np.arctan2(y, x)
    cosine, sine = np.cos(turn), np.sin(turn)
    positions = (positions - (positions[first] + positions[second]) / 2.0) @ np.array([[cosine, -sine], [sine, cosine]])
    every = np.column_stack([positions, np.cos(angles - turn), np.sin(angles - turn)])
    pair, others = every[[first, second]], np.delete(every, [first, second], axis=0)
    return np.concatenate([pair[:, [0, 2, 3]].ravel(), others.ravel()])


def _frames(file: Path) -> dict[str, np.ndarray]:
    """By time stamp, an array (6, 3) of the x, y and angle of each person."""
    frames = {}
    for line in file.read_text().splitlines():
        stamp, *entries = line.split()
        if entries[::4] != PEOPLE or len(entries) != 4 * len(PEOPLE):
            raise DataError(f"{file} should have lines of a time stamp, then ID_001 x y angle ID_002 ..., got {line[:80]!r}.")
        frames[stamp] = np.array([entries[start : start + 3] for start in range(1, len(entries), 4)], np.float64)
    return frames


def _groups(file: Path) -> dict[str, list[set[str]]]:
    """By time stamp, the groups. People who stand alone may be missing."""
    lines = (line.partition(" ") for line in file.read_text().splitlines())
    return {stamp: [set(group.split()) for group in re.findall("<([^>]*)>", rest)] for stamp, _, rest in lines}
