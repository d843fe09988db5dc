"""What the networks of Tables 6 and 7 share: sizes, words as numbers, batches, training, and the comparison of losses.

The epoch is chosen on development, as in the paper, for each measure on its own. All losses start from the same weights and
see the same batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from metricfit.training import Trainer
from reproductions._experiment import Numbers
from reproductions.leaky_2019._counts import Classes, Counts, gain_error, percent
from reproductions.leaky_2019._protocol import adam

METHODS = ("NegLog", "LEErr")
N_FOLDS = 5
POOL, JUDGED = 400, 256  # batches that are sorted by length together; sentences in a batch that is only judged

T = TypeVar("T")
Example = tuple[Any, Tensor]  # what a module takes for one sentence, and labels
Collate = Callable[[Sequence[Example]], tuple[Any, Tensor]]
Measures = Mapping[str, Callable[[Classes, Classes], Counts]]


@dataclass(frozen=True)
class Size:
    """How large a run is. Rate and dropout are the best on development if there are several."""

    n_dimensions: int
    width: float  # 1: 100 cells
    batch: int
    epochs: int
    patience: int
    rates: tuple[float, ...]
    dropouts: tuple[float, ...]
    vectors: bool = False  # from a file of GloVe
    n_sentences: int | None = None  # of each part; None for all


def fold_of(train: Sequence[T], development: Sequence[T], index: int) -> tuple[list[T], list[T]]:
    """Both parts joined and divided again in their published sizes; every index has other sentences for development.

    >>> fold_of("abcdefgh", "ij", 0)[1] == fold_of("abcdefgh", "ij", 1)[1]
    False
    """
    both = [*train, *development]
    order = np.random.default_rng(0).permutation(len(both)).tolist()
    start, end = index * len(development), (index + 1) * len(development)
    return [both[one] for one in order[:start] + order[end:]], [both[one] for one in order[start:end]]


class SimilarLengths:
    """Sentences of similar length together, because batches of equal length are faster; another order in every epoch."""

    def __init__(self, examples: Sequence[Example], size: int, collate: Collate, seed: int) -> None:
        self.examples, self.size, self.collate = examples, size, collate
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return math.ceil(len(self.examples) / self.size)

    def __iter__(self) -> Iterator[tuple[Any, Tensor]]:
        order, parts = self._shuffled(len(self.examples)), []
        for start in range(0, len(order), POOL * self.size):
            pool = sorted(order[start : start + POOL * self.size], key=lambda index: len(self.examples[index][1]))
            parts += [pool[first : first + self.size] for first in range(0, len(pool), self.size)]
        for part in self._shuffled(len(parts)):
            yield self.collate([self.examples[index] for index in parts[part]])

    def _shuffled(self, n: int) -> list[int]:
        return torch.randperm(n, generator=self.generator).tolist()


@dataclass(frozen=True)
class Task:
    """Examples to train on, to choose the epoch by and to test on; a network, and what it is measured by."""

    train: Sequence[Example]
    development: Sequence[Example]
    test: Sequence[Example]
    build: Callable[[float], nn.Module]  # with this dropout
    collate: Collate
    measures: Measures
    fabric: Fabric


@dataclass(frozen=True)
class Choice:
    """The best epoch on development by one measure."""

    development: float
    epoch: int
    test: Counts


def compare(task: Task, size: Size, seed: int) -> Numbers:
    """The measures on test by every loss, and the standard error over sentences of what LEErr gains over NegLog."""
    found: Numbers = {}
    chosen = {}
    for method in METHODS:
        runs = [train(task, size, seed, method, *options) for options in product(size.rates, size.dropouts)]
        chosen[method] = {name: max((run[name] for run in runs), key=lambda one: one.development) for name in task.measures}
        for name, choice in chosen[method].items():
            found[f"{method}_{name}"] = percent(choice.test)
            found[f"{method}_{name}_development"] = choice.development
            found[f"{method}_{name}_epoch"] = choice.epoch
    for name in task.measures:
        found[f"{name}_sentence_error"] = gain_error(*(chosen[method][name].test for method in METHODS))
    return found


def train(task: Task, size: Size, seed: int, method: str, rate: float, dropout: float) -> dict[str, Choice]:
    """Train until no measure has gained on development for ``size.patience`` epochs, at most for ``size.epochs``."""
    torch.manual_seed(seed)
    trainer = adam(task.build(dropout), method, rate, task.fabric)
    batches = SimilarLengths(task.train, size.batch, task.collate, seed)
    development, test = (Evaluation(part, task.collate) for part in (task.development, task.test))
    best: dict[str, Choice] = {}
    last_gain = 0
    while trainer.epoch < size.epochs and trainer.epoch - last_gain < size.patience:
        trainer.fit(batches, development.batches, epochs=trainer.epoch + 1)
        values = {name: percent(counts) for name, counts in development.counts(trainer, task.measures).items()}
        gained = {name: task.measures[name] for name in values if name not in best or values[name] > best[name].development}
        if gained:
            last_gain = trainer.epoch
            for name, counts in test.counts(trainer, gained).items():
                best[name] = Choice(values[name], trainer.epoch, counts)
    return best


class Evaluation:
    """Sentences in their own order, of which predictions are counted."""

    def __init__(self, examples: Sequence[Example], collate: Collate) -> None:
        self.batches = [collate(examples[start : start + JUDGED]) for start in range(0, len(examples), JUDGED)]
        self.true = [labels.numpy() for _, labels in examples]

    def counts(self, trainer: Trainer, measures: Measures) -> dict[str, Counts]:
        """The counts of each measure. The trainer leaves out padding."""
        scores, _ = trainer.scores_and_labels(self.batches)
        ends = np.cumsum([len(labels) for labels in self.true])[:-1]
        predicted = np.split(scores.argmax(1).cpu().numpy(), ends)
        return {name: measure(predicted, self.true) for name, measure in measures.items()}
