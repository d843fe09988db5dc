"""The type of every column of a table, from its values, an ARFF header or the caller. Every decision is announced."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa

from metricfit._errors import DataError, UsageError
from metricfit._printable import quoted
from metricfit.data._layout import Layout
from metricfit.data._numbers import NumberStyle, find_numbers, grouped_by_point
from metricfit.data._schema import CELLS, Column
from metricfit.data._source import Say
from metricfit.data._types import decode, first_code, guess_type, trim, type_name

MOST = 0.5  # a text column with this share of numbers gets a note
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_DATE_WORDS = {"%m/%d/%Y": "month/day/year", "%d/%m/%Y": "day/month/year"}


def detect_columns(
    raw: pa.Table, layout: Layout, target: str, say: Say, numeric: Collection[str] = (), categorical: Collection[str] = ()
) -> list[Column]:
    """All columns except the target and a row index, with their types."""
    _check_overrides(target, numeric, categorical, raw.column_names)
    columns = []
    for name in raw.column_names:
        if name == target or _is_row_index(raw[name], name, layout, say):
            continue
        values, position = decode(raw[name]), layout.names.index(name)
        if not type_name(values.type):
            hint = f"Pass --drop {quoted(name)}."
            raise DataError(f"Column {quoted(name)} has values of type {values.type}, which cannot be used. {hint}")
        if name in categorical:
            columns.append(Column(name, "string", position))
        elif name in numeric:
            columns.append(_numeric_column(values, name, position, layout, say))
        elif layout.types and layout.types[position]:
            columns.append(Column(name, layout.types[position], position))
        else:
            columns.append(_detect_column(values, name, position, layout, say))
    _announce_formats(columns, say)
    _announce_doubts(raw, columns, layout, say)
    return columns


def _check_overrides(target: str, numeric: Collection[str], categorical: Collection[str], names: Collection[str]) -> None:
    both = [name for name in numeric if name in categorical]
    if both:
        raise UsageError(f"--numeric and --categorical both name column {quoted(both[0])}. Pass one of them.")
    for option, columns in (("--numeric", numeric), ("--categorical", categorical)):
        for name in columns:
            if name == target:
                raise UsageError(f"{option} {quoted(name)} is the target, whose values are classes.")
            if name not in names:
                raise UsageError(f"{option} {quoted(name)} is a column that --drop leaves out.")


def _detect_column(values: pa.ChunkedArray, name: str, position: int, layout: Layout, say: Say) -> Column:
    kind = type_name(values.type)
    if kind != "string":
        return Column(name, kind, position)
    text = trim(values)
    kind, format = guess_type(text)
    if kind != "string" or text.null_count == len(text):
        if format in _DATE_WORDS:
            say(f"Column {quoted(name)} is read as dates (format {_DATE_WORDS[format]}).")
        return Column(name, kind, position, format)
    found = find_numbers(text, layout.decimal)
    if found.share == 1.0 and found.format:
        _announce_choice(name, found, say)
        return Column(name, "number", position, found.format)
    _explain_text(text, name, found, say)
    return Column(name, "string", position)


def _numeric_column(values: pa.ChunkedArray, name: str, position: int, layout: Layout, say: Say) -> Column:
    """A column of ``--numeric``."""
    kind, column = type_name(values.type), Column(name, "number", position, lenient=True)
    if kind in ("number", "boolean"):
        return column
    if kind != "string":
        raise UsageError(f"--numeric {quoted(name)}: the column has {CELLS[kind]} in every row.")
    found = find_numbers(trim(values), layout.decimal)
    if not found.share:
        examples = ", ".join(map(quoted, found.others)) or "only missing values"
        raise UsageError(f"--numeric {quoted(name)}: no value is a number: {examples}.")
    _announce_choice(name, found, say)
    return replace(column, format=found.format)


def _announce_choice(name: str, found: NumberStyle, say: Say) -> None:
    if found.choice:
        say(f"Column {quoted(name)} can be read in two ways: {found.choice}")


def _explain_text(text: pa.ChunkedArray, name: str, found: NumberStyle, say: Say) -> None:
    """Say why a column that seems to hold numbers is read as categories."""
    what, help = f"Column {quoted(name)} is read as categories", f"Pass --numeric {quoted(name)} to read"
    examples = ", ".join(map(quoted, found.others))
    if found.share == 1.0 and (code := first_code(text)):
        say(f"{what}: it has codes such as {quoted(code)}. {help} numbers.")
    elif found.share > MOST:
        written = f" written as {found.format}" if found.format else ""
        others, them = (f"{found.n_others:,} cells are not", "these") if found.n_others > 1 else ("1 cell is not", "it")
        say(
            f"{what}: most of its values are numbers{written}, but {others}: {examples}. "
            f"{help} {them} as missing, or correct the file."
        )
    elif found.any_share > MOST:
        say(
            f"{what}: its numbers are written in different ways, such as {quoted(found.example)} "
            f"({found.share:.0%} of them) and {examples}. Write them in one way and one unit."
        )


def _announce_formats(columns: list[Column], say: Say) -> None:
    """One line for all columns whose numbers are written alike."""
    for format in dict.fromkeys(column.format for column in columns if column.type == "number" and column.format):
        names = [quoted(column.name) for column in columns if column.type == "number" and column.format == format]
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        what = f"Column {shown} is" if len(names) == 1 else f"Columns {shown} are"
        say(f"{what} read as numbers written as {format}. Pass --categorical to keep the text.")


def _announce_doubts(raw: pa.Table, columns: list[Column], layout: Layout, say: Say) -> None:
    """Name plain numbers such as 1.234 that may be thousands, because the file has decimal commas elsewhere."""
    if layout.decimal == "." and not any(column.type == "number" and ",56" in column.format for column in columns):
        return
    for column in columns:
        values = decode(raw[column.name])
        is_plain = column.type == "number" and not column.format and type_name(values.type) == "string"
        example = grouped_by_point(trim(values)) if is_plain else ""
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
