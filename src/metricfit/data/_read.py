"""Read a file, whole or in chunks, as a table with columns of numbers, booleans, dates, times and text.

CSV cells are read as text and converted afterwards, so that fitting and prediction share one conversion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from metricfit._errors import DataError
from metricfit._words import did_you_mean
from metricfit.data._layout import Layout, open_bytes
from metricfit.data._types import NEARLY_ALL, TYPES, Column, guess_type, number_share, parse_column, to_floats, trim, type_name

CHUNK_BYTES = 2**22
CHUNK_ROWS = 2**15
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class TableSchema:
    """The columns of the table that a model was fitted to; ``n_columns`` also counts the target and dropped columns."""

    columns: tuple[Column, ...]
    header: bool
    n_columns: int

    def as_json(self) -> dict[str, Any]:
        columns = [asdict(column) for column in self.columns]
        return {"header": self.header, "n_columns": self.n_columns, "columns": columns}

    @classmethod
    def from_json(cls, found: Any) -> TableSchema:
        """Raises KeyError, TypeError or ValueError if an entry is missing or invalid."""
        columns = tuple(
            Column(str(item["name"]), str(item["type"]), int(item["position"]), str(item["format"]))
            for item in found["columns"]
        )
        if not {column.type for column in columns} <= set(TYPES) or len({column.name for column in columns}) < len(columns):
            raise ValueError("unknown types or repeated names")
        return cls(columns, bool(found["header"]), int(found["n_columns"]))


def read_table(
    path: Path, layout: Layout, target: str, dropped: Collection[str] = (), say: Callable[[str], None] = lambda line: None
) -> tuple[pa.Table, TableSchema]:
    """Read the whole file; the target column stays as in the file, and the schema describes the others."""
    names = [name for name in layout.names if name not in dropped]
    with _data_errors(path):
        raw = _read_whole(path, layout, names)
        if not raw.num_rows:
            raise DataError(f"{path} has a header but no rows.")
        columns = [
            _detect_type(raw[name], Column(name, "", layout.names.index(name)), layout, say)
            for name in names
            if name != target and not _is_row_index(raw[name], name, layout, say)
        ]
        table = {column.name: _convert(raw[column.name], column, layout, path, 0) for column in columns}
    return pa.table({**table, target: raw[target]}), TableSchema(tuple(columns), layout.header, len(layout.names))


def read_chunks(path: Path, layout: Layout, schema: TableSchema) -> Iterator[pa.Table]:
    """Yield the columns of the schema, in its order, a chunk of rows at a time."""
    columns, offset = schema.columns, 0
    positions = _column_positions(path, layout, schema)
    with _data_errors(path):
        for part in _read_batches(path, layout, positions):
            raw = part.rename_columns([column.name for column in columns])
            yield pa.table({column.name: _convert(raw[column.name], column, layout, path, offset) for column in columns})
            offset += part.num_rows


def _read_whole(path: Path, layout: Layout, names: Sequence[str]) -> pa.Table:
    positions = [layout.names.index(name) for name in names]
    if layout.parquet:
        return parquet.read_table(path, columns=[layout.raw_names[position] for position in positions]).rename_columns(names)
    with open_bytes(path, layout.compressed) as file:
        return csv.read_csv(file, *_csv_options(layout, positions)).rename_columns(names)


def _read_batches(path: Path, layout: Layout, positions: Sequence[int]) -> Iterator[pa.Table]:
    if layout.parquet:
        raw_names = [layout.raw_names[position] for position in positions]
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(CHUNK_ROWS, columns=raw_names):
                yield pa.table(batch).select(raw_names)
        return
    with open_bytes(path, layout.compressed) as file, csv.open_csv(file, *_csv_options(layout, positions)) as batches:
        for batch in batches:
            if batch.num_rows:
                yield pa.table(batch)


def _csv_options(layout: Layout, positions: Sequence[int]) -> tuple[Any, Any, Any]:
    """Options that select columns by position, since names may be missing, repeated or unusual."""
    names = [f"f{position}" for position in range(len(layout.raw_names))]
    return (
        csv.ReadOptions(
            use_threads=False,  # only then do errors include the row number
            block_size=CHUNK_BYTES,
            encoding=layout.encoding,
            column_names=names,
            skip_rows=layout.blank_lines,
            skip_rows_after_names=int(layout.header),
        ),
        csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
        csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), include_columns=[names[i] for i in positions]),
    )


def _column_positions(path: Path, layout: Layout, schema: TableSchema) -> list[int]:
    """The positions of the schema's columns in the file: by name, or by order if neither table has a header."""
    columns = schema.columns
    if not schema.header and not layout.header:
        if len(layout.names) == schema.n_columns:
            return [column.position for column in columns]
        if len(layout.names) == len(columns):  # the target is absent
            return list(range(len(columns)))
        wanted = f"{schema.n_columns} with the target or {len(columns)} without"
        raise DataError(f"{path} has {len(layout.names)} columns, expected {wanted}.")
    missing = [column.name for column in columns if column.name not in layout.names]
    if missing:
        near = did_you_mean(missing[0], layout.names)
        what = f"column {missing[0]!r}" if len(missing) == 1 else f"{len(missing)} columns ({', '.join(missing[:5])})"
        raise DataError(f"{path} lacks {what} that the model was fitted to.{near}")
    return [layout.names.index(column.name) for column in columns]


