"""Words as numbers. The paper has 300-dimensional GloVe vectors; the scaled run has none, and learns its own.

Without vectors, a word that is seen less than twice in training is replaced by its shape, such as Xx for Aspen, so that
something is known about it: WNUT-17 was made of names that training does not have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from metricfit._errors import DataError
from metricfit.datasets import Vocabulary, read_vectors
from metricfit.models import Tagger, TreeTagger
from reproductions.leaky_2019._networks import Size
from reproductions.leaky_2019._protocol import by_xavier

MIN_COUNT = 2
VECTORS = "glove/glove.840B.300d.txt"  # the paper does not say which of GloVe's files it took


def shape(word: str) -> str:
    """Letters and digits by their kind, repetitions left out.

    >>> shape("McDonald's"), shape("1,250"), shape("@NASA")
    ("XxXx'x", 'd,d', '@X')
    """
    kinds = re.sub(r"\d", "d", re.sub(r"[^\W\d_]", lambda letter: "X" if letter.group().isupper() else "x", word))
    return re.sub(r"(.)\1+", r"\1", kinds)


@dataclass(frozen=True)
class Words:
    """The words that have a number of their own, others by their shape; and known vectors."""

    known: frozenset[str]
    vocabulary: Vocabulary
    vectors: Mapping[str, Tensor]

    @classmethod
    def of(
        cls, sentences: Iterable[Sequence[str]], known: Iterable[str], vectors: Mapping[str, Tensor], min_count: int
    ) -> Words:
        own = frozenset(known)
        return cls(own, Vocabulary.of([spell(words, own) for words in sentences], min_count), vectors)

    def numbers(self, words: Iterable[str]) -> Tensor:
        return self.vocabulary.numbers(spell(words, self.known))

    def fill(self, module: Tagger | TreeTagger) -> nn.Module:
        """Xavier's weights, and the known vectors in their places."""
        by_xavier(module)
        with torch.no_grad():
            for word, vector in self.vectors.items():
                module.embedding.weight[self.vocabulary.number(word)] = vector
        return module


def spell(words: Iterable[str], known: Collection[str]) -> list[str]:
    return [word if word in known else shape(word) for word in words]


def learn_words(train: Sequence[Sequence[str]], others: Sequence[Sequence[str]], data: Path, size: Size) -> Words:
    """Without vectors: the words of training. With vectors: the words of all parts that have one."""
    if not size.vectors:
        counts = Counter(word for sentence in train for word in sentence)
        return Words.of(train, (word for word, count in counts.items() if count >= MIN_COUNT), {}, MIN_COUNT)
    if not (data / VECTORS).exists():
        raise DataError(
            f"{data / VECTORS} is missing, and the paper's size needs it. Fetch it from nlp.stanford.edu/projects/glove, "
            "and name the folder above it by --data or METRICFIT_DATA."
        )
    sentences = [*train, *others]
    vectors = read_vectors(data / VECTORS, {word for sentence in sentences for word in sentence}, size.n_dimensions)
    return Words.of(sentences, vectors, vectors, 1)
