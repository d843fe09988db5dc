"""Read a file, whole or in chunks, as a table with columns of numbers, booleans, dates, times and text.

CSV cells are read as text and converted afterwards, so that fitting and prediction share one conversion.
"""

from __future__ import annotations

import io
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from metricfit._errors import DataError
from metricfit._printable import quoted
from metricfit.data._formats import arff_as_csv, column_of, read_objects, read_sheet
from metricfit.data._layout import WHITESPACE, Layout, single_spaces
from metricfit.data._schema import Column, TableSchema, column_positions
from metricfit.data._source import Say, data_errors, open_bytes, open_text
from metricfit.data._target import check_order
from metricfit.data._types import ParsedColumn, decode, detect_columns, parse_column, to_floats, to_moments, trim, type_name

CHUNK_BYTES, CHUNK_LINES = 2**22, 1000
CHUNK_ROWS, CHUNK_CELLS = 2**15, 2**20
TEXTS = ("csv", "arff")  # formats that Arrow reads as CSV

Ragged = dict[int, str]  # rows of a chunk with too many or too few cells, each with a description


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file: the model's columns, the columns to keep unchanged, and the rows with problems.

    ``problems`` maps the index of a row in the chunk to a sentence with its number in the file. Such a row has missing
    values in ``features``. ``first_row`` is the number of the first of these rows in the file.
    """

    features: pa.Table
    kept: pa.Table
    problems: dict[int, str]
    first_row: int = 1


def read_table(
    path: Path,
    layout: Layout,
    target: str,
    dropped: Collection[str] = (),
    say: Say = lambda line: None,
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
) -> tuple[pa.Table, TableSchema]:
    """Read the whole file. The target column stays as in the file, and the schema describes the others.

    In ``numeric`` columns, cells that are not numbers are missing values. ``categorical`` columns are text.
    """
    names = [name for name in layout.names if name not in dropped]
    with data_errors(path):
        raw = read_whole(path, layout, [layout.names.index(name) for name in names])
        if not raw.num_rows:
            raise DataError(f"{path} has a header but no rows.")
        columns = detect_columns(raw, layout, target, say, numeric, categorical)
        parsed = {column.name: _convert(raw[column.name], column, layout, path) for column in columns}
        for column in columns:
            _raise_first(parsed[column.name], column, layout, path)
        labels = check_order(raw[target], path, layout, target, say)
    _announce_ignored({name: found.ignored for name, found in parsed.items()}, say)
    table = {name: found.values for name, found in parsed.items()}
    return pa.table({**table, target: labels}), TableSchema(tuple(columns), layout.header, len(layout.names))


def read_chunks(
    path: Path,
    layout: Layout,
    schema: TableSchema,
    keep: Sequence[str] = (),
    skip: bool = False,
    say: Say = lambda line: None,
    groups: Sequence[int] | None = None,
    before: int = 0,
) -> Iterator[Chunk]:
    """Yield the columns of the schema, in its order, and the columns to keep, a chunk of rows at a time.

    A cell that cannot be read is an error, or with ``skip`` a problem of its row. ``groups`` are the row groups of a Parquet
    file to read, by default all, and ``before`` is the number of rows before them.
    """
    columns, offset = schema.columns, before
    positions = column_positions(path, layout, schema)
    kept_positions = [layout.names.index(name) for name in keep]
    distinct = list(dict.fromkeys([*positions, *kept_positions]))
    ignored: dict[str, Counter[str]] = {column.name: Counter() for column in columns}
    with data_errors(path):
        for part, ragged in read_batches(path, layout, distinct, skip, groups):
            raw = dict(zip(distinct, part.columns, strict=True))
            first_row = layout.first_row + offset
            kept = [_unchanged(raw[index], name) for index, name in zip(kept_positions, keep, strict=True)]
            problems = {row: f"row {first_row + row} {problem}" for row, problem in ragged.items()}
            features = {}
            for column, position in zip(columns, positions, strict=True):
                found = _convert(raw[position], column, layout, path)
                if not skip:
                    _raise_first(found, column, layout, path, offset)
                for row in found.problems:
                    problems.setdefault(row, _describe(found, row, column, layout, offset))
                ignored[column.name] += found.ignored
                features[column.name] = found.values
            yield Chunk(pa.table(features), pa.table(kept, names=list(keep)), dict(sorted(problems.items())), first_row)
            offset += part.num_rows
    _announce_ignored(ignored, say)


def _convert(values: pa.ChunkedArray, column: Column, layout: Layout, path: Path) -> ParsedColumn:
    values = decode(values)
    found = type_name(values.type)
    if found == "string":
        return parse_column(trim(values), column, layout.decimal)
    if column.type == "number" and found in ("number", "boolean"):
        return to_floats(values)
    if column.type == "string" and found:
        return ParsedColumn(values.cast(pa.string()))
    if found != column.type:
        raise DataError(
            f"{path}, column {quoted(column.name)} should have {column.expected()} in every row, got type {values.type}."
        )
    return to_moments(values) if found in ("date", "time") else ParsedColumn(values)


def _unchanged(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A column to copy to the output."""
    values = decode(values)
    if not type_name(values.type):
        raise DataError(f"Column {quoted(name)} has values of type {values.type}, which cannot be copied to the output.")
    return values


def _describe(parsed: ParsedColumn, row: int, column: Column, layout: Layout, offset: int) -> str:
    return f"row {layout.first_row + offset + row}, column {quoted(column.name)}: {parsed.problems[row]}"


def _raise_first(parsed: ParsedColumn, column: Column, layout: Layout, path: Path, offset: int = 0) -> None:
    if parsed.problems:
        raise DataError(f"{path}, {_describe(parsed, min(parsed.problems), column, layout, offset)}.")


def _announce_ignored(ignored: Mapping[str, Counter[str]], say: Say) -> None:
    for name, words in ignored.items():
        if words:
            shown = ", ".join(quoted(word) for word, _ in words.most_common(5)) + (", ..." if len(words) > 5 else "")
            total = words.total()
            cells = "1 cell that is not a number is" if total == 1 else f"{total:,} cells that are not numbers are"
            say(f"Column {quoted(name)}: {cells} read as missing: {shown}.")


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
    path: Path, layout: Layout, positions: Sequence[int], skip_ragged: bool, groups: Sequence[int] | None
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
        return arff_as_csv
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
