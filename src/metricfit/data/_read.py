"""A file as a table with plain columns: numbers, truth values, dates, times and text; all of it, or in chunks.

Cells of a CSV file are read as text and typed afterwards, by the same code for a table to learn from and for one to predict.
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

from metricfit._checks import did_you_mean
from metricfit._errors import DataError
from metricfit.data._layout import Layout, opened
from metricfit.data._types import NEARLY_ALL, WORDS, Column, as_column, finite, guessed, share_of_numbers, trimmed, type_of

CHUNK_BYTES = 2**22
CHUNK_ROWS = 2**15
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class Known:
    """What a model knows of the table it was fitted to: its columns, whether it had a header, and how many columns it had."""

    columns: tuple[Column, ...]
    header: bool
    n_columns: int

    def as_json(self) -> dict[str, Any]:
        columns = [asdict(column) for column in self.columns]
        return {"header": self.header, "n_columns": self.n_columns, "columns": columns}

    @classmethod
    def from_json(cls, found: Any) -> Known:
        """A KeyError, TypeError or ValueError where something is missing."""
        columns = tuple(
            Column(str(item["name"]), str(item["type"]), int(item["position"]), str(item["format"]))
            for item in found["columns"]
        )
        if not {column.type for column in columns} <= set(WORDS) or len({column.name for column in columns}) < len(columns):
            raise ValueError("unknown types or repeated names")
        return cls(columns, bool(found["header"]), int(found["n_columns"]))


def read_table(
    path: Path, layout: Layout, target: str, dropped: Collection[str] = (), say: Callable[[str], None] = lambda line: None
) -> tuple[pa.Table, Known]:
    """The whole file: its columns, the target's as it is written, and what a model has to know of the others."""
    names = [name for name in layout.names if name not in dropped]
    with _said_plainly(path):
        raw = _whole(path, layout, names)
        if not raw.num_rows:
            raise DataError(f"{path} has a header and no rows.")
        columns = [
            _found_out(raw[name], Column(name, "", layout.names.index(name)), layout, say)
            for name in names
            if name != target and not _counts_rows(raw[name], name, layout, say)
        ]
        table = {column.name: _typed(raw[column.name], column, layout, path, 0) for column in columns}
    return pa.table({**table, target: raw[target]}), Known(tuple(columns), layout.header, len(layout.names))


def read_chunks(path: Path, layout: Layout, known: Known) -> Iterator[pa.Table]:
    """The columns of a model, in its order, some rows at a time."""
    places = _places(path, layout, known)
    before = 0
    with _said_plainly(path):
        for part in _parts(path, layout, places):
            raw = part.rename_columns([column.name for column in known.columns])
            yield pa.table({column.name: _typed(raw[column.name], column, layout, path, before) for column in known.columns})
            before += part.num_rows


def _whole(path: Path, layout: Layout, names: Sequence[str]) -> pa.Table:
    places = [layout.names.index(name) for name in names]
    if layout.parquet:
        return parquet.read_table(path, columns=[layout.written[place] for place in places]).rename_columns(names)
    with opened(path, layout.compressed) as file:
        return csv.read_csv(file, *_csv_options(layout, places)).rename_columns(names)


def _parts(path: Path, layout: Layout, places: Sequence[int]) -> Iterator[pa.Table]:
    if layout.parquet:
        written = [layout.written[place] for place in places]
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(CHUNK_ROWS, columns=written):
                yield pa.table(batch).select(written)
        return
    with opened(path, layout.compressed) as file, csv.open_csv(file, *_csv_options(layout, places)) as batches:
        for batch in batches:
            if batch.num_rows:
                yield pa.table(batch)


