"""Read a file, whole or in chunks, as a table with columns of numbers, booleans, dates, times and text.

CSV cells are read as text and converted afterwards, so that fitting and prediction share one conversion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from metricfit._errors import DataError
from metricfit._printable import quoted
from metricfit.data._detect import detect_columns
from metricfit.data._layout import Layout
from metricfit.data._raw import read_batches, read_whole
from metricfit.data._schema import Column, TableSchema, column_positions
from metricfit.data._source import Say, data_errors
from metricfit.data._target import check_order
from metricfit.data._types import ParsedColumn, decode, parse_column, to_floats, to_moments, trim, type_name


def _silent(line: str) -> None:
    """Say nothing."""


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
    say: Say = _silent,
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
    say: Say = _silent,
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
    """Convert the values to the column's type."""
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
