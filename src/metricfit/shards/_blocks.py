"""Rows of Parquet files as blocks for the learners: decoded in each pass, or kept as numbers in a scratch folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from metricfit._errors import UsageError
from metricfit._parallel import parallel
from metricfit._typing import Ints
from metricfit.data import TableSchema
from metricfit.learners import Block, ScratchBlock, arrays_of
from metricfit.shards._files import FilePart


@dataclass(frozen=True)
class ParquetBlock(Block):
    """The rows with a label of some row groups. ``reader``, once it is fitted, makes numbers of them in each pass."""

    part: FilePart
    schema: TableSchema
    labelled: NDArray[np.bool_]
    reader: Any = None
    form: str = ""

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return int(self.labelled.sum())

    def tables(self) -> Iterator[pa.Table]:
        """The columns as they are, some rows at a time."""
        end = 0
        for table in self.part.read_features(self.schema):
            begin, end = end, end + table.num_rows
            own = self.labelled[begin:end]
            table = table if own.all() else table.filter(own)
            if table.num_rows:
                yield table

    def read(self) -> Iterator[Any]:
        return (self.reader.read(table, {self.form}) for table in self.tables())


def read_rows(blocks: Sequence[ParquetBlock], index: Ints, n_jobs: int | None) -> pa.Table:
    """The rows of these numbers, in rising order, as a table."""
    cuts = np.cumsum([0, *(block.n_rows for block in blocks)])
    items = []
    for block, begin, end in zip(blocks, cuts[:-1], cuts[1:], strict=True):
        own = index[np.searchsorted(index, begin) : np.searchsorted(index, end)] - begin
        if len(own):
            items.append((block, own))
    tables = [table for found in parallel(_rows_of, None, items, n_jobs) for table in found]
    kinds = {name: {table.schema.field(name).type for table in tables} for name in tables[0].column_names}
    moment = pa.timestamp("us")  # one file may have days, another one moments
    schema = pa.schema({name: next(iter(found)) if len(found) == 1 else moment for name, found in kinds.items()})
    return pa.concat_tables(table.cast(schema) for table in tables)


def _rows_of(_: None, block: ParquetBlock, index: Ints) -> list[pa.Table]:
    found, end = [], 0
    for table in block.tables():
        begin, end = end, end + table.num_rows
        found.append(table.take(index[(index >= begin) & (index < end)] - begin))
    return found


def write_blocks(blocks: Sequence[ParquetBlock], folder: Path, n_jobs: int | None) -> list[ScratchBlock]:
    """The same rows as numbers in files of the folder."""
    return list(parallel(_write, folder, list(enumerate(blocks)), n_jobs))


def _write(folder: Path, number: int, block: ParquetBlock) -> ScratchBlock:
    try:
        return ScratchBlock.write(block, folder, f"rows-{number}")
    except OSError as error:
        raise UsageError(
            f"--scratch {folder.parent} cannot be written: {error.strerror or error}. Pass a folder with more space that all "
            "workers see."
        ) from error


def fits_on_disk(folder: Path, some: Any, n_rows: int) -> bool:
    """Whether there is twice the space for so many rows like these."""
    return 2 * sum(values.nbytes for values in arrays_of(some)) * n_rows <= free_bytes(folder) * some.shape[0]


def free_bytes(folder: str | Path) -> int:
    return shutil.disk_usage(folder).free
