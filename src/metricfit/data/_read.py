"""A file as a table with plain columns: numbers, truth values, dates and strings; all of it, or in chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from metricfit._checks import did_you_mean
from metricfit._errors import DataError
from metricfit.data._layout import Layout, opened

CHUNK_BYTES = 2**22
CHUNK_ROWS = 2**15
_MISSING = ["", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None"]
_TYPES = {
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.timestamp("us"),
    "time": pa.time32("s"),
    "string": pa.string(),
}
_WORDS = {"number": "a number", "boolean": "true or false", "date": "a date", "time": "a time of day", "string": "text"}
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_WRONG_TYPE = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to [^:]*: invalid value '(.*)'", re.DOTALL
)


@dataclass(frozen=True)
class Column:
    """A column that a model was fitted to: its name, what it holds, and its place in the file, from 0."""

    name: str
    type: str
    position: int


def read_table(path: Path, layout: Layout) -> pa.Table:
    """The whole file."""
    with _said_plainly(path, layout):
        if layout.parquet:
            table = parquet.read_table(path)
        else:
            with opened(path, layout.compressed) as file:
                table = csv.read_csv(file, *_csv_options(layout, {}, None))
    if not table.num_rows:
        raise DataError(f"{path} has a header and no rows.")
    return _plain_table(table.rename_columns(list(layout.names)), path)


def read_chunks(path: Path, layout: Layout, columns: Sequence[Column], header: bool) -> Iterator[pa.Table]:
    """The columns of a model, in its order, some rows at a time; ``header`` says whether the model knows them by name."""
    places = _places(path, layout, columns, header)
    written = [layout.written[place] if layout.header else f"f{place}" for place in places]
    names = [column.name for column in columns]
    with _said_plainly(path, layout, {place: column.type for place, column in zip(places, columns, strict=True)}):
        for part in _parts(path, layout, written, columns):
            chunk = _plain_table(part.rename_columns(names), path)
            yield pa.table({column.name: _as(chunk[column.name], column, path) for column in columns})


def columns_of(table: pa.Table, names: Sequence[str]) -> list[Column]:
    """What a model has to know about the columns of a table it was fitted to; ``names`` are those of the file."""
    return [Column(name, _type_of(table[name].type), names.index(name)) for name in table.column_names]


def as_json(columns: Sequence[Column], header: bool, n_columns: int) -> dict[str, Any]:
    return {"header": header, "n_columns": n_columns, "columns": [asdict(column) for column in columns]}


def from_json(found: Any) -> tuple[list[Column], bool]:
    """The reverse; a KeyError or TypeError where something is missing."""
    columns = [Column(str(item["name"]), str(item["type"]), int(item["position"])) for item in found["columns"]]
    for column in columns:
        _TYPES[column.type]
    return columns, bool(found["header"])


def _parts(path: Path, layout: Layout, written: list[str], columns: Sequence[Column]) -> Iterator[pa.Table]:
    if layout.parquet:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(CHUNK_ROWS, columns=written):
                yield pa.table(batch).select(written)
        return
    types = {name: _TYPES[column.type] for name, column in zip(written, columns, strict=True)}
    with opened(path, layout.compressed) as file, csv.open_csv(file, *_csv_options(layout, types, written)) as batches:
        for batch in batches:
            if batch.num_rows:
                yield pa.table(batch)


def _places(path: Path, layout: Layout, columns: Sequence[Column], header: bool) -> list[int]:
    """Where the columns of a model are in a file."""
    if not header and not layout.header:
        last = max(column.position for column in columns)
        if len(layout.names) > last:
            return [column.position for column in columns]
        if len(layout.names) == len(columns):  # the same without the target
            return list(range(len(columns)))
        raise DataError(f"{path} has {len(layout.names)} columns, and the model needs {len(columns)}.")
    missing = [column.name for column in columns if column.name not in layout.names]
    if missing:
        near = did_you_mean(missing[0], layout.names)
        what = f"column {missing[0]!r}" if len(missing) == 1 else f"{len(missing)} columns ({', '.join(missing[:5])})"
        raise DataError(f"{path} lacks {what} that the model was fitted to.{near}")
    return [layout.names.index(column.name) for column in columns]


def _csv_options(layout: Layout, types: dict[str, pa.DataType], only: list[str] | None) -> tuple[Any, Any, Any]:
    return (
        csv.ReadOptions(
            use_threads=False,  # errors then know their row
            block_size=CHUNK_BYTES,
            encoding=layout.encoding,
            autogenerate_column_names=not layout.header,
        ),
        csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
        csv.ConvertOptions(
            column_types=types,
            include_columns=only,
            null_values=[*_MISSING, *(f" {word}" for word in _MISSING)],
            strings_can_be_null=True,
            decimal_point=layout.decimal,
        ),
    )


@contextmanager
def _said_plainly(path: Path, layout: Layout, types: dict[int, str] | None = None) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        text = str(error)
        if ragged := _RAGGED.search(text):
            row, expected, found = ragged.groups()
            raise DataError(f"{path}, row {row}: there are {found} cells where the first row has {expected}.") from None
        if wrong := _WRONG_TYPE.search(text):
            place, row, value = int(wrong[1]), wrong[2], wrong[3]
            where = f", row {row}" if row else ""
            wanted = _WORDS[(types or {}).get(place, "string")]
            raise DataError(f"{path}{where}, column {layout.names[place]!r}: {value!r} is not {wanted}.") from None
        raise DataError(f"{path} cannot be read: {text}") from error


def _plain_table(table: pa.Table, path: Path) -> pa.Table:
    return pa.table({name: _plain(table[name], name, path) for name in table.column_names})


def _plain(column: pa.ChunkedArray, name: str, path: Path) -> pa.ChunkedArray:
    """One of the types above."""
    found = column.type
    if pa.types.is_dictionary(found):
        return _plain(column.cast(found.value_type), name, path)
    if pa.types.is_null(found) or _type_of(found) == "number":
        return column.cast(pa.float64(), safe=False)
    if _type_of(found) in ("boolean", "date", "time"):
        return column
    if pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found):
        trimmed = pc.utf8_trim_whitespace(column.cast(pa.string()))
        return pc.if_else(pc.is_in(trimmed, pa.array(_MISSING)), None, trimmed)
    raise DataError(f"{path}, column {name!r} holds values of type {found}, which are of no use here. Leave it out by --drop.")


def _as(column: pa.ChunkedArray, fitted: Column, path: Path) -> pa.ChunkedArray:
    """A column of a file in a format that knows types, as the type that the model was fitted to."""
    found = _type_of(column.type)
    if found == fitted.type:
        return column
    if fitted.type == "string" or (found, fitted.type) == ("boolean", "number"):
        return column.cast(_TYPES[fitted.type])
    if column.null_count == len(column):
        return pa.nulls(len(column), _TYPES[fitted.type])
    raise DataError(f"{path}, column {fitted.name!r} should hold {_WORDS[fitted.type]} in every row, got type {column.type}.")


def _type_of(found: pa.DataType) -> str:
    if pa.types.is_boolean(found):
        return "boolean"
    if pa.types.is_time(found):
        return "time"
    if pa.types.is_date(found) or pa.types.is_timestamp(found):
        return "date"
    if pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found) or pa.types.is_duration(found):
        return "number"
    return "string"
