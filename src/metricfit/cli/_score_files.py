"""Files of scores: which column belongs to which class, and the rows as arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from metricfit._errors import DataError, UsageError
from metricfit._printable import listed, quoted
from metricfit._score_names import OF_NO_CLASS, match_names
from metricfit._typing import Floats
from metricfit.cli._arguments import split_names
from metricfit.data import Column, Layout, TableSchema, label_like, read_chunks, read_labels

_SEVERAL = re.compile("[|;]")  # between labels in one cell
_OF_A_TARGET = re.compile(r"(?:y|is|has|label|target|true)[ _.:-]+(.+)", re.IGNORECASE)
_ZERO_OR_ONE = {"0": 0, "1": 1, "false": 0, "true": 1}
MOST_SHOWN = 10  # columns in a message


@dataclass(frozen=True)
class ScoreColumns:
    """The columns of the scores, in the order of the classes; a single column is about ``label``, if its name says so.

    ``costs`` are the columns of costs that differ from row to row.
    """

    names: tuple[str, ...]
    classes: tuple[Any, ...]
    label: Any = None
    costs: tuple[str, ...] = ()

    def describe(self) -> str:
        """Which column belongs to which class, in a sentence."""
        if len(self.names) == 1:
            about = "the positive class" if self.label is None else quoted(self.label)
            return f"Column {quoted(self.names[0])} has the scores of {about}."
        pairs = [f"{quoted(name)} of {quoted(label)}" for name, label in zip(self.names, self.classes, strict=True)]
        more = f" and {len(pairs) - MOST_SHOWN} more" if len(pairs) > MOST_SHOWN else ""
        return f"Columns of scores: {', '.join(pairs[:MOST_SHOWN])}{more}."


def find_score_columns(
    names: Sequence[str],
    classes: Sequence[Any],
    passed: Sequence[str] = (),
    order: Sequence[Any] | None = None,
    header: bool = True,
    advice: str = "",
) -> ScoreColumns:
    """The column of every class, by its name: ``p_fraud``, ``proba_fraud``, ``score(fraud)``, ``fraud`` and the like.

    ``names`` are the columns to choose from, and ``passed`` those in ``--scores``. If the names do not tell the classes, or if
    the file has no header, columns are in ``order``, by default that of the classes. For two classes, one column is enough.
    An error ends with the ``advice``, by default on ``--scores``, which not every command has.

    >>> find_score_columns(["id", "p_ok", "p_fraud"], ["fraud", "ok"]).names
    ('p_fraud', 'p_ok')
    >>> find_score_columns(["id", "proba_1"], [0, 1]).label
    1
    """
    whole, parts = match_names(passed or names, classes) if header else ([], {})
    if len(set(whole)) > 1:
        sets = " and ".join(listed(found, 3) for found in whole)
        advice = advice or f"Pass --scores {','.join(whole[0])}."
        raise UsageError(f"Several columns could be the scores of each class: {sets}. {advice}")
    if whole:
        return ScoreColumns(whole[0], tuple(classes))
    if passed:
        return _in_order(passed, classes, order or classes, parts)
    if len(classes) == 2:
        if len(parts) == 1:
            ((name, label),) = parts.items()
            return ScoreColumns((name,), tuple(classes), label)
        of_none = names if len(names) == 1 else [name for name in names if OF_NO_CLASS.fullmatch(name)]
        if len(of_none) == 1 and not parts:
            return ScoreColumns((of_none[0],), tuple(classes))
    missing = [label for label in classes if label not in parts.values()]
    if not parts or not missing:
        known, example = listed([str(label) for label in classes], MOST_SHOWN), classes[0]
        advice = advice or "Pass --scores with these columns, separated by commas, or --target if the labels are elsewhere."
        raise DataError(
            f"No columns of scores were found for the classes {known}: expected names such as p_{example}, proba_{example} or "
            f"{example}. {advice} Columns: {listed(names, MOST_SHOWN)}.{_of_several(classes)}"
        )
    advice = advice or f"Pass --scores with a column for each of the {len(classes)} classes."
    raise DataError(
        f"Class {quoted(missing[0])} has no column of scores; found {listed(list(parts), 5)}. {advice}{_of_several(classes)}"
    )


def _of_several(classes: Sequence[Any]) -> str:
    """Advice for a label that looks like several labels; empty for any other.

    >>> _of_several(["folk", "jazz", "jazz|folk"]), _of_several(["folk", "rock'n'roll"])
    (" 'jazz|folk' looks like several labels of one row: these need a column of 0 and 1 each, --target jazz,folk.", '')
    """
    for label in map(str, classes):
        parts = [part.strip() for part in _SEVERAL.split(label)]
        if len(parts) > 1 and all(parts):
            look = f" {quoted(label)} looks like several labels of one row: these need a column of 0 and 1 each,"
            return f"{look} --target {','.join(parts)}."
    return ""


def _in_order(passed: Sequence[str], classes: Sequence[Any], order: Sequence[Any], parts: Mapping[str, Any]) -> ScoreColumns:
    """Columns of ``--scores`` whose names do not tell all classes."""
    if len(passed) == 1 and len(classes) == 2:
        return ScoreColumns(tuple(passed), tuple(classes), parts.get(passed[0]))
    if len(passed) < len(classes):
        missing = next((label for label in classes if label not in parts.values()), classes[-1])
        few = f"Class {quoted(missing)} has no column: --scores has {len(passed)} for {len(classes)} classes."
        raise DataError(f"{few}{_of_several(classes)}")
    if len(passed) > len(classes):
        raise DataError(
            f"--scores has {len(passed)} columns for {len(classes)} classes: {listed([str(one) for one in classes], 5)}. "
            "Pass --classes with the class of every column."
        )
    column_of = dict(zip(order, passed, strict=True))
    for name, label in parts.items():
        if column_of[label] != name:
            raise UsageError(
                f"--scores: {quoted(name)} has the name of class {quoted(label)}, but {quoted(column_of[label])} takes "
                "its place. Pass --classes with the class of every column, in the same order."
            )
    return ScoreColumns(tuple(column_of[label] for label in classes), tuple(classes))


def score_schema(columns: ScoreColumns, layout: Layout) -> TableSchema:
    """The columns of scores, and those of costs after them, as those that a model needs."""
    found = tuple(Column(name, "number", layout.names.index(name)) for name in (*columns.names, *columns.costs))
    return TableSchema(found, layout.header, len(layout.names))


def read_score_rows(path: Path, layout: Layout, schema: TableSchema, rows: NDArray[np.bool_] | None = None) -> Floats:
    """The numbers (n, k) of all rows, or of these; a missing one is an error."""
    parts, start = [], 0
    for chunk in read_chunks(path, layout, schema):
        table = np.stack([column.to_numpy() for column in chunk.features.columns], 1)
        wanted = np.ones(len(table), bool) if rows is None else rows[start : start + len(table)]
        start += len(table)
        empty = np.isnan(table) & wanted[:, None]
        if empty.any():
            row, column = np.argwhere(empty)[0]
            name = quoted(schema.columns[column].name)
            raise DataError(
                f"{path}, row {chunk.first_row + row}, column {name} is not a number. Every row needs all scores and costs."
            )
        parts.append(table if wanted.all() else table[wanted])
    if not parts or not sum(map(len, parts)):
        raise DataError(f"{path} has no rows.")
    return np.concatenate(parts)


@dataclass(frozen=True)
class LabelColumns:
    """The labels of rows that have one, which rows these are, and their weights and groups.

    Several targets are a table (n, K) of 0 and 1.
    """

    labels: NDArray[Any]
    known: NDArray[np.bool_]
    weight: Floats | None
    groups: NDArray[Any] | None


def read_label_rows(path: Path, layout: Layout, targets: Sequence[str], weight: str | None, group: str | None) -> LabelColumns:
    """Read the columns of labels, weights and groups."""
    numbers = () if weight is None else (Column(weight, "number", layout.names.index(weight)),)
    schema = TableSchema(numbers, layout.header, len(layout.names))
    chunks = list(read_chunks(path, layout, schema, [name for name in (*targets, group) if name is not None]))
    if not chunks or not sum(chunk.kept.num_rows for chunk in chunks):
        raise DataError(f"{path} has a header but no rows.")
    kept = pa.concat_tables([chunk.kept for chunk in chunks])
    valid, found = zip(*(read_labels(kept[target], target, path) for target in targets), strict=True)
    known = np.logical_and.reduce([np.asarray(one) for one in valid])
    labels = found[0]
    if len(targets) > 1:
        columns = [_zeros_and_ones(*one, path) for one in zip(targets, valid, found, strict=True)]
        labels = np.stack(columns, 1)[known]
    return LabelColumns(
        labels,
        known,
        None if weight is None else np.concatenate([chunk.features[weight].to_numpy() for chunk in chunks])[known],
        None if group is None else _codes(kept[group].filter(pa.array(known)), group, path),
    )


def _zeros_and_ones(target: str, valid: Any, labels: NDArray[Any], path: Path) -> NDArray[np.int64]:
    """One of several targets, with zeros where a row has no label."""
    names, index = np.unique(np.char.lower(labels.astype(str)), return_inverse=True)
    if unknown := [name for name in names.tolist() if name not in _ZERO_OR_ONE]:
        raise DataError(
            f"{path}, column {quoted(target)}: one of several targets should be 0 and 1, or true and false, got "
            f"{quoted(unknown[0])}. For one label per row, pass one --target."
        )
    column = np.zeros(len(valid), np.int64)
    column[np.asarray(valid)] = np.array([_ZERO_OR_ONE[name] for name in names.tolist()], np.int64)[index]
    return column


def labels_of(targets: Sequence[str]) -> list[str]:
    """The labels that several targets are about.

    >>> labels_of(["y_jazz", "y_rock"]), labels_of(["jazz", "is_rock"])
    (['jazz', 'rock'], ['jazz', 'is_rock'])
    """
    found = [_OF_A_TARGET.fullmatch(target.strip()) for target in targets]
    return [one[1] for one in found if one] if all(found) else list(targets)


def _codes(column: Any, name: str, path: Path) -> NDArray[np.int64]:
    if column.null_count:
        raise DataError(
            f"{path}, column {quoted(name)} has {column.null_count:,} rows without a value. Every row needs a group."
        )
    found = column.combine_chunks().dictionary_encode()
    return np.asarray((found.combine_chunks() if hasattr(found, "combine_chunks") else found).indices, np.int64)


def find_classes(text: str | None, labels: NDArray[Any], target: str, name: str) -> tuple[NDArray[Any], list[Any] | None]:
    """All classes, sorted, and their order in the ``text`` of ``--classes``."""
    found = np.unique(labels)
    order: list[Any] | None = None
    if text is not None:
        wanted = split_names([text])
        numbers = found.dtype.kind in "iu" and all(re.fullmatch(r"-?\d+", one) for one in wanted)
        order = [int(one) for one in wanted] if numbers else list(wanted)
        if found.dtype.kind == "b":
            order = [{"true": True, "false": False}.get(one.lower(), one) for one in wanted]
        if len(set(order)) < len(order):
            raise UsageError(f"--classes should name every class once, got {text}.")
        if unknown := [label for label in found.tolist() if label not in order]:
            n_rows = int((labels == unknown[0]).sum())
            raise DataError(
                f"{name}, column {quoted(target)}: the label {quoted(unknown[0])} ({n_rows:,} rows) is not in --classes, so "
                "it has no column of scores."
            )
        found = np.array(sorted(order))
    if len(np.unique(labels)) < 2:
        raise DataError(
            f"{name}, column {quoted(target)} has only one class: {listed([str(one) for one in np.unique(labels)], 1)}."
        )
    return found, order


def shares_of(text: str) -> Iterator[tuple[str, float]]:
    """Names and numbers of ``--prevalence``, such as ``fraud=0.003,error=1%``."""
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, sign, number = part.rpartition("=")
        try:
            value = float(number.strip().removesuffix("%")) / (100.0 if number.strip().endswith("%") else 1.0)
        except ValueError:
            sign = ""
        if not sign or not name.strip():
            raise UsageError(f"--prevalence should be shares such as fraud=0.003, separated by commas; got {part!r}.")
        yield name.strip(), value


def budget_of(texts: Sequence[str] | None, classes: Sequence[Any]) -> dict[Any, str] | None:
    """The caps of ``--budget``, such as ``fraud=200`` and ``error=2%``, by class."""
    found = dict[Any, str]()
    for text in texts or ():
        name, sign, cap = text.rpartition("=")
        if not sign:
            raise UsageError(
                f"--budget should be a class and a number of rows or a share, fraud=200 or fraud=2%; got {text!r}."
            )
        label = label_like(name.strip(), np.array(classes), "--budget")
        if label in found:
            raise UsageError(f"--budget of {quoted(label)} occurs twice.")
        found[label] = cap
    return found or None
