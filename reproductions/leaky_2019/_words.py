"""Words as numbers. Their vectors start from GloVe, 300-dimensional in the paper and 100-dimensional in the scaled run.

A word that GloVe lacks as it is written starts from the vector of its lower case, because GloVe 6B has only lower case. The
two are then trained separately, because capitals matter for names. A word that GloVe lacks altogether and training has less
than twice is replaced by its shape, such as Xx for Aspen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from reproductions.lab.datasets import Vocabulary, first_existing, read_vectors
from reproductions.lab.networks import Tagger, TreeTagger
from reproductions.leaky_2019._networks import Size
from reproductions.leaky_2019._protocol import by_xavier

MIN_COUNT = 2
# GloVe's files by the number of dimensions. The paper does not say which file of 300 dimensions it took
VECTORS = {
    100: ("glove-100d/glove-100d-subset.npz", "glove/glove.6B.100d.txt"),
    300: ("glove/glove.840B.300d.txt",),
}
FETCH = "Fetch GloVe's vectors (nlp.stanford.edu/projects/glove) and name the folder above it by --data or METRICFIT_DATA."


def shape(word: str) -> str:
    """Letters and digits by their kind, repetitions left out.

    >>> shape("McDonald's"), shape("1,250"), shape("@NASA")
    ("XxXx'x", 'd,d', '@X')
    """
    kinds = re.sub(r"\d", "d", re.sub(r"[^\W\d_]", lambda letter: "X" if letter.group().isupper() else "x", word))
    return re.sub(r"(.)\1+", r"\1", kinds)


@dataclass(frozen=True)
class Words:
    """A number for each known word, a shared number for other words of the same shape, and the vectors that are known."""

    known: frozenset[str]
    vocabulary: Vocabulary
    vectors: Mapping[str, Tensor]

    def numbers(self, words: Iterable[str]) -> Tensor:
        return self.vocabulary.numbers(spell(words, self.known))

    def fill(self, module: Tagger | TreeTagger) -> nn.Module:
        """Xavier's weights, and the known vectors in their rows of the embedding."""
        by_xavier(module)
        if self.vectors:
            with torch.no_grad():
                module.embedding.weight[self.vocabulary.numbers(self.vectors)] = torch.stack([*self.vectors.values()])
        return module


def spell(words: Iterable[str], known: Collection[str]) -> list[str]:
    return [word if word in known else shape(word) for word in words]


def learn_words(train: Sequence[Sequence[str]], others: Sequence[Sequence[str]], data: Path, size: Size) -> Words:
    """The words that occur at least twice in training and, with vectors, the words of all parts that have one."""
    counts = Counter(word for sentence in train for word in sentence)
    frequent = {word for word, count in counts.items() if count >= MIN_COUNT}
    if not size.vectors:
        return Words(frozenset(frequent), Vocabulary.of([spell(words, frequent) for words in train], MIN_COUNT), {})
    vectors = find_vectors({*counts, *(word for sentence in others for word in sentence)}, data, size.n_dimensions)
    known = frozenset(frequent | vectors.keys())
    return Words(known, Vocabulary.of([*(spell(words, known) for words in train), list(vectors)]), vectors)


def find_vectors(words: Collection[str], data: Path, n_dimensions: int) -> dict[str, Tensor]:
    """The vector of each word as it is written or, where the file has none, of the word in lower case."""
    file = first_existing(data, VECTORS[n_dimensions], FETCH)
    found = read_vectors(file, {spelling for word in words for spelling in (word, word.lower())}, n_dimensions)
    spelled = {word: word if word in found else word.lower() for word in words}
    return {word: found[spelling] for word, spelling in spelled.items() if spelling in found}
