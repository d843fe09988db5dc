"""Numbers for words, and sentences of unequal lengths in one batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

PADDING, UNKNOWN = 0, 1  # the numbers before the words
IGNORED = -100  # the label of padding: the losses' default ``ignore_index``


@dataclass(frozen=True)
class Vocabulary:
    """A number for each word: 0 is padding, 1 is any unknown word, then the most frequent word, and so on.

    >>> known = Vocabulary.of([["to", "be", "or", "not", "to", "be"]], min_count=2)
    >>> len(known), known.numbers(["be", "or", "to"])
    (4, tensor([2, 1, 3]))
    """

    index: Mapping[str, int]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], min_count: int = 1) -> Vocabulary:
        """The words that occur at least ``min_count`` times; those of equal frequency are in alphabetical order."""
        counts = Counter(word for sentence in sentences for word in sentence)
        words = sorted((word for word, count in counts.items() if count >= min_count), key=lambda word: (-counts[word], word))
        return cls({word: number for number, word in enumerate(words, UNKNOWN + 1)})

    def __len__(self) -> int:
        """How many numbers there are, with those of padding and unknown words."""
        return len(self.index) + UNKNOWN + 1

    def number(self, word: str) -> int:
        return self.index.get(word, UNKNOWN)

    def numbers(self, words: Iterable[str]) -> Tensor:
        return torch.tensor([self.number(word) for word in words], dtype=torch.int64)


def pad_sentences(examples: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """A batch from the word numbers and labels of some sentences: words (n, length), labels (n · length,).

    Padding has the word 0 and the label -100. :class:`reproductions.lab.networks.Tagger` gives one row of scores per label. A
    ``DataLoader`` takes this function as its ``collate_fn``.

    >>> words, labels = pad_sentences([(torch.tensor([5, 6]), torch.tensor([0, 1])), (torch.tensor([7]), torch.tensor([2]))])
    >>> words.tolist(), labels.tolist()
    ([[5, 6], [7, 0]], [0, 1, 2, -100])
    """
    words, labels = map(list, zip(*examples, strict=True))
    padded = pad_sequence(words, batch_first=True, padding_value=PADDING)
    return padded, pad_sequence(labels, batch_first=True, padding_value=IGNORED).flatten()
