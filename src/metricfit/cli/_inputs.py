"""The inputs of ``compare`` and ``fit``: a table, its target, a metric, and which rows are held out.

All of it is checked before any training: also that the rows of ``--test`` are not training rows, and that there are enough
rows, groups and moments for the splits that a verdict needs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from metricfit import comparison, data
from metricfit._errors import DataError, UsageError
from metricfit._printable import quoted
from metricfit._progress import bar_or_lines, in_words
from metricfit.cli._arguments import announced_layout, file_name, find_columns, in_options, say
from metricfit.cli._metric import DEFAULT_METRIC, MetricChoice, check_metric, choose_metric, order_to_keep
from metricfit.cli._options import TableOptions
from metricfit.comparison import FEWEST_SCORES, Comparison, Limits, check_request, check_training_classes, plan_time
from metricfit.data import LabelledTable, Layout, TableSchema
from metricfit.metrics import resolve_metric
from metricfit.profile import TableProfile, find_shared, profile_table

Rows = tuple[pa.Table, NDArray[Any]]  # features and labels

MOST_CLASSES_SHOWN = 10


@dataclass(frozen=True)
class Inputs:
    """The table, the metric and the held-out rows of a command, after all checks."""

    name: str  # of the file
    table: LabelledTable
    schema: TableSchema
    profile: TableProfile
    choice: MetricChoice
    groups: NDArray[Any] | None = None
    time: NDArray[Any] | None = None
    test: Rows | None = None

    def compare(self, options: TableOptions, n_jobs: int | None, **more: Any) -> Comparison:
        """Compare models on the table, with a progress bar; ``more`` are further arguments of ``metricfit.compare``."""
        if options.time_limit is not None and n_jobs is not None:  # a cluster may have any number of workers
            say(self._time_of_fits(options, options.time_limit, n_jobs))
        with bar_or_lines(by_split=True) as progress:
            return comparison.compare(
                self.table.features,
                self.table.labels,
                self.choice.metric,
                pos_label=self.choice.pos_label,
                class_order=self.choice.class_order,
                groups=self.groups,
                time=self.time,
                test=self.test,
                n_splits=options.folds,
                n_repeats=options.repeats,
                n_jobs=n_jobs,
                random_state=options.seed,
                subject_to=options.subject_to,
                confidence=options.confidence,
                calibration=options.calibration,
                time_limit=options.time_limit,
                progress=progress,
                **more,
            )

    def _time_of_fits(self, options: TableOptions, time_limit: float, n_jobs: int) -> str:
        """How long all fits with the time limit take: one per split, and the last one of ``metricfit fit``."""
        n_splits = 1 if self.test is not None else options.folds * (1 if self.time is not None else options.repeats)
        last = 1 if hasattr(options, "out") else 0
        seconds = time_limit * (math.ceil(n_splits / n_jobs) + last)
        each = f"{n_splits} split{'s' if n_splits > 1 else ''} of the comparison{' and the fit to all rows' if last else ''}"
        return f"--time-limit is for each fit of the ensemble: {each} take about {in_words(seconds)}."


def read_inputs(file: Path, options: TableOptions) -> Inputs:
    """Read the file, by options that :func:`check_options` accepts; notes on stderr name what was detected or assumed."""
    name = file_name(file)
    with data.input_file(file) as path:
        layout = announced_layout(path, options)
        target = layout.names[-1] if options.target is None else data.column_named(options.target, layout.names, "--target")
        dropped = find_columns(options.drop, layout.names, "--drop")
        if target in dropped:
            raise UsageError(f"--drop {target!r} is the target. Pass another column to --target or to --drop.")
        numeric = find_columns(options.numeric, layout.names, "--numeric")
        categorical = find_columns(options.categorical, layout.names, "--categorical")
        group = _one_column(options.group, layout, "--group", [target, *dropped])
        time = _one_column(options.time, layout, "--time", [target, *dropped])
        raw, schema = data.read_table(path, layout, target, dropped, say, numeric, categorical)
    order = partial(order_to_keep, options)
    table = data.split_target(raw, target, Path(name), options.merge_rare, say, options.drop_rare, order)
    if options.classes is not None and table.renamed:
        left = [label for label in options.classes.split(",") if label.strip() not in map(str, table.renamed)]
        options = replace(options, classes=",".join(left))
    if table.n_unlabelled:
        say(f"{table.n_unlabelled:,} rows without a value in {target!r} are dropped.")
    left_out, groups, times = dict.fromkeys(dropped, "dropped by --drop"), None, None
    if group is not None:
        table, schema, groups = _take_out(table, schema, group, "--group", "groups the rows")
        left_out[group] = "groups the rows, --group"
    if time is not None:
        table, schema, times = _take_out(table, schema, time, "--time", "orders the rows")
        left_out[time] = "orders the rows, --time"
    test, shared = None, ""
    if options.test is not None:
        test, shared = read_test(options.test, announced_layout(options.test, options), schema, table, options.keep_shared)
    choice = choose_metric(options, *np.unique(table.labels, return_counts=True), table.order)
    _check_limits(options, choice, table)
    known = {*left_out, target, *(column.name for column in schema.columns)}
    left_out |= {column: "a row index, dropped" for column in layout.names if column not in known}
    profile = _profile(name, table, schema, left_out, random_folds=groups is None and times is None and test is None)
    if shared:
        say(f"Warning: {shared}")
        profile = replace(profile, warnings=(*profile.warnings, shared))
    for note in choice.notes:
        say(note)
    if test is None:
        check_splits(table.labels, options.folds, options.repeats, groups, times)
    schema = data.describe_values(schema, table.features)
    return Inputs(name, table, schema, profile, choice, groups, times, test)


def check_options(options: TableOptions, models: Sequence[str] | None = None, methods: Sequence[str] | None = None) -> None:
    """Refuse what can be refused before the file is read."""
    if options.cost is not None and options.metric is not None:
        raise UsageError("--cost replaces the metric: pass --cost or --metric, not both.")
    if options.positive is not None and options.classes is not None:
        raise UsageError("--positive and --classes cannot be combined: of two --classes the last is the positive one.")
    if options.cost is None:
        check_metric(options.metric or DEFAULT_METRIC)
    if options.merge_rare and options.drop_rare:
        raise UsageError("--merge-rare and --drop-rare cannot be combined: pass one of them.")
    with in_options():
        check_request(
            models=models,
            methods=methods,
            groups=options.group,
            time=options.time,
            test=options.test,
            subject_to=options.subject_to,
            confidence=options.confidence,
            calibration=options.calibration,
            time_limit=options.time_limit,
        )


def _check_limits(options: TableOptions, choice: MetricChoice, table: LabelledTable) -> None:
    """Refuse constraints that no decision about these classes could keep."""
    if options.subject_to is None:
        return
    classes, counts = np.unique(table.labels, return_counts=True)
    with in_options():
        metric = resolve_metric(choice.metric, None, choice.pos_label, classes, choice.class_order, counts)
        Limits.read(options.subject_to, options.confidence, options.calibration, metric, choice.pos_label, classes, counts)


def _one_column(column: str | None, layout: Layout, option: str, others: Sequence[str]) -> str | None:
    """A column by name or number, that is not the target and not dropped."""
    name = None if column is None else data.column_named(column, layout.names, option)
    if name in others:
        raise UsageError(f"{option} {name!r} is the target or is dropped. Pass another column to {option}.")
    return name


def _take_out(
    table: LabelledTable, schema: TableSchema, name: str, option: str, does: str
) -> tuple[LabelledTable, TableSchema, NDArray[Any]]:
    """The table and the schema without a column that says which rows are held out, and its values."""
    if name not in table.features.column_names:
        raise UsageError(f"{option} {name!r} is a row index, which carries no information. Pass another column.")
    column = table.features[name]
    if column.null_count:
        raise DataError(f"{option} {name!r} has {column.null_count:,} rows without a value. Fill them or remove these rows.")
    if option == "--time" and next(one.type for one in schema.columns if one.name == name) not in ("number", "date", "time"):
        raise DataError(f"{option} {name!r} should contain dates or numbers, got text such as {column[0].as_py()!r}.")
    say(f"Column {name!r} {does} and is not used as a feature.")
    left = replace(table, features=table.features.drop_columns(name))
    if not left.features.num_columns:
        raise DataError(f"There are no columns left except {name!r} and the target.")
    columns = tuple(one for one in schema.columns if one.name != name)
    return left, replace(schema, columns=columns), np.array(column.to_pylist())


def _profile(
    name: str, table: LabelledTable, schema: TableSchema, left_out: Mapping[str, str], random_folds: bool
) -> TableProfile:
    """Say what the table holds, and what may mislead."""
    say_contents(name, schema, table.target, *np.unique(table.labels, return_counts=True))
    profile = profile_table(table.features, table.labels, schema, left_out, random_folds)
    for line in profile.warnings:
        say(f"Warning: {line}")
    return profile


def say_contents(name: str, schema: TableSchema, target: str, classes: NDArray[Any], counts: NDArray[Any]) -> None:
    sizes = ", ".join(f"{one} {count:,}" for one, count in list(zip(classes, counts, strict=True))[:MOST_CLASSES_SHOWN])
    more = f" and {len(classes) - MOST_CLASSES_SHOWN} more classes" if len(classes) > MOST_CLASSES_SHOWN else ""
    say(f"{name}: {counts.sum():,} rows, {_describe_columns(schema)}; classes in {target!r}: {sizes}{more}.")


def _describe_columns(schema: TableSchema) -> str:
    counts = Counter(column.type for column in schema.columns)
    words = {"number": "number", "string": "categorical or text", "boolean": "boolean", "date": "date", "time": "time of day"}
    parts = ", ".join(f"{counts[kind]} {word}" for kind, word in words.items() if counts[kind])
    return f"{len(schema.columns)} columns ({parts})"


def read_test(path: Path, layout: Layout, schema: TableSchema, table: LabelledTable, keep_shared: bool) -> tuple[Rows, str]:
    """The rows of ``--test``, with the types of the table; and a warning if they are rows of the table."""
    target = data.column_named(table.target, layout.names, "--target")
    chunks = list(data.read_chunks(path, layout, schema, [target], say=say))
    if not chunks:
        raise DataError(f"{path} has no rows.")
    features = pa.concat_tables([chunk.features for chunk in chunks])
    known, labels = data.read_labels(pa.concat_tables([chunk.kept for chunk in chunks])[target], target, path)
    features = features.filter(known)
    dropped = f"; {len(known) - len(labels):,} without a label are dropped" if len(labels) < len(known) else ""
    if table.renamed:
        new = {str(label): name for label, name in table.renamed.items()}
        names = [new.get(str(label), label) for label in labels.tolist()]
        rows = np.array([name is not None for name in names])
        features, labels = features.filter(pa.array(rows)), np.array([name for name in names if name is not None])
        dropped += f"; {(~rows).sum():,} of dropped classes are dropped" if not rows.all() else ""
    if labels.dtype.kind != table.labels.dtype.kind:
        labels = labels.astype(str).astype(table.labels.dtype.type)
    say(f"{path.name}: {len(labels):,} rows for evaluation{dropped}.")
    return _leave_out_shared(path, table, features, labels, keep_shared)


def _leave_out_shared(
    path: Path, table: LabelledTable, features: pa.Table, labels: NDArray[Any], keep_shared: bool
) -> tuple[Rows, str]:
    """The test rows that are not in the table, and a warning about the others."""
    shared = find_shared(table.features, table.labels, features, labels)
    n_rows, n_shared = len(labels), int(shared.rows.sum())
    if n_shared and shared.by_chance:
        say(f"{path.name}: {n_shared:,} rows equal a training row. Training rows repeat just as often, so these rows count.")
    if not n_shared or shared.by_chance:
        return (features, labels), ""
    more = (
        f" {shared.n_other_label:,} more rows have the features of a training row but another label."
        if shared.n_other_label
        else ""
    )
    found = f"{n_shared:,} of {n_rows:,} rows of {path.name} are rows of the training file, with the same label"
    if keep_shared:
        return (features, labels), f"{found}. They count because of --keep-shared, so scores are too optimistic.{more}"
    if n_shared == n_rows:
        raise DataError(
            f"All {n_rows:,} rows of {path} are rows of the training file, with the same label. Pass a file of "
            "other rows, leave out --test to cross-validate, or pass --keep-shared to include them."
        )
    left = pa.array(~shared.rows)
    return (
        (features.filter(left), labels[~shared.rows]),
        f"{found}. They are left out: scores come from the other {n_rows - n_shared:,} rows. "
        f"Pass --keep-shared to include them.{more}",
    )


def check_splits(
    labels: NDArray[Any], folds: int, repeats: int, groups: NDArray[Any] | None, time: NDArray[Any] | None
) -> None:
    """Raise a DataError with what to type if a class, a group or a moment is too rare for the splits that a verdict needs.

    Options that ask for too few splits are not a mistake in the data.
    """
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    needs = f"a verdict needs {FEWEST_SCORES}"
    if time is not None:
        try:
            plan = plan_time(time, len(labels), folds, 1)
            check_training_classes(plan, codes.astype(np.int64), classes)
        except ValueError as error:
            raise DataError(str(error)) from error
        if len(plan.splits) < FEWEST_SCORES <= folds:
            raise DataError(
                f"--time has so many rows of the same moment that there are {len(plan.splits)} forward splits; {needs}. Pass "
                "a finer column, or leave out --time."
            )
        return
    if groups is not None:
        for label, n_rows in zip(classes.tolist(), counts.tolist(), strict=True):
            if len(np.unique(groups[labels == label])) < 2:
                raise DataError(
                    f"Class {quoted(label)} ({n_rows:,} rows) occurs in only one value of --group, so it is missing from "
                    f"training if that is held out. {_help_rare(n_rows + 1)}, or leave out --group."
                )
    most = int(counts.min()) if groups is None else len(np.unique(groups))  # folds that the data allow
    if not min(folds, most) * repeats < FEWEST_SCORES <= folds * repeats:
        return
    more = f"--repeats {math.ceil(FEWEST_SCORES / most)}"
    if groups is not None:
        allow = f"--group has {most} values, enough for {most} folds"
        raise DataError(f"{allow}; {needs} scores. Pass {more}, or leave out --group.")
    name, enough = quoted(classes.tolist()[counts.argmin()]), math.ceil(FEWEST_SCORES / repeats)
    raise DataError(
        f"Class {name} has {most} rows, which allow {most} folds and {most * repeats} scores with --repeats {repeats}; "
        f"{needs}. {_help_rare(enough)}, or {more}."
    )


def _help_rare(enough: int) -> str:
    return f"Pass --drop-rare {enough} to drop the rows of rare classes, --merge-rare {enough} to join them with others"
