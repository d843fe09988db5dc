"""Rows in shards: what is read, one batch at a time, wherever the shard is looked at.

A pass maps a function over the shards and adds the results. The function sees batches of rows and returns sums, so that a
worker elsewhere sends back as little as one machine keeps.
"""

from __future__ import annotations

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from metricfit._errors import UsageError
from metricfit._typing import Floats, Ints
from metricfit.data import TableSchema
from metricfit.learners._descent import with_ones
from metricfit.shards._files import FilePart
from metricfit.shards._labels import NO_LABEL, Codes

T = TypeVar("T")
Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # as the built-in map: results in the order of the shards
BATCH_CELLS = 2**17  # of a batch of numbers: 1 MB, which stays in a processor's cache


@dataclass(frozen=True)
class Batch:
    """Some rows: features, labels 0 ... k - 1, and the number of the fold that holds each row out."""

    features: Any
    labels: Ints
    folds: Codes

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def with_ones(self) -> Any:
        """Its numbers and a column of ones, which is the intercept's."""
        return with_ones(self.features)


@dataclass(frozen=True)
class Shard(ABC):
    """A part of the rows. ``labels`` and ``folds`` are those of its rows with a label."""

    labels: Codes
    folds: Codes

    @abstractmethod
    def read(self) -> Iterator[Any]:
        """The features of its rows, in order, a batch at a time."""

    def batches(self) -> Iterator[Batch]:
        at = 0
        for features in self.read():
            n = features.shape[0]
            if n:
                yield Batch(features, self.labels[at : at + n].astype(np.int64), self.folds[at : at + n])
            at += n


@dataclass(frozen=True)
class FileShard(Shard):
    """Row groups of a file. Without a ``reader`` its features are tables; the reader makes numbers of them."""

    schema: TableSchema
    part: FilePart
    codes: Codes  # of all of its rows
    reader: Any = None

    def read(self) -> Iterator[Any]:
        tables = self._read_tables()
        if self.reader is None:
            return tables
        forms = set(self.reader.transformers)
        return even_batches(self.reader.read(table, forms) for table in tables)

    def _read_tables(self) -> Iterator[pa.Table]:
        at = 0
        for table in self.part.read_features(self.schema):
            known = self.codes[at : at + table.num_rows] != NO_LABEL
            at += table.num_rows
            table = table if known.all() else table.filter(known)
            if table.num_rows:
                yield table


@dataclass(frozen=True)
class ScratchShard(Shard):
    """Numbers in a temporary file of this machine: reading them is many times faster than decoding Parquet again."""

    path: Path
    n_features: int

    def read(self) -> Iterator[Floats]:
        n_rows = _batch_rows(self.n_features)
        with self.path.open("rb", buffering=0) as file:
            for start in range(0, len(self.labels), n_rows):
                n = min(n_rows, len(self.labels) - start)
                yield np.fromfile(file, np.float64, n * self.n_features).reshape(n, self.n_features)


def even_batches(matrices: Iterable[Any]) -> Iterator[Any]:
    """The rows of dense matrices in the batches of a :class:`ScratchShard`, so that sums have the same bits; sparse ones as
    they are.
    """
    rest: list[Floats] = []
    for matrix in matrices:
        if not isinstance(matrix, np.ndarray):
            yield matrix
            continue
        rows, size = np.concatenate([*rest, matrix]), _batch_rows(matrix.shape[1])
        n_whole = len(rows) // size * size
        yield from (rows[start : start + size] for start in range(0, n_whole, size))
        rest = [rows[n_whole:]]
    yield from (rows for rows in rest if len(rows))


def _batch_rows(n_features: int) -> int:
    return max(1, BATCH_CELLS // n_features)


@dataclass
class Passes:
    """Passes over all shards, counted; ``tell`` is called after each with a line about it."""

    shards: Sequence[Shard]
    map: Map = map
    tell: Callable[[str], None] = lambda line: None
    n_done: int = field(default=0)

    def total(self, look: Callable[[Batch], T], stage: str) -> T:
        """The sum of ``look(batch)`` over all batches; what it returns can be added."""
        return self.total_of_shards(partial(_sum_batches, look), stage)

    def total_of_shards(self, look: Callable[[Iterator[Batch]], T], stage: str) -> T:
        """The sum of ``look(batches)`` over all shards, for large results, which are added less often."""
        return reduce(
            _add, (part for part in self._each(partial(_look_at_shard, look), self.shards, stage) if part is not None)
        )

    def each(self, look: Callable[[Batch], Floats], stage: str) -> Iterator[Floats]:
        """``look(batch)`` of all rows, in order, a shard at a time; one row of it per row."""
        return (part for part in self._each(partial(_stack_shard, look), self.shards, stage) if part is not None)

    def _each(self, look: Callable[[Any], Any], items: Iterable[Any], stage: str) -> Iterator[Any]:
        begin = time.monotonic()
        yield from self.map(look, items)
        self.n_done += 1
        self.tell(f"Pass {self.n_done}: {stage}, {time.monotonic() - begin:.1f} s.")

    def on_scratch(self, folder: Path, stage: str) -> Passes:
        """The same shards with their features in files of this machine."""
        names = [folder / f"rows-{place}" for place in range(len(self.shards))]
        moved = list(self._each(_copy_shard, list(zip(self.shards, names, strict=True)), stage))
        return replace(self, shards=moved)


def _look_at_shard(look: Callable[[Iterator[Batch]], Any], shard: Shard) -> Any:
    return look(shard.batches())


def _sum_batches(look: Callable[[Batch], Any], batches: Iterator[Batch]) -> Any:
    result = None
    for batch in batches:
        found = look(batch)
        result = found if result is None else _add(result, found)
    return result


def _add(one: Any, other: Any) -> Any:
    """The sum of numbers, arrays or Counters, or of lists, tuples and dictionaries of these."""
    if isinstance(one, list | tuple):
        return type(one)(_add(*pair) for pair in zip(one, other, strict=True))
    return one + other


def _stack_shard(look: Callable[[Batch], Floats], shard: Shard) -> Floats | None:
    found = [look(batch) for batch in shard.batches()]
    return np.concatenate(found) if found else None


def _copy_shard(item: tuple[Shard, Path]) -> ScratchShard:
    (shard, path), n_features = item, 1
    try:
        with path.open("wb", buffering=0) as file:
            for batch in shard.batches():
                n_features = batch.features.shape[1]
                np.ascontiguousarray(batch.features).tofile(file)
    except OSError as error:
        raise UsageError(
            f"--scratch {path.parent.parent} cannot be written by who reads the shard {path.name}: {error.strerror or error}. "
            "Pass a folder with more space, which all workers see."
        ) from error
    return ScratchShard(shard.labels, shard.folds, path, n_features)


def free_bytes(folder: str | Path) -> int:
    """Free space where the folder is."""
    return shutil.disk_usage(folder).free
