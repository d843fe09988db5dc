"""Separate the target from the features, check that its values are classes, and merge or drop rare ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from metricfit._errors import DataError, UsageError
from metricfit._printable import did_you_mean, listed, quoted
from metricfit.data._layout import Layout
from metricfit.data._numbers import MISSING, is_number
from metricfit.data._source import Say
from metricfit.data._types import decode, to_moments, type_name

MAX_NUMBERED_CLASSES = 20  # more are accepted if there are ten rows per class
MAX_FRACTIONS = 10  # distinct values of a target with fractions
_INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,17})(\.0+)?")
_NO_LABEL = tuple(word for word in MISSING if word != "None")  # "None" may be a class

FindOrder = Callable[[NDArray[Any], Sequence[Any] | None], Sequence[Any] | None]
OTHER = "other"  # the class of rare classes


@dataclass(frozen=True)
class LabelledTable:
    """Features and labels; ``n_unlabelled`` rows without a label were dropped.

    ``renamed`` maps the classes of the file whose rows have another label now to that label, or to None if they were dropped.
    """

    features: pa.Table
    labels: NDArray[Any]
    target: str
    n_unlabelled: int
    order: tuple[Any, ...] | None = None
    renamed: Mapping[Any, Any] = field(default_factory=dict)


def split_target(
    table: pa.Table,
    target: str,
    path: Path,
    merge_rare: int = 0,
    say: Say = lambda line: None,
    drop_rare: int = 0,
    order_to_keep: FindOrder = lambda classes, order: None,
) -> LabelledTable:
    """Split a table into features and labels. Rows without a label and of classes with fewer than ``drop_rare`` rows go.

    Classes with fewer than ``merge_rare`` rows become one class, "other". They join their neighbours instead if
    ``order_to_keep``, called with the classes and the order in the file, returns an order.
    """
    features, column = table.drop_columns(target), table[target]
    if not features.num_columns:
        raise DataError(f"{path} has no columns except the target {target!r}.")
    known, labels = read_labels(column, target, path)
    features, order = features.filter(known), order_of(column.filter(known), labels)
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    new = classes
    if merge_rare:
        kept = order_to_keep(classes, order)
        new = merge_classes(classes, counts, merge_rare, target, say, kept)
        if new is not classes and order is not None:
            order = None if kept is None else tuple(label for label in order if label in new.tolist())
            if order is None:
                say(f"The order of the classes in column {target!r} is not used, because 'other' has no position in it.")
    frequent = frequent_classes(classes, counts, drop_rare, target, say)
    rows, n_unlabelled = frequent[codes], len(column) - len(labels)
    check_classes(*np.unique(new[codes[rows]], return_counts=True), target, path, n_unlabelled, merge_rare)
    if order is not None:
        order = tuple(label for label in order if label not in classes[~frequent])
    pairs = zip(classes.tolist(), new.tolist(), frequent.tolist(), strict=True)
    renamed = {label: name if keep else None for label, name, keep in pairs if label != name or not keep}
    return LabelledTable(features.filter(pa.array(rows)), new[codes[rows]], target, n_unlabelled, order, renamed)


def read_labels(column: pa.ChunkedArray, target: str, path: Path) -> tuple[pa.ChunkedArray, NDArray[Any]]:
    """Which rows have a label, and these labels.

    Text and numbers that are all whole become int64, in every format of file: 1, 1.0 and "1.0" are one label. Dates become
    ISO strings. Other labels are unchanged.
    """
    column, where = decode(column), f"{path}, column {target!r}"
    kind = type_name(column.type)
    if kind == "string":
        column = pc.utf8_trim_whitespace(column.cast(pa.string()))
        column = pc.if_else(pc.is_in(column, pa.array(_NO_LABEL)), None, column)
    known = pc.is_valid(column)
    column = column.filter(known)
    if kind == "string":
        return known, _text_labels(column)
    if kind == "boolean" or pa.types.is_integer(column.type):
        return known, column.to_numpy()
    if kind in ("date", "time"):
        found = to_moments(column)
        if found.problems:
            raise DataError(f"{where}: {next(iter(found.problems.values()))}.")
        return known, np.array([value.isoformat() for value in found.values.to_pylist()], dtype=str)
    if kind == "number" and not pa.types.is_duration(column.type):
        return known, _number_labels(column.cast(pa.float64()).to_numpy(), where)
    raise DataError(f"{where} has values of type {column.type}, which cannot be classes.")


def _text_labels(column: pa.ChunkedArray) -> NDArray[Any]:
    words = np.array(column.to_pylist(), dtype=str)
    names, codes = np.unique(words, return_inverse=True)
    numbers = [_INTEGER.fullmatch(name) for name in names.tolist()]
    if not all(numbers):
        return words
    return np.array([int(number[1]) for number in numbers if number], dtype=np.int64)[codes]


def _number_labels(values: NDArray[np.float64], where: str) -> NDArray[Any]:
    if not np.isfinite(values).all():
        raise DataError(f"{where} has infinite numbers or NaN, which cannot be classes.")
    whole = np.array_equal(values, np.round(values)) and np.abs(values).max(initial=0.0) < 2**53
    return values.astype(np.int64) if whole else np.array([str(value) for value in values.tolist()], dtype=str)


def column_named(text: str, names: Sequence[str], option: str) -> str:
    """The name of a column, given its name or its number: from 1, or negative from the end."""
    if text in names:
        return text
    try:
        index = int(text)
    except ValueError:
        known = listed(names, 10)
        raise UsageError(f"{option} {quoted(text)} is not a column.{did_you_mean(text, names)} Columns: {known}.") from None
    if not 1 <= abs(index) <= len(names):
        raise UsageError(f"{option} {text} is not a column. Columns are numbered from 1 to {len(names)}.")
    return names[index - 1 if index > 0 else index]


def label_like(text: str, classes: NDArray[Any], option: str) -> Any:
    """The class with this text, or the only class with this text if case is ignored; 1.0 is 1."""
    known = [str(label) for label in classes]
    number = _INTEGER.fullmatch(text)
    if number and text not in known:
        text = number[1]
    same = [index for index, name in enumerate(known) if name == text]
    alike = same or [index for index, name in enumerate(known) if name.lower() == text.lower()]
    if len(alike) == 1:
        return classes.tolist()[alike[0]]
    near = did_you_mean(text, known)
    raise UsageError(f"{option} {quoted(text)} is not a class of the target.{near} Classes: {listed(known, 20)}.")


def check_classes(
    classes: NDArray[Any], counts: NDArray[Any], target: str, path: Path, n_unlabelled: int = 0, merge_rare: int = 0
) -> None:
    """Refuse labels that cannot be classes; ``counts`` are their numbers of rows."""
    where = f"{path}, column {target!r}"
    if not len(classes):
        raise DataError(f"{where} has no values.")
    if len(classes) == 1:
        hint = f" {n_unlabelled:,} rows without a label were dropped." if n_unlabelled else ""
        raise DataError(f"{where} has only one class: {classes.tolist()[0]!r}. At least two are needed.{hint}")
    if classes.dtype.kind in "iu" or all(map(is_number, classes.astype(str))):
        numbers = classes.astype(np.float64)
        fractions = (numbers != np.round(numbers)).any() and len(classes) > MAX_FRACTIONS
        if fractions or len(classes) > max(MAX_NUMBERED_CLASSES, counts.sum() / 10):
            values = f"{len(classes)} distinct values from {numbers.min():g} to {numbers.max():g}"
            raise DataError(
                f"{where} looks like a regression target ({values}), expected classes. "
                "Pass another column to --target, or bin the values into classes."
            )
    if counts.min() == 1:
        rare = classes.tolist()[counts.argmin()]
        n_others = int((counts == 1).sum()) - 1
        others = f" (and {n_others} more classes)" if n_others else ""
        enough = max(2, merge_rare + 1) if n_others else int(np.sort(counts)[1]) + 1
        raise DataError(
            f"{where}: class {quoted(rare)} has one row{others}; cross-validation needs two. Add rows, remove the class, "
            f"or pass --merge-rare {enough} to join all classes with fewer than {enough} rows."
        )


def check_order(values: pa.ChunkedArray, path: Path, layout: Layout, target: str, say: Say) -> pa.ChunkedArray:
    """The target, without its order if the Parquet file does not store the list of categories.

    Arrow then lists the categories in order of first occurrence.
    """
    if not _is_ordered(values.type):
        return values
    raw_name = layout.raw_names[layout.names.index(target)]
    with parquet.ParquetFile(path) as file:
        groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
    parts = [group.column(index) for group in groups for index in range(group.num_columns)]
    listed = all(part.has_dictionary_page for part in parts if part.path_in_schema == raw_name)
    same = all(chunk.dictionary.equals(values.chunk(0).dictionary) for chunk in values.chunks)
    if listed and same:
        return values
    say(f"Column {quoted(target)} is an ordered category, but the file does not hold the order of its classes.")
    return decode(values)


def order_of(values: pa.ChunkedArray, labels: NDArray[Any]) -> tuple[Any, ...] | None:
    """The classes that occur, in the order of the categories; ``values`` and ``labels`` belong to the same rows."""
    if not _is_ordered(values.type) or not values.num_chunks:
        return None
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in values.chunks])
    found, rows = np.unique(codes, return_index=True)
    return tuple(labels[rows[np.argsort(found)]].tolist())


def _is_ordered(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) and kind.ordered)


def merge_classes(
    classes: NDArray[Any], counts: NDArray[Any], min_rows: int, target: str, say: Say, order: Sequence[Any] | None = None
) -> NDArray[Any]:
    """The new name of every class, so that all classes have at least ``min_rows`` rows; unchanged if they do already.

    Rare classes become the class "other". If that is rare too, the next smallest classes join it. With an ``order``, a rare
    class joins a neighbour in the order instead, because "other" has no position in it.
    """
    if not (counts < min_rows).any():
        return classes
    if order is not None:
        return _merge_neighbours(classes, counts, min_rows, target, say, order)
    names = classes.astype(str)
    merged = (counts < min_rows) | (names == OTHER)
    rare = merged & (names != OTHER)
    by_size = [index for index in np.argsort(counts, kind="stable") if not merged[index]]
    joining = list[int]()
    while counts[merged].sum() < min_rows and len(by_size) > 1:
        joining.append(by_size.pop(0))
        merged[joining[-1]] = True
    if merged.sum() < 2:
        raise DataError(
            f"--merge-rare {min_rows}: class {quoted(classes[merged].tolist()[0])} of column {target!r} has "
            f"{_rows(counts[merged].sum())}, and there is no third class to join it with. Add rows, or pass a smaller number."
        )
    sentences = list[str]()
    if rare.any():
        verb = ("join" if (names == OTHER).any() else "become") + ("s" if rare.sum() == 1 else "")
        sentences.append(f"{_name_rare(classes, counts, rare, min_rows)} {verb} the class {OTHER!r}.")
    if joining:
        shown = ", ".join(f"{quoted(classes.tolist()[index])} ({_rows(counts[index])})" for index in joining)
        verb = "joins" if len(joining) == 1 else "join"
        sentences.append(f"{shown} {verb} it, because {OTHER!r} alone would have fewer than {min_rows} rows.")
    if classes.dtype.kind != "U":
        sentences.append("All labels are text now.")
    say(f"Column {target!r}: {' '.join(sentences)}")
    return np.where(merged, OTHER, names)


def _merge_neighbours(
    classes: NDArray[Any], counts: NDArray[Any], min_rows: int, target: str, say: Say, order: Sequence[Any]
) -> NDArray[Any]:
    """Every rare class, the smallest first, joins the smaller of its neighbours."""
    size = dict(zip(classes.tolist(), counts.tolist(), strict=True))
    parts = [([label], size[label]) for label in order]  # merged classes; the first label gives the name
    while len(parts) > 2 and min(rows for _, rows in parts) < min_rows:
        smallest = min(range(len(parts)), key=lambda index: parts[index][1])
        near = [index for index in (smallest - 1, smallest + 1) if 0 <= index < len(parts)]
        other = min(near, key=lambda index: parts[index][1])
        large, small = sorted((parts[smallest], parts[other]), key=lambda part: -part[1])
        parts[min(smallest, other) : max(smallest, other) + 1] = [(large[0] + small[0], large[1] + small[1])]
    if min(rows for _, rows in parts) < min_rows:
        raise DataError(
            f"--merge-rare {min_rows}: column {target!r} has {_rows(sum(size.values()))}, too few for two classes with "
            f"{min_rows} rows each. Pass a smaller number."
        )
    moved = [f"{quoted(label)} ({_rows(size[label])}) joins {quoted(names[0])}" for names, _ in parts for label in names[1:]]
    say(f"Column {target!r}: classes with fewer than {min_rows} rows join a neighbour in the order: {', '.join(moved)}.")
    new = {label: names[0] for names, _ in parts for label in names}
    return np.array([new[label] for label in classes.tolist()], dtype=classes.dtype)


def frequent_classes(classes: NDArray[Any], counts: NDArray[Any], min_rows: int, target: str, say: Say) -> NDArray[np.bool_]:
    """Which classes have at least ``min_rows`` rows. A note says that the others are dropped."""
    rare = counts < min_rows
    if rare.any():
        verb, their = ("is", "its") if rare.sum() == 1 else ("are", "their")
        say(
            f"Column {target!r}: {_name_rare(classes, counts, rare, min_rows)} {verb} dropped with {their} rows (--drop-rare)."
        )
    return ~rare


def _name_rare(classes: NDArray[Any], counts: NDArray[Any], rare: NDArray[np.bool_], min_rows: int) -> str:
    names = [quoted(label) for label in classes[rare].tolist()]
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    what = "1 class" if len(names) == 1 else f"{len(names)} classes"
    return f"{what} with fewer than {min_rows} rows ({shown}; {_rows(counts[rare].sum())}{' together' * (len(names) > 1)})"


def _rows(number: Any) -> str:
    return "1 row" if number == 1 else f"{int(number):,} rows"
