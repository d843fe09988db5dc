"""Scores of all rows in temporary files, and what is decided from them: offsets, the guard's counts, the temperature.

For two classes a file has one number per row, the score of class 1 less that of class 0. Offsets are found by sorting it in
memory: about 25 bytes per row. For more classes the scores of all rows are held in memory while offsets are tuned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from metricfit._errors import UsageError
from metricfit._typing import Floats, Ints
from metricfit.decisions import Guard, best_temperature, cross_entropy, fit_cut, fit_offsets
from metricfit.learners import LinearModel
from metricfit.learners._linear_model import spread_columns
from metricfit.metrics import Metric
from metricfit.shards._labels import Codes
from metricfit.shards._rows import Batch

BLOCK_ROWS = 2**18


@dataclass(frozen=True)
class Scorer:
    """The columns of scores (n, m) of several models side by side."""

    models: Sequence[LinearModel]

    def __call__(self, batch: Batch) -> Floats:
        weight = np.hstack([model.weight for model in self.models])
        return np.asarray(batch.features @ weight) + np.concatenate([model.intercept for model in self.models])


@dataclass(frozen=True)
class HeldOutScorer:
    """The columns of scores (n, m) of each row by the model whose fold holds it out."""

    models: Sequence[LinearModel]

    def __call__(self, batch: Batch) -> Floats:
        scores = Scorer(self.models)(batch).reshape(len(batch), len(self.models), -1)
        return scores[np.arange(len(batch)), batch.folds]


@dataclass(frozen=True)
class EveryScorer:
    """The columns of all models, of which the first hold a fold out each, and then those of the held-out rows."""

    models: Sequence[LinearModel]
    n_folds: int

    def __call__(self, batch: Batch) -> Floats:
        return np.hstack([Scorer(self.models)(batch), HeldOutScorer(self.models[: self.n_folds])(batch)])


@dataclass(frozen=True)
class HeldOutLoss:
    """The sums of held-out cross-entropy of several settings: ``settings[s][f]`` is the model of setting s and fold f."""

    settings: Sequence[Sequence[LinearModel]]
    class_weight: Floats

    def __call__(self, batch: Batch) -> Floats:
        weight = self.class_weight[batch.labels]
        scores = (spread_columns(HeldOutScorer(models)(batch)) for models in self.settings)
        return np.array([cross_entropy(one, batch.labels, weight) for one in scores]) * weight.sum()


@dataclass(frozen=True)
class Scratch:
    """Columns of scores of all rows in files of a folder."""

    folder: Path
    labels: Codes  # of all rows
    folds: Codes
    n_classes: int

    @property
    def n_columns(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def write(self, names: Sequence[str], parts: Iterable[Floats]) -> None:
        """``parts`` have the columns of several files side by side."""
        files = [(self.folder / name).open("wb") for name in names]
        try:
            for part in parts:
                for file, own in zip(files, np.split(part, len(names), axis=1), strict=True):
                    self._append(file, own)
        finally:
            for file in files:
                with suppress(OSError):  # what a full disk did not take is tried again
                    file.close()

    def _append(self, file: BinaryIO, columns: Floats) -> None:
        try:
            file.write(np.ascontiguousarray(columns).data)
            file.flush()
        except OSError as error:
            raise UsageError(
                f"--scratch {self.folder.parent} cannot be written with scores of the rows: {error.strerror or error}. "
                "Pass a folder with more space."
            ) from error

    def blocks(self, name: str) -> Iterator[tuple[slice, Floats]]:
        """Where the rows stand, and their columns of scores."""
        with (self.folder / name).open("rb") as file:
            for start in range(0, len(self.labels), BLOCK_ROWS):
                n = min(BLOCK_ROWS, len(self.labels) - start)
                yield slice(start, start + n), np.fromfile(file, np.float64, n * self.n_columns).reshape(n, -1)

    def fit_offsets(self, name: str, metric: Metric, without: int) -> Floats:
        """The best offsets for the rows that the fold ``without`` does not hold out."""
        if self.n_classes > 2:
            kept = self.folds != without
            scores = np.concatenate([columns[kept[place]] for place, columns in self.blocks(name)])
            return fit_offsets(scores, self.labels[kept].astype(np.int64), metric, np.ones(len(scores)))
        thresholds, filled = [np.empty(n) for n in self._count(without)], [0, 0]
        for place, columns in self.blocks(name):
            for label in (0, 1):
                own = -columns[(self.labels[place] == label) & (self.folds[place] != without), 0]
                thresholds[label][filled[label] : filled[label] + len(own)] = own
                filled[label] += len(own)
        return fit_cut(thresholds, metric)

    def _count(self, without: int) -> list[int]:
        counts = np.zeros(2, np.int64)
        for start in range(0, len(self.labels), BLOCK_ROWS):
            place = slice(start, start + BLOCK_ROWS)
            counts += np.bincount(self.labels[place][self.folds[place] != without], minlength=2)
        return counts.tolist()

    def guard(self, decisions: Mapping[str, tuple[str, Floats]], metric: Metric) -> tuple[Guard, dict[str, Ints]]:
        """A guard, and the predictions of all candidates, for the different outcomes of a row; weights are their numbers.

        A decision is a file of scores, and offsets by fold, (f, k).
        """
        outcomes, shape = Counter[int](), (self.n_classes,) * (1 + len(decisions))
        readers = [self.blocks(file) for file, _ in decisions.values()]
        for blocks in zip(*readers, strict=True):
            place = blocks[0][0]
            found = [self.labels[place].astype(np.int64)]
            for (_, columns), (_, offsets) in zip(blocks, decisions.values(), strict=True):
                found.append((spread_columns(columns) + offsets[self.folds[place]]).argmax(1))
            cells, counts = np.unique(np.ravel_multi_index(found, shape), return_counts=True)
            outcomes.update(dict(zip(cells.tolist(), counts.tolist(), strict=True)))
        rows = np.stack(np.unravel_index(np.array(list(outcomes)), shape), 1)
        weight = np.array(list(outcomes.values()), np.float64)
        predictions = {name: rows[:, place] for place, name in enumerate(decisions, 1)}
        return Guard(rows[:, 0], weight, self.n_classes, metric), predictions

    def fit_temperature(self, name: str, class_weight: Floats) -> float:
        def loss(temperature: float) -> float:
            total = weights = 0.0
            for place, columns in self.blocks(name):
                labels = self.labels[place].astype(np.int64)
                weight = class_weight[labels]
                own = float(weight.sum())
                total += own * cross_entropy(spread_columns(columns) / temperature, labels, weight)
                weights += own
            return total / weights

        return best_temperature(loss)
