"""What ``compare`` and ``fit`` are asked: a table, its target, a metric, and which rows are held out; all of it checked."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit._errors import DataError, UsageError
from metricfit.cli import _options as options
from metricfit.cli._costs import parse_cost
from metricfit.cli._dead_ends import check_splits
from metricfit.cli._evaluation_rows import read_test
from metricfit.cli._options import say

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from metricfit.data import LabelledTable, Layout, TableSchema
    from metricfit.metrics import MetricLike
    from metricfit.profile import TableProfile

DEFAULT_METRIC = "f1"
MOST_CLASSES_SHOWN = 10


@dataclass(frozen=True)
class Asked:
    """The options as the user gave them."""

    data: Path
    target: str | None = None
    metric: str | None = None
    cost: str | None = None
    positive: str | None = None
    classes: str | None = None
    drop: Sequence[str] | None = None
    numeric: Sequence[str] | None = None
    categorical: Sequence[str] | None = None
    merge_rare: int = 0
    drop_rare: int = 0
    group: str | None = None
    time: str | None = None
    test: Path | None = None
    keep_shared: bool = False
    header: bool | None = None
    delimiter: str | None = None
    encoding: str | None = None
    folds: int = 5
    repeats: int = 2

    @classmethod
    def among(cls, given: Mapping[str, Any]) -> Asked:
        """Those among the options of a command that are about the data and the metric."""
        return cls(**{field.name: given[field.name] for field in fields(cls)})

    @property
    def name(self) -> str:
        """The name of the file; bytes of it that are no text are escapes, because reports are UTF-8."""
        return "stdin" if str(self.data) == "-" else os.fsencode(self.data.name).decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class Judged:
    """What models are judged by, as ``compare`` and ``MetricClassifier`` take it, and what was decided about it."""

    metric: MetricLike
    pos_label: Any = None
    class_order: list[Any] | None = None
    notes: tuple[str, ...] = ()

    @property
    def classes(self) -> dict[str, Any]:
        return {"pos_label": self.pos_label, "class_order": self.class_order}


@dataclass(frozen=True)
class Inputs:
    """The table, the metric and the held-out rows of a command, after all checks."""

    name: str
    table: LabelledTable
    schema: TableSchema
    profile: TableProfile
    judged: Judged
    groups: NDArray[Any] | None = None
    time: NDArray[Any] | None = None
    test: tuple[pa.Table, NDArray[Any]] | None = None

    @property
    def for_compare(self) -> dict[str, Any]:
        """Arguments of ``compare`` that say how classes are judged, and on which rows."""
        return {**self.judged.classes, "groups": self.groups, "time": self.time, "test": self.test}


def read_inputs(asked: Asked) -> Inputs:
    """Read the file. Notes on stderr name everything that was detected or assumed."""
    import numpy as np

    from metricfit import data

    check_options(asked)
    with data.input_file(asked.data) as path:
        layout = _find_layout(asked, path)
        target = layout.names[-1] if asked.target is None else data.column_named(asked.target, layout.names, "--target")
        dropped = _named_columns(asked.drop, layout, "--drop", target)
        numeric = _named_columns(asked.numeric, layout, "--numeric", target)
        categorical = _named_columns(asked.categorical, layout, "--categorical", target)
        group, time = (_one_column(getattr(asked, name), layout, name, [target, *dropped]) for name in ("group", "time"))
        raw, schema = data.read_table(path, layout, target, dropped, say, numeric, categorical)
    rare = (asked.merge_rare, say, asked.drop_rare, partial(_order_to_keep, asked))
    table = data.split_target(raw, target, Path(asked.name), *rare)
    if asked.classes is not None and table.renamed:
        left = [name for name in asked.classes.split(",") if name.strip() not in map(str, table.renamed)]
        asked = replace(asked, classes=",".join(left))
    if table.n_unlabelled:
        say(f"{table.n_unlabelled:,} rows without a value in {target!r} are dropped.")
    left_out = dict.fromkeys(dropped, "dropped by --drop")
    held: dict[str, NDArray[Any]] = {}
    for option, name, does in (("group", group, "groups the rows"), ("time", time, "orders the rows")):
        if name is not None:
            table, schema, held[option] = _take_out(table, schema, name, f"--{option}", does)
            left_out[name] = f"{does}, --{option}"
    test, shared = None, ""
    if asked.test is not None:
        test, shared = read_test(asked.test, _find_layout(asked, asked.test), schema, table, asked.keep_shared)
    judged = check_metric(asked, *np.unique(table.labels, return_counts=True), table.order)
    known = {*left_out, target, *(column.name for column in schema.columns)}
    left_out |= {name: "a row index, dropped" for name in layout.names if name not in known}
    profile = _look_at(asked.name, table, schema, left_out, random_folds=not held and test is None)
    if shared:
        say(f"Warning: {shared}")
        profile = replace(profile, warnings=(*profile.warnings, shared))
    for note in judged.notes:
        say(note)
    if test is None:
        check_splits(table.labels, asked.folds, asked.repeats, held.get("group"), held.get("time"))
    schema = data.describe_values(schema, table.features)
    return Inputs(asked.name, table, schema, profile, judged, held.get("group"), held.get("time"), test)


def check_options(asked: Asked) -> None:
    """Everything that can be refused before the file is read."""
    if asked.cost is not None and asked.metric is not None:
        raise UsageError("--cost is a metric of its own: pass --cost or --metric, not both.")
    if asked.positive is not None and asked.classes is not None:
        raise UsageError("--positive and --classes exclude each other: of two --classes the last is the positive one.")
    if asked.cost is None:
        options.check_metric(asked.metric or DEFAULT_METRIC)
    if asked.merge_rare and asked.drop_rare:
        raise UsageError("--merge-rare and --drop-rare exclude each other: pass one of them.")
    given = [name for name in ("group", "time", "test") if getattr(asked, name) is not None]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} exclude each other: both say which rows are held out.")


def _find_layout(asked: Asked, path: Path) -> Layout:
    from metricfit import data

    delimiter = options.parse_delimiter(asked.delimiter)
    layout = data.layout_of(path, delimiter=delimiter, encoding=asked.encoding, header=asked.header)
    for note in layout.notes:
        say(note)
    return layout


def _named_columns(given: Sequence[str] | None, layout: Layout, option: str, target: str) -> list[str]:
    """Columns by name or number; an option may be repeated, or have several columns separated by commas."""
    from metricfit.data import column_named

    wanted = [name for one in given or () for name in ([one] if one in layout.names else one.split(","))]
    found = [column_named(name.strip(), layout.names, option) for name in wanted]
    if target in found:
        raise UsageError(f"{option} {target!r} is the target. Pass another column to --target or to {option}.")
    return found


def _one_column(given: str | None, layout: Layout, option: str, others: Sequence[str]) -> str | None:
    """A column by name or number, that is not the target and not dropped."""
    from metricfit.data import column_named

    name = None if given is None else column_named(given, layout.names, f"--{option}")
    if name in others:
        raise UsageError(f"--{option} {name!r} is the target or is dropped. Pass another column to --{option}.")
    return name


def _take_out(
    table: LabelledTable, schema: TableSchema, name: str, option: str, does: str
) -> tuple[LabelledTable, TableSchema, NDArray[Any]]:
    """The table and the schema without a column that says which rows are held out, and its values."""
    import numpy as np

    if name not in table.features.column_names:
        raise UsageError(f"{option} {name!r} is a row index, which says nothing about the rows. Pass another column.")
    column = table.features[name]
    if column.null_count:
        raise DataError(f"{option} {name!r} has {column.null_count:,} rows without a value. Fill them or remove these rows.")
    if option == "--time" and next(one.type for one in schema.columns if one.name == name) not in ("number", "date", "time"):
        raise DataError(f"{option} {name!r} should hold dates or numbers, got text such as {column[0].as_py()!r}.")
    say(f"Column {name!r} {does} and is not used as a feature.")
    left = replace(table, features=table.features.drop_columns(name))
    if not left.features.num_columns:
        raise DataError(f"There are no columns left beside {name!r} and the target.")
    columns = tuple(one for one in schema.columns if one.name != name)
    return left, replace(schema, columns=columns), np.array(column.to_pylist())


def _order_to_keep(asked: Asked, classes: NDArray[Any], known: Sequence[Any] | None) -> Sequence[Any] | None:
    """The order of the classes, if the metric depends on it."""
    from metricfit import metrics

    name = asked.metric or DEFAULT_METRIC
    if asked.cost is not None or len(classes) < 3 or getattr(metrics.get(name), "average", "") == "binary":
        return None
    if not metrics.get(name).depends_on_order(len(classes)):
        return None
    order = _parse_order(asked.classes, classes) if asked.classes is not None else list(known or ()) or None
    _check_order(name, classes, order)
    return classes.tolist() if order is None else order


def check_metric(asked: Asked, classes: NDArray[Any], counts: NDArray[Any], known: Sequence[Any] | None = None) -> Judged:
    """Metric, positive class and order of the classes, ``known`` if the file has it; more than two make "f1" "f1_macro"."""
    from metricfit import metrics
    from metricfit.data import label_like

    order = _parse_order(asked.classes, classes) if asked.classes is not None else list(known or ()) or None
    label = None if asked.positive is None else label_like(asked.positive, classes, "--positive")
    if asked.cost is not None:
        costs = parse_cost(asked.cost, classes)
        _refuse_positive(label, "--cost", len(classes))
        listed = "; ".join(f"{true}, {predicted} = {cost:g}" for true, predicted, cost in _pairs(costs))
        return Judged(costs, notes=(f"Costs (true class, predicted class): {listed}.",))
    name, notes = _for_classes(asked.metric or DEFAULT_METRIC, len(classes))
    if asked.metric is None:
        why = f"No --metric: {name} is used, since accuracy can be high without finding a rare class."
        notes = (*notes, f"{why} `metricfit metrics` lists others.")
    notes += _check_order(name, classes, order)
    if not _has_positive(name, len(classes)):
        _refuse_positive(label, name, len(classes))
        return Judged(name, None, order, notes)
    why = ""
    if label is None:
        index, why = metrics.positive_of(classes, counts)
        label, why = (order[-1], "the last of the order") if order else (classes.tolist()[index], why)
        why = f", {why}. Pass --positive to change this"
    notes += (f"The positive class for {name} is {label!r}{why}.",)
    return Judged(name, label, None, notes)


def _parse_order(given: str, classes: NDArray[Any]) -> list[Any]:
    from metricfit.data import label_like

    order = [label_like(name.strip(), classes, "--classes") for name in given.split(",") if name.strip()]
    missing = [str(label) for label in classes.tolist() if label not in order]
    if missing or len(set(order)) < len(order):
        what = f"{missing[0]!r} is missing" if missing else "a class is there twice"
        raise UsageError(f"--classes should name all {len(classes)} classes once, in their order: {what}.")
    return order


def _for_classes(name: str, n_classes: int) -> tuple[str, tuple[str, ...]]:
    """The metric, or its mean over classes where there are more than two; and a note if it was changed."""
    from metricfit import metrics

    notes: tuple[str, ...] = ()
    if n_classes > 2 and getattr(metrics.get(name), "average", "") == "binary":
        notes = (f"{name} needs two classes, got {n_classes}: {name}_macro, the mean over classes, is used instead.",)
        name += "_macro"
    try:
        metrics.get(name).check_classes(n_classes)
    except ValueError as error:
        raise UsageError(f"--metric {name} does not fit {n_classes} classes: {error}") from error
    return name, notes


def _check_order(name: str, classes: NDArray[Any], order: list[Any] | None) -> tuple[str, ...]:
    """Refuse names without an order where it matters; a note has the order that is used."""
    from metricfit import metrics

    if not metrics.get(name).depends_on_order(len(classes)):
        return ()
    if order is None and classes.dtype.kind not in "iufb":
        known = shlex.quote(",".join(map(str, classes)))
        raise UsageError(
            f"--metric {name} needs the order of the classes, and names have none. Pass --classes {known} with the classes in "
            "their order, from the lowest to the highest."
        )
    return (f"The order of the classes is {' < '.join(map(str, classes.tolist() if order is None else order))}.",)


def _has_positive(name: str, n_classes: int) -> bool:
    from metricfit import metrics

    return n_classes == 2 and getattr(metrics.get(name), "average", "") == "binary"


def _refuse_positive(label: Any, metric: str, n_classes: int) -> None:
    if label is not None:
        raise UsageError(
            f"--positive does not apply to {metric} with {n_classes} classes. It is for two classes and metrics such as f1."
        )


def _pairs(costs: Any) -> list[tuple[Any, Any, float]]:
    named = [(*pair, cost) for pair, cost in costs.matrix.items()]
    return named if costs.otherwise is None else [*named, ("others", "others", costs.otherwise)]


def _look_at(
    name: str, table: LabelledTable, schema: TableSchema, left_out: Mapping[str, str], random_folds: bool
) -> TableProfile:
    """Say what the table holds, and what may mislead."""
    import numpy as np

    from metricfit.profile import profile_table

    say_contents(name, schema, table.target, *np.unique(table.labels, return_counts=True))
    profile = profile_table(table.features, table.labels, schema, left_out, random_folds)
    for line in profile.warnings:
        say(f"Warning: {line}")
    return profile


def say_contents(name: str, schema: TableSchema, target: str, classes: NDArray[Any], counts: NDArray[Any]) -> None:
    """Say how many rows, columns and classes there are."""
    sizes = ", ".join(f"{one} {count:,}" for one, count in list(zip(classes, counts, strict=True))[:MOST_CLASSES_SHOWN])
    more = f" and {len(classes) - MOST_CLASSES_SHOWN} more classes" if len(classes) > MOST_CLASSES_SHOWN else ""
    say(f"{name}: {counts.sum():,} rows, {_describe_columns(schema)}; classes in {target!r}: {sizes}{more}.")


def _describe_columns(schema: TableSchema) -> str:
    """The number of columns of each type."""
    counts = Counter(column.type for column in schema.columns)
    words = {"number": "number", "string": "categorical or text", "boolean": "boolean", "date": "date", "time": "time of day"}
    parts = ", ".join(f"{counts[kind]} {word}" for kind, word in words.items() if counts[kind])
    return f"{len(schema.columns)} columns ({parts})"