def _csv_options(layout: Layout, places: Sequence[int]) -> tuple[Any, Any, Any]:
    """Columns are known by their place: names may be missing, repeated or strange."""
    names = [f"f{place}" for place in range(len(layout.written))]
    return (
        csv.ReadOptions(
            use_threads=False,  # errors then know their row
            block_size=CHUNK_BYTES,
            encoding=layout.encoding,
            column_names=names,
            skip_rows=layout.blank_lines,
            skip_rows_after_names=int(layout.header),
        ),
        csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
        csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), include_columns=[names[place] for place in places]),
    )


def _places(path: Path, layout: Layout, known: Known) -> list[int]:
    """Where the columns of a model are in a file."""
    columns = known.columns
    if not known.header and not layout.header:
        if len(layout.names) == known.n_columns:
            return [column.position for column in columns]
        if len(layout.names) == len(columns):  # the same without the target
            return list(range(len(columns)))
        wanted = f"{known.n_columns} with the target or {len(columns)} without"
        raise DataError(f"{path} has {len(layout.names)} columns, and the model needs {wanted}.")
    missing = [column.name for column in columns if column.name not in layout.names]
    if missing:
        near = did_you_mean(missing[0], layout.names)
        what = f"column {missing[0]!r}" if len(missing) == 1 else f"{len(missing)} columns ({', '.join(missing[:5])})"
        raise DataError(f"{path} lacks {what} that the model was fitted to.{near}")
    return [layout.names.index(column.name) for column in columns]


def _found_out(values: pa.ChunkedArray, column: Column, layout: Layout, say: Callable[[str], None]) -> Column:
    """The column with its type."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = type_of(values.type)
    if not kind:
        raise DataError(
            f"Column {column.name!r} holds values of type {values.type}, which are of no use here. Leave it out by --drop."
        )
    if kind != "string":
        return replace(column, type=kind)
    text = trimmed(values)
    kind, format = guessed(text, layout.decimal)
    if kind == "string" and NEARLY_ALL <= share_of_numbers(text, layout.decimal) < 1.0:
        say(f"Column {column.name!r} is taken for categories: nearly all of its values are numbers, but not all.")
    if format in ("%m/%d/%Y", "%d/%m/%Y"):
        say(f"Column {column.name!r} is taken for dates written {'month/day' if format == '%m/%d/%Y' else 'day/month'}/year.")
    return replace(column, type=kind, format=format)


def _counts_rows(values: pa.ChunkedArray, name: str, layout: Layout, say: Callable[[str], None]) -> bool:
    """Whether this is the index that pandas writes beside a table: a leak where rows are sorted."""
    if layout.parquet:
        found = _PANDAS_INDEX.fullmatch(name) is not None
    else:
        unnamed = layout.header and name == layout.names[0] and not layout.written[0].strip()
        found = unnamed and any(values.equals(pa.chunked_array([_counted(len(values), first)])) for first in (0, 1))
    if found:
        say(f"{name[:1].upper()}{name[1:]} counts the rows and is left out.")
    return found


def _counted(n_rows: int, first: int) -> pa.Array:
    return pa.array([str(row) for row in range(first, first + n_rows)])


def _typed(values: pa.ChunkedArray, column: Column, layout: Layout, path: Path, before: int) -> pa.ChunkedArray:
    """The values as the type of the column; ``before`` is how many rows came before these."""

    def where(row: int) -> str:
        return f"{path}, row {before + row + 1 + int(layout.header and not layout.parquet)}"

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    found = type_of(values.type)
    if found == "string":
        return as_column(trimmed(values), column, layout.decimal, where)
    if column.type == "number" and found in ("number", "boolean"):
        return finite(values, column.name, where)
    if column.type == "string" and found:
        return values.cast(pa.string())
    if found != column.type:
        raise DataError(
            f"{path}, column {column.name!r} should hold {WORDS[column.type]} in every row, got type {values.type}."
        )
    return values


@contextmanager
def _said_plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
        if ragged := _RAGGED.search(str(error)):
            row, expected, found = ragged.groups()
            raise DataError(f"{path}, row {row}: there are {found} cells where the first row has {expected}.") from None
        raise DataError(f"{path} cannot be read: {error}") from error
