"""Read the columns of a file of any format, whole or in chunks, with unchanged values. CSV cells are text."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from metricfit.data._arff import csv_lines
from metricfit.data._layout import Layout
from metricfit.data._objects import column_of, read_objects, read_sheet
from metricfit.data._sniff import WHITESPACE, single_spaces
from metricfit.data._source import open_bytes, open_text

CHUNK_BYTES, CHUNK_LINES = 2**22, 1000
CHUNK_ROWS, CHUNK_CELLS = 2**15, 2**20
TEXTS = ("csv", "arff")  # formats that Arrow reads as CSV

Ragged = dict[int, str]  # rows of a chunk with too many or too few cells, each with a description


def read_whole(path: Path, layout: Layout, positions: Sequence[int]) -> pa.Table:
    """The columns at these positions, in this order and with their names."""
    if layout.format in TEXTS:
        with _open_csv(path, layout) as file:
            columns = csv.read_csv(file, *_csv_options(layout, positions)).columns
    elif layout.format == "parquet":
        with parquet.ParquetFile(path) as file:
            names = [layout.raw_names[position] for position in positions]
            columns = file.read(columns=names).select(names).columns
    elif layout.format == "excel":
        rows = read_sheet(path).rows[int(layout.header) :]
        columns = [column_of([row[position] for row in rows]) for position in positions]
    else:
        columns = read_objects(path, layout.compressed, layout.encoding, [layout.raw_names[index] for index in positions])
    return pa.table(columns, names=[layout.names[position] for position in positions])


def read_batches(
    path: Path, layout: Layout, positions: Sequence[int], skip_ragged: bool = False, groups: Sequence[int] | None = None
) -> Iterator[tuple[pa.Table, Ragged]]:
    """Read in chunks of rows. With ``skip_ragged``, all values of a CSV row with too many or too few cells are missing.

    ``groups`` are the row groups of a Parquet file to read; by default all. Excel and JSON files are read as a whole.
    """
    if layout.format in TEXTS:
        yield from _read_csv_batches(path, layout, positions, skip_ragged)
    elif layout.format == "parquet":
        names = [layout.raw_names[position] for position in positions]
        n_rows = max(1, min(CHUNK_ROWS, CHUNK_CELLS // max(1, len(names))))
        # by default Arrow keeps all row groups that it has read
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**16) as file:
            for batch in file.iter_batches(n_rows, groups, names):
                yield pa.table(batch).select(names), {}
    else:
        table = read_whole(path, layout, positions)
        for start in range(0, table.num_rows, CHUNK_ROWS):
            yield table.slice(start, CHUNK_ROWS), {}


def _read_csv_batches(path: Path, layout: Layout, positions: Sequence[int], skip: bool) -> Iterator[tuple[pa.Table, Ragged]]:
    skipped: deque[Any] = deque()

    def remember(row: Any) -> str:
        skipped.append(row)
        return "skip"

    options = _csv_options(layout, positions)
    if skip:
        options[1].invalid_row_handler = remember
    with _open_csv(path, layout) as file, csv.open_csv(file, *options) as batches:
        next_row = layout.first_row
        for batch in chain(batches, [batches.schema.empty_table()]):  # the last for rows that were skipped at the end
            chunk, ragged = _insert_rows(pa.table(batch), next_row, skipped)
            if chunk.num_rows:
                yield chunk, ragged
            next_row += chunk.num_rows


def _insert_rows(table: pa.Table, next_row: int, skipped: deque[Any]) -> tuple[pa.Table, Ragged]:
    """Insert empty rows where rows were skipped, and remove these from the queue."""
    indices: list[int | None] = list(range(table.num_rows)) if skipped else []
    ragged: Ragged = {}
    while skipped and skipped[0].number - next_row <= len(indices):
        row = skipped.popleft()
        index = row.number - next_row
        indices.insert(index, None)
        ragged[index] = f"has {row.actual_columns} cells, expected {row.expected_columns} as in the first row"
    return table.take(pa.array(indices, pa.int64())) if ragged else table, ragged


@contextmanager
def _open_csv(path: Path, layout: Layout) -> Iterator[Any]:
    """The bytes of a CSV file. ARFF and aligned columns are rewritten as CSV in UTF-8."""
    rewrite = _rewriter(layout)
    if rewrite is None:
        with open_bytes(path, layout.compressed) as file:
            yield file
    else:
        with open_text(path, layout.compressed, layout.encoding) as text:
            yield io.BufferedReader(_LineBytes(rewrite(text)), CHUNK_BYTES)


def _rewriter(layout: Layout) -> Callable[[Iterable[str]], Iterator[str]] | None:
    if layout.format == "arff":
        return csv_lines
    return single_spaces if layout.delimiter == WHITESPACE else None


class _LineBytes(io.RawIOBase):
    """Lines of text as a file of bytes."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines, self.rest = lines, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.rest = self.rest or "".join(islice(self.lines, CHUNK_LINES)).encode()
        size = min(len(buffer), len(self.rest))
        buffer[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def _csv_options(layout: Layout, positions: Sequence[int]) -> tuple[Any, Any, Any]:
    """Options that select columns by position, since names may be missing, repeated or unusual."""
    names = [f"f{position}" for position in range(len(layout.raw_names))]
    return (
        csv.ReadOptions(
            use_threads=False,  # only then do errors include the row number
            block_size=CHUNK_BYTES,
            encoding=layout.encoding if _rewriter(layout) is None else "utf-8",
            column_names=names,
            skip_rows=layout.blank_lines,
            skip_rows_after_names=int(layout.header),
        ),
        csv.ParseOptions(delimiter=" " if layout.delimiter == WHITESPACE else layout.delimiter, newlines_in_values=True),
        csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), include_columns=[names[i] for i in positions]),
    )
