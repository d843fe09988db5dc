"""The rows that a model is trained on, in memory or in blocks of files, the forms in which learners read them, and folds."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from metricfit._parallel import parallel, runs_here
from metricfit._threads import single_threaded
from metricfit._typing import Floats, Ints

MATRIX = "matrix"  # numbers without gaps: imputed, scaled, a column per category; dense or sparse
COLUMNS = "columns"  # numbers as they are, NaN where they are missing; codes of categories come first
GIVEN = "given"  # the user's own table
BATCH_CELLS = 2**18  # of a dense matrix: 2 MB, which stay in a processor's cache
MOST_SCORED = 2**21  # rows that offsets are tuned on and models are judged by, evenly spaced where there are more
MOST_SCORES = 2**23  # of these rows: 64 MB, and a few copies


class Forms:
    """The same rows in several forms. A form is made on demand, and only the last one is kept, to save memory."""

    def __init__(self, make: Callable[[str], Any], n_categories: int = 0) -> None:
        self._make, self._last = make, ("", None)
        self.n_categories = n_categories  # how many of the first of COLUMNS are codes

    def read(self, name: str) -> Any:
        if self._last[0] != name:
            self._last = "", None
            self._last = name, self._make(name)
        return self._last[1]


class Block(ABC):
    """Consecutive rows of files, small enough to send elsewhere: it knows where its features are."""

    n_rows: int

    @abstractmethod
    def read(self) -> Iterator[Any]:
        """Its features, as matrices of some rows each, in order."""


@dataclass(frozen=True)
class ScratchBlock(Block):
    """Numbers in temporary files: reading them is many times faster than decoding Parquet again."""

    n_rows: int
    n_features: int
    paths: tuple[Path, ...]

    @classmethod
    def write(cls, block: Block, folder: Path, name: str) -> ScratchBlock:
        """The rows of another block as files of the folder."""
        paths, n_features = list[Path](), 0
        for matrix in block.read():
            n_features = matrix.shape[1]
            paths.append(folder / f"{name}-{len(paths)}")
            with paths[-1].open("wb") as file:
                for values in arrays_of(matrix):
                    np.save(file, values)
        return cls(block.n_rows, n_features, tuple(paths))

    def read(self) -> Iterator[Any]:
        for path in self.paths:
            with path.open("rb") as file:
                values = np.load(file)
                if values.ndim == 1:  # of a sparse matrix
                    indices, starts = np.load(file), np.load(file)
                    values = csr_array((values, indices, starts), (len(starts) - 1, self.n_features))
            yield values


def arrays_of(matrix: Any) -> list[NDArray[Any]]:
    """A dense matrix itself, or the three arrays of a sparse one (CSR)."""
    return [np.ascontiguousarray(matrix)] if isinstance(matrix, np.ndarray) else [matrix.data, matrix.indices, matrix.indptr]


def _pieces(matrix: Any) -> Iterator[Any]:
    """A dense matrix a few rows at a time."""
    n_rows = max(1, BATCH_CELLS // max(1, matrix.shape[1]) if isinstance(matrix, np.ndarray) else matrix.shape[0])
    return (matrix[begin : begin + n_rows] for begin in range(0, matrix.shape[0], n_rows))


@dataclass(frozen=True)
class Blocks:
    """Features that do not fit in memory: they are read block by block, ``n_jobs`` at a time."""

    blocks: Sequence[Block]
    used: Sequence[NDArray[np.bool_]]  # the rows of each block that count
    n_features: int
    n_jobs: int | None = None

    @classmethod
    def of(cls, blocks: Sequence[Block], n_features: int, n_jobs: int | None = None) -> Blocks:
        return cls(blocks, [np.ones(block.n_rows, np.bool_) for block in blocks], n_features, n_jobs)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.ends[-1]), self.n_features

    @cached_property
    def ends(self) -> Ints:
        """Where each block begins among the rows, and where the last one ends."""
        return np.cumsum([0, *(int(used.sum()) for used in self.used)])

    def take(self, index: Ints) -> Blocks:
        """Some of the rows; ``index`` is in rising order."""
        cuts, chosen = np.searchsorted(index, self.ends), []
        for used, begin, (first, last) in zip(self.used, self.ends[:-1], pairwise(cuts), strict=True):
            chosen.append(np.zeros_like(used))
            chosen[-1][np.flatnonzero(used)[index[first:last] - begin]] = True
        return replace(self, used=chosen)

    def block(self, index: int) -> Blocks:
        """One of the blocks alone."""
        return replace(self, blocks=self.blocks[index : index + 1], used=self.used[index : index + 1])

    def matrices(self) -> Iterator[Any]:
        """The features of the rows that count, a few rows at a time."""
        for block, used in zip(self.blocks, self.used, strict=True):
            end = 0
            for matrix in chain.from_iterable(map(_pieces, block.read())) if used.any() else ():
                begin, end = end, end + matrix.shape[0]
                own = used[begin:end]
                yield matrix if own.all() else matrix[own]


@dataclass(frozen=True)
class TrainingRows:
    """Features (dense, sparse or in blocks), labels 0 ... k - 1, weights of rows, and weights of classes in cross-entropy.

    Rows in blocks have labels and weights of few bytes; :meth:`batches` has the usual ones.
    """

    features: Any
    labels: Any
    weight: Any
    class_weight: Floats
    n_categories: int = 0  # how many of the first features are codes of categories
    whole: float | None = None  # training weight of all rows, where these are a batch of them

    @property
    def n_classes(self) -> int:
        return len(self.class_weight)

    @cached_property
    def in_blocks(self) -> bool:
        return isinstance(self.features, Blocks)

    @cached_property
    def training_weight(self) -> Floats:
        """How much each row counts in cross-entropy; in the metric it counts by ``weight``."""
        return self.weight * self.class_weight[self.labels]

    @cached_property
    def total_weight(self) -> float:
        """The training weight of all rows."""
        if self.whole is not None:
            return self.whole
        if self.in_blocks:  # rows of files count alike
            return float(np.bincount(self.labels, minlength=self.n_classes) @ self.class_weight)
        return float(self.training_weight.sum())

    @cached_property
    def shares(self) -> Floats:
        """The share of each row in the mean of cross-entropy."""
        return self.training_weight / self.total_weight

    def check_classes(self) -> None:
        """Raise a ValueError for the training rows of a fold that have one class."""
        if len(np.unique(self.labels)) < 2:
            raise ValueError("`cv` should leave at least two classes in every training fold, got one class.")

    def take(self, index: Ints) -> TrainingRows:
        return replace(self, features=take_rows(self.features, index), labels=self.labels[index], weight=self.weight[index])

    def spread(self) -> TrainingRows:
        """All rows, or evenly spaced ones if there are more than offsets and a temperature need."""
        n_rows, most = len(self.labels), most_scored_rows(self.n_classes)
        return (self if n_rows <= most else self.take(spread_rows(n_rows, most))).in_full()

    def in_form(self, name: str) -> TrainingRows:
        """The rows with features in one form."""
        if not isinstance(self.features, Forms):
            return self
        return replace(self, features=self.features.read(name), n_categories=self.features.n_categories)

    def batches(self) -> Iterator[TrainingRows]:
        """The rows in memory, a few at a time if they are in blocks."""
        if not self.in_blocks:
            yield self
            return
        end = 0
        for matrix in self.features.matrices():
            begin, end = end, end + matrix.shape[0]
            if end > begin:
                yield self._batch(matrix, slice(begin, end))

    def in_full(self) -> TrainingRows:
        """With labels and weights of eight bytes."""
        return replace(
            self, labels=self.labels.astype(np.int64, copy=False), weight=self.weight.astype(np.float64, copy=False)
        )

    def no_rows(self) -> TrainingRows:
        """A batch without rows."""
        return self._batch(np.empty((0, self.features.shape[1])), slice(0))

    def _batch(self, features: Any, rows: slice) -> TrainingRows:
        return self._part(features, rows).in_full()

    def _part(self, features: Any, rows: slice) -> TrainingRows:
        return replace(self, features=features, labels=self.labels[rows], weight=self.weight[rows], whole=self.total_weight)

    def parts(self) -> list[TrainingRows]:
        """The rows of each block, still to be read."""
        cuts = enumerate(pairwise(self.features.ends))
        return [self._part(self.features.block(index), slice(begin, end)) for index, (begin, end) in cuts]

    def over_blocks(self, look: Callable[[TrainingRows], Any]) -> Iterator[Any]:
        """``look`` of every block, in order; some run at the same time."""
        if runs_here(self.features.n_jobs):  # where the fit has limited the threads
            return map(look, self.parts())
        return parallel(_look, look, [(part,) for part in self.parts()], self.features.n_jobs)

    def total(self, look: Callable[[TrainingRows], Any]) -> Any:
        """The sum of ``look`` over the batches, whatever it returns: numbers, arrays, or tuples and lists of these."""
        if not self.in_blocks:
            return look(self)
        return reduce(_add, self.over_blocks(partial(_sum_of_batches, look)), None)

    def logits(self, model: Any) -> Floats:
        """The scores (n, k) of all rows."""
        if not self.in_blocks:
            return model.logits(self.features)
        return np.concatenate(list(self.over_blocks(partial(_logits_of_batches, model))))


def _sum_of_batches(look: Callable[[TrainingRows], Any], rows: TrainingRows) -> Any:
    return reduce(_add, map(look, rows.batches()), None)


def _logits_of_batches(model: Any, rows: TrainingRows) -> Floats:
    scores = (model.logits(batch.features) for batch in rows.batches())
    return np.concatenate([np.empty((0, rows.n_classes)), *scores])


def _look(look: Callable[[TrainingRows], Any], rows: TrainingRows) -> Any:
    with single_threaded():
        return look(rows)


def _add(one: Any, other: Any) -> Any:
    """The sum; None is that of no rows."""
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, list | tuple):
        return type(one)(_add(*pair) for pair in zip(one, other, strict=True))
    return one + other


def take_rows(features: Any, index: Any) -> Any:
    """Rows of a matrix or of a DataFrame."""
    if isinstance(features, Blocks):
        return features.take(index)
    if isinstance(features, np.ndarray) or hasattr(features, "tocsr"):
        return features[index]
    return _safe_indexing(features, index)


def spread_rows(n_rows: int, most: int) -> Ints:
    """At most so many row numbers, evenly spaced.

    >>> spread_rows(10, 4).tolist()
    [0, 3, 6, 9]
    """
    return np.arange(n_rows) if n_rows <= most else np.linspace(0, n_rows - 1, most).astype(np.int64)


def most_scored_rows(n_classes: int) -> int:
    return min(MOST_SCORED, MOST_SCORES // n_classes)


@dataclass(frozen=True)
class FoldSplits(Sequence[tuple[Ints, Ints]]):
    """Training and test rows of folds, from the number of the fold that holds each row out: a byte or two per row."""

    numbers: NDArray[np.integer[Any]]
    n_folds: int

    def __len__(self) -> int:
        return self.n_folds

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[one] for one in range(self.n_folds)[index]]
        fold = range(self.n_folds)[index]
        return np.flatnonzero(self.numbers != fold), np.flatnonzero(self.numbers == fold)


def count_folds(n_folds: int, labels: NDArray[np.integer[Any]]) -> int:
    """How many folds leave two classes in each: at most so many, and 0 for too few rows."""
    n_folds = min(n_folds, int(np.sort(np.bincount(labels, minlength=2))[-2]))
    return n_folds if n_folds >= 2 else 0


def stratified_folds(labels: NDArray[np.integer[Any]], n_folds: int, seed: int, warn: bool = False) -> FoldSplits:
    """Shuffled folds; ``warn`` if a class has fewer rows than there are folds."""
    numbers = np.empty(len(labels), np.min_scalar_type(n_folds))
    with warnings.catch_warnings():
        if not warn:
            warnings.filterwarnings("ignore", "The least populated class")
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        for fold, (_, test) in enumerate(splitter.split(np.empty((len(labels), 0)), labels)):
            numbers[test] = fold
    return FoldSplits(numbers, n_folds)
