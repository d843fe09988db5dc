"""TREC's questions and their six coarse classes, as numbers for two models.

The files are already cut into words by spaces, punctuation too; here they get small letters. Vocabularies come from the rows
that are trained on, without those held out; words and pairs that occur only once are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from reproductions.lab.datasets import first_existing, read_trec

FILES = {"train": "trec/train_5500.label", "test": "trec/TREC_10.label"}
_FETCH = (
    "Fetch train_5500.label and TREC_10.label of the TREC question classification (Li and Roth), and name the folder by "
    "--data or METRICFIT_DATA."
)
HELD_OUT = 0.2
WIDTH = 100  # of word vectors and of the hidden layer
WORD = r"\S+"
NOTHING, UNKNOWN = 0, 1  # indices in the vocabulary before the words


@dataclass(frozen=True)
class Questions:
    """Features and labels to train on, to hold out and to test on, and the size of the vocabulary that the features index."""

    train: tuple[Tensor, Tensor]
    held_out: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    n_places: int
    n_classes: int


def read(data: Path, part: str) -> tuple[list[str], list[str]]:
    """Questions and coarse classes."""
    found = read_trec(first_existing(data, (FILES[part],), _FETCH))
    return [question.text for question in found], [question.coarse for question in found]


def questions(data: Path, model: str, seed: int) -> Questions:
    """A fifth of the training file is held out, drawn by the seed with the classes' shares kept."""
    (known, kinds), (asked, asked_kinds) = read(data, "train"), read(data, "test")
    classes, labels = np.unique(kinds, return_inverse=True)
    train, held_out = train_test_split(np.arange(len(labels)), test_size=HELD_OUT, stratify=labels, random_state=seed)
    texts = [[known[row] for row in train], [known[row] for row in held_out], asked]
    targets = [labels[train], labels[held_out], np.searchsorted(classes, asked_kinds)]
    features, n_places = READERS[model](texts)
    parts = [(x, torch.from_numpy(y)) for x, y in zip(features, targets, strict=True)]
    return Questions(parts[0], parts[1], parts[2], n_places, len(classes))


def _tf_idf(texts: Sequence[Sequence[str]]) -> tuple[list[Tensor], int]:
    """Words and pairs of words, as padded lists of index and value (n, length, 2): the matrix is 0.2 % full."""
    reader = TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=WORD).fit(texts[0])
    features = []
    for part in texts:
        matrix = reader.transform(part)
        pairs = torch.from_numpy(np.stack([matrix.indices + 1.0, matrix.data], axis=1)).float()
        rows = pairs.split(np.diff(matrix.indptr).tolist())
        features.append(nn.utils.rnn.pad_sequence(rows, batch_first=True))
    return features, len(reader.vocabulary_) + 1


def _words(texts: Sequence[Sequence[str]]) -> tuple[list[Tensor], int]:
    """The place of each word, padded (n, length)."""
    indices = CountVectorizer(min_df=2, token_pattern=WORD).fit(texts[0]).vocabulary_
    features = []
    for part in texts:
        rows = [torch.tensor([indices.get(word, -1) + UNKNOWN + 1 for word in text.lower().split()]) for text in part]
        features.append(nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=NOTHING))
    return features, len(indices) + UNKNOWN + 1


READERS = {"TF-IDF": _tf_idf, "word vectors": _words}


class SparseLinear(nn.Module):
    """A linear function of lists of index and value, where index 0 is padding."""

    def __init__(self, n_places: int, n_classes: int) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(n_places, n_classes, mode="sum", padding_idx=NOTHING)
        self.bias = nn.Parameter(torch.zeros(n_classes))
        nn.init.zeros_(self.bag.weight)

    def forward(self, features: Tensor) -> Tensor:
        indices, values = features.unbind(-1)
        return self.bag(indices.long(), per_sample_weights=values.contiguous()) + self.bias


def model_of(name: str, n_places: int, n_classes: int) -> nn.Module:
    """A linear model of TF-IDF, or the mean of learned word vectors with one hidden layer."""
    if name == "TF-IDF":
        return SparseLinear(n_places, n_classes)
    mean = nn.EmbeddingBag(n_places, WIDTH, mode="mean", padding_idx=NOTHING)
    return nn.Sequential(mean, nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, n_classes))
