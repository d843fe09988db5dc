"""The type of every column of a table, from its values, an ARFF header or the caller. Every decision is said."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace

import pyarrow as pa

from metricfit._errors import DataError, UsageError
from metricfit._printable import quoted
from metricfit.data._layout import Layout
from metricfit.data._numbers import Finding, find_numbers, grouped_by_point
from metricfit.data._schema import TYPES, Column
from metricfit.data._types import first_code, guess_type, trim, type_name

MOST = 0.5  # a text column with this share of numbers gets a note
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_DATE_WORDS = {"%m/%d/%Y": "month/day/year", "%d/%m/%Y": "day/month/year"}
Say = Callable[[str], None]


def detect_columns(
    raw: pa.Table, layout: Layout, target: str, say: Say, numeric: Collection[str] = (), categorical: Collection[str] = ()
) -> list[Column]:
    """All columns except the target and a row index, with their types."""
    _check_overrides(target, numeric, categorical, raw.column_names)
    columns = []
    for name in raw.column_names:
        if name == target or _is_row_index(raw[name], name, layout, say):
            continue
        column, values = Column(name, "", layout.names.index(name)), _decoded(raw[name])
        if not type_name(values.type):
            hint = f"Pass --drop {quoted(name)}."
            raise DataError(f"Column {quoted(name)} has values of type {values.type}, which cannot be used. {hint}")
        if name in categorical:
            columns.append(replace(column, type="string"))
        elif name in numeric:
            columns.append(_as_number(values, column, layout, say))
        elif layout.types and layout.types[column.position]:
            columns.append(replace(column, type=layout.types[column.position]))
        else:
            columns.append(_detect_type(values, column, layout, say))
    _say_formats(columns, say)
    _say_doubts(raw, columns, layout, say)
    return columns


def _decoded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _check_overrides(target: str, numeric: Collection[str], categorical: Collection[str], names: Collection[str]) -> None:
    both = [name for name in numeric if name in categorical]
    if both:
        raise UsageError(f"--numeric and --categorical both name column {quoted(both[0])}. Pass one of them.")
    for option, given in (("--numeric", numeric), ("--categorical", categorical)):
        for name in given:
            if name == target:
                raise UsageError(f"{option} {quoted(name)} is the target, whose values are classes.")
            if name not in names:
                raise UsageError(f"{option} {quoted(name)} is a column that --drop leaves out.")


def _detect_type(values: pa.ChunkedArray, column: Column, layout: Layout, say: Say) -> Column:
    """The column with its type filled in."""
    kind = type_name(values.type)
    if kind != "string":
        return replace(column, type=kind)
    text = trim(values)
    kind, format = guess_type(text)
    if kind != "string" or text.null_count == len(text):
        if format in _DATE_WORDS:
            say(f"Column {quoted(column.name)} is read as dates (format {_DATE_WORDS[format]}).")
        return replace(column, type=kind, format=format)
    found = find_numbers(text, layout.decimal)
    if found.share == 1.0 and found.format:
        _say_unsure(column, found, say)
        return replace(column, type="number", format=found.format)
    _say_why_text(text, column, found, say)
    return replace(column, type="string")


def _as_number(values: pa.ChunkedArray, column: Column, layout: Layout, say: Say) -> Column:
    """A column that the caller calls numeric."""
    kind = type_name(values.type)
    if kind in ("number", "boolean"):
        return replace(column, type="number", lenient=True)
    if kind != "string":
        raise UsageError(f"--numeric {quoted(column.name)}: the column has {TYPES[kind]} in every row.")
    found = find_numbers(trim(values), layout.decimal)
    if not found.share:
        examples = ", ".join(map(quoted, found.others)) or "only missing values"
        raise UsageError(f"--numeric {quoted(column.name)}: no value is a number: {examples}.")
    _say_unsure(column, found, say)
    return replace(column, type="number", format=found.format, lenient=True)


def _say_unsure(column: Column, found: Finding, say: Say) -> None:
    if found.unsure:
        say(f"Column {quoted(column.name)} can be read in two ways: {found.unsure}")


def _say_why_text(text: pa.ChunkedArray, column: Column, found: Finding, say: Say) -> None:
    """Say why a column that seems to have numbers is read as categories."""
    name, help = quoted(column.name), f"Pass --numeric {quoted(column.name)} to read"
    if found.share == 1.0 and (code := first_code(text)):
        say(f"Column {name} is read as categories: it has codes such as {quoted(code)}. {help} numbers.")
        return
    examples = ", ".join(map(quoted, found.others))
    if found.share > MOST:
        written = f" written as {found.format}" if found.format else ""
        others = f"{found.n_others:,} cells are not" if found.n_others > 1 else "1 cell is not"
        say(
            f"Column {name} is read as categories: most of its values are numbers{written}, but {others}: {examples}. "
            f"{help} {'these' if found.n_others > 1 else 'it'} as missing, or correct the file."
        )
    elif found.any_share > MOST:
        say(
            f"Column {name} is read as categories: its numbers are written in different ways, such as {quoted(found.example)} "
            f"({found.share:.0%} of them) and {examples}. Write them in one way and one unit."
        )


def _say_formats(columns: list[Column], say: Say) -> None:
    """One line for all columns whose numbers are written alike."""
    other = "Pass --categorical to keep the text."
    for format in dict.fromkeys(column.format for column in columns if column.type == "number" and column.format):
        names = [quoted(column.name) for column in columns if column.type == "number" and column.format == format]
        if len(names) == 1:
            say(f"Column {names[0]} is read as numbers written as {format}. {other}")
        else:
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            say(f"Columns {shown} are read as numbers written as {format}. {other}")


def _say_doubts(raw: pa.Table, columns: list[Column], layout: Layout, say: Say) -> None:
    """Say which plain numbers, such as 1.234, could be thousands because the file has decimal commas elsewhere."""
    commas = [column for column in columns if column.type == "number" and re.search(r",56", column.format)]
    if layout.decimal == "." and not commas:
        return
    for column in columns:
        values = _decoded(raw[column.name])
        plain = column.type == "number" and not column.format and type_name(values.type) == "string"
        example = grouped_by_point(trim(values)) if plain else ""
        if example:
            say(
                f"Column {quoted(column.name)} can be read in two ways: {example!r} is read as {float(example):g}, although "
                "other columns have a decimal comma. If the point groups thousands, remove it from the file."
            )


def _is_row_index(values: pa.ChunkedArray, name: str, layout: Layout, say: Say) -> bool:
    """Whether this is the row index that pandas writes, which leaks the target if rows are sorted by class."""
    if layout.format == "parquet":
        found = _PANDAS_INDEX.fullmatch(name) is not None
    else:
        unnamed = layout.header and name == layout.names[0] and not layout.raw_names[0].strip()
        found = unnamed and any(values.cast(pa.string()).equals(_row_numbers(len(values), first)) for first in (0, 1))
    if found:
        say(f"{name[:1].upper()}{name[1:]} is a row index and is dropped.")
    return found


def _row_numbers(n_rows: int, first: int) -> pa.ChunkedArray:
    return pa.chunked_array([[str(row) for row in range(first, first + n_rows)]])