def _detect_type(values: pa.ChunkedArray, column: Column, layout: Layout, say: Callable[[str], None]) -> Column:
    """The column with its type filled in."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = type_name(values.type)
    if not kind:
        raise DataError(
            f"Column {column.name!r} has values of type {values.type}, which cannot be used. Pass --drop {column.name!r}."
        )
    if kind != "string":
        return replace(column, type=kind)
    text = trim(values)
    kind, format = guess_type(text, layout.decimal)
    if kind == "string" and NEARLY_ALL <= number_share(text, layout.decimal) < 1.0:
        say(f"Column {column.name!r} is read as categories: most of its values are numbers, but not all.")
    if format in ("%m/%d/%Y", "%d/%m/%Y"):
        say(f"Column {column.name!r} is read as dates (format {'month/day' if format == '%m/%d/%Y' else 'day/month'}/year).")
    return replace(column, type=kind, format=format)


def _is_row_index(values: pa.ChunkedArray, name: str, layout: Layout, say: Callable[[str], None]) -> bool:
    """Whether this is the row index that pandas writes, which leaks the target if rows are sorted by class."""
    if layout.parquet:
        found = _PANDAS_INDEX.fullmatch(name) is not None
    else:
        unnamed = layout.header and name == layout.names[0] and not layout.raw_names[0].strip()
        found = unnamed and any(values.equals(pa.chunked_array([_row_numbers(len(values), first)])) for first in (0, 1))
    if found:
        say(f"{name[:1].upper()}{name[1:]} is a row index and is dropped.")
    return found


def _row_numbers(n_rows: int, first: int) -> pa.Array:
    return pa.array([str(row) for row in range(first, first + n_rows)])


def _convert(values: pa.ChunkedArray, column: Column, layout: Layout, path: Path, offset: int) -> pa.ChunkedArray:
    """Convert the values to the column's type; ``offset`` is the number of rows in earlier chunks."""

    def where(row: int) -> str:
        return f"{path}, row {offset + row + 1 + int(layout.header and not layout.parquet)}"

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    found = type_name(values.type)
    if found == "string":
        return parse_column(trim(values), column, layout.decimal, where)
    if column.type == "number" and found in ("number", "boolean"):
        return to_floats(values, column.name, where)
    if column.type == "string" and found:
        return values.cast(pa.string())
    if found != column.type:
        raise DataError(
            f"{path}, column {column.name!r} should have {TYPES[column.type]} in every row, got type {values.type}."
        )
    return values


@contextmanager
def _data_errors(path: Path) -> Iterator[None]:
    """Turn errors of Arrow and the system into :class:`DataError`."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
        if ragged := _RAGGED.search(str(error)):
            row, expected, found = ragged.groups()
            raise DataError(f"{path}, row {row} has {found} cells, expected {expected} as in the first row.") from None
        raise DataError(f"{path} cannot be read: {error}") from error
