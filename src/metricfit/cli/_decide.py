"""``metricfit decide``: the best decision by the scores of any classifier."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit import data
from metricfit._errors import DataError, UsageError
from metricfit._files import check_free, new_file
from metricfit._printable import listed, printable, quoted
from metricfit.cli._arguments import announced_layout, file_name, find_columns, in_options, parse_delimiter, say, split_names
from metricfit.cli._metric import check_metric, parse_cost
from metricfit.cli._options import DecideOptions
from metricfit.cli._score_files import (
    LabelColumns,
    ScoreColumns,
    budget_of,
    find_classes,
    find_score_columns,
    labels_of,
    read_label_rows,
    read_score_rows,
    score_schema,
    shares_of,
)
from metricfit.decisions import DecisionRule
from metricfit.metrics import name_of
from metricfit.report import Run, decision_page

MOST_SHOWN = 10  # classes in a note
_OF_ROWS = re.compile(r".+_samples|subset_accuracy")  # metrics of several labels per row


def decide(options: DecideOptions) -> None:
    _check(options)
    for file in (options.out, options.report):
        if file is not None:
            check_free(file, "pass --overwrite", options.overwrite)
    inputs = _read(options)
    rule = _fit(options, inputs)
    adjusted = _adjust(options, inputs, rule)
    _say_inputs(options, inputs)
    decides = adjusted.attainable_ or options.fallback is not None
    out = options.out if decides else None
    next_command = "" if out is None else shlex.join(["metricfit", "predict", str(out), "new_scores.csv"])
    if options.report is not None:
        run = Run.now(inputs.name, inputs.target, next_command)
        with new_file(options.report, options.overwrite) as page:
            text = decision_page(adjusted, inputs.scores, inputs.rows.labels, run, inputs.rows.weight)
            page.write_text(text, encoding="utf-8")
        say(f"Report: {options.report}")
    if out is not None:
        adjusted.save(out, overwrite=options.overwrite)
        say(f"Rule: {out}")
    if options.as_json:
        print(json.dumps(_as_json(adjusted, rule, inputs), indent=1))
        return
    lines = [adjusted.summary(), *([f"Next: {next_command}"] if next_command else [])]
    if not decides:
        nothing = " No rule was written." if options.out is not None else ""
        lines.append(f"Pass --fallback best to use the best limit that is possible.{nothing}")
    print("\n".join(map(printable, "\n".join(lines).split("\n"))))


@dataclass(frozen=True)
class _Inputs:
    """What was read: the labels, the scores in the order of the classes, and where they are in the file."""

    name: str
    targets: list[str]
    layout: data.Layout
    rows: LabelColumns
    columns: ScoreColumns
    scores: NDArray[Any]
    costs: dict[str, NDArray[Any]] | None  # that differ from row to row
    metric: Any
    pos_label: Any
    class_order: list[Any] | None

    @property
    def target(self) -> str:
        return ", ".join(self.targets)

    @property
    def has_many(self) -> bool:
        return len(self.targets) > 1


def _check(options: DecideOptions) -> None:
    """Refuse wrong options before the file is read."""
    if options.cost is not None and options.metric is not None:
        raise UsageError("--cost replaces the metric: pass --cost or --metric, not both.")
    if options.prevalence is not None and options.adapt is not None:
        raise UsageError("--prevalence and --adapt cannot be combined: both set the class shares.")
    if options.out is not None and options.out == options.report:
        raise UsageError(f"--out and --report name the same file, {options.out}.")
    if options.fallback is not None and options.subject_to is None and options.abstain is None:
        raise UsageError("--fallback applies to constraints that cannot be kept: pass --subject-to or --abstain too.")
    if options.metric is not None:
        name, at, rank = options.metric.partition("@")
        if at and not (name in ("precision", "recall") and rank.isdigit()):
            raise UsageError(
                f"--metric {options.metric!r}: only recall and precision take a number of rows, as in recall@200."
            )
        if not _OF_ROWS.fullmatch(name):
            check_metric(name)
    if options.target and not all(split_names(options.target)):
        raise UsageError(f"--target should name columns, got {','.join(options.target)!r}.")
    parse_delimiter(options.delimiter)


def _read(options: DecideOptions) -> _Inputs:
    with data.input_file(options.data) as path:
        layout = announced_layout(path, options)
        targets = find_columns(options.target, layout.names, "--target") or [layout.names[-1]]
        weight, group = (
            None if text is None else data.column_named(text, layout.names, option)
            for text, option in ((options.weight, "--weight"), (options.groups, "--groups"))
        )
        used = [name for name in (*targets, weight, group) if name is not None]
        if len(set(used)) < len(used):
            raise UsageError("--target, --weight and --groups should be different columns.")
        passed = find_columns(options.scores, layout.names, "--scores")
        if both := [name for name in passed if name in used or passed.count(name) > 1]:
            raise UsageError(
                f"--scores {quoted(both[0])} is used twice: scores, labels, weights and groups need separate columns."
            )
        rows, name = read_label_rows(path, layout, targets, weight, group), file_name(options.data)
        if len(targets) > 1:
            _check_many(options)
            classes, order = np.array(labels_of(targets)), None
        else:
            classes, order = find_classes(options.classes, rows.labels, targets[0], name)
        metric: Any = options.metric or ("f1" if len(classes) == 2 and len(targets) == 1 else "f1_macro")
        if options.cost is not None:
            metric = parse_cost(options.cost, classes, [one for one in layout.names if one not in (*targets, *passed)])
        elif len(targets) == 1 and _OF_ROWS.fullmatch(metric):
            raise UsageError(f"--metric {metric} is for several labels per row: pass all their columns as --target a,b.")
        costs = () if options.cost is None else metric.columns
        others = [column for column in layout.names if column not in used and column not in costs]
        columns = replace(find_score_columns(others, classes.tolist(), passed, order, layout.header), costs=costs)
        pos_label = None if options.pos_label is None else data.label_like(options.pos_label, classes, "--pos-label")
        if len(targets) > 1 and len(columns.names) == 1:
            raise DataError(
                f"Only column {quoted(columns.names[0])} has scores, and there are {len(targets)} labels. Pass --scores with "
                "a column for each of them."
            )
        if columns.label is not None:
            if pos_label not in (None, columns.label):
                raise UsageError(
                    f"--pos-label is {quoted(pos_label)}, but the only column of scores, {quoted(columns.names[0])}, "
                    f"belongs to {quoted(columns.label)}. Add a column for {quoted(pos_label)}."
                )
            pos_label = columns.label
        numbers = read_score_rows(path, layout, score_schema(columns, layout), rows.known)
    scores, paid = numbers[:, : len(columns.names)], numbers[:, len(columns.names) :]
    by_name = dict(zip(costs, paid.T, strict=True)) if costs else None
    return _Inputs(name, targets, layout, rows, columns, scores, by_name, metric, pos_label, order)


def _check_many(options: DecideOptions) -> None:
    """Refuse what DecisionRule does not know of: its own error names the other options."""
    for option, value in (("--cost", options.cost), ("--classes", options.classes)):
        if value is not None:
            raise UsageError(f"{option} is for rows with one label each, and these have several. Leave it out.")


def _fit(options: DecideOptions, inputs: _Inputs) -> DecisionRule:
    is_number = all(type(label) is int for label in inputs.columns.classes)
    label = options.abstain_label
    rule = DecisionRule(
        inputs.metric,
        subject_to=options.subject_to,
        confidence=options.confidence,
        pos_label=inputs.pos_label,
        class_order=inputs.class_order,
        classes=list(inputs.columns.classes),
        kind=options.kind,
        fallback=options.fallback,
        budget=budget_of(options.budget, inputs.columns.classes),
        abstain=options.abstain,
        abstain_cost=options.abstain_cost,
        abstain_label=int(label) if label is not None and is_number and re.fullmatch(r"-?\d+", label) else label,
    )
    with in_options(f"{inputs.name}: "):
        rule.fit(inputs.scores, inputs.rows.labels, inputs.rows.weight, inputs.rows.groups, costs=inputs.costs)
    rule.columns_ = inputs.columns.names
    return rule


def _say_inputs(options: DecideOptions, inputs: _Inputs) -> None:
    """Say what was read, and what was decided for the user."""
    labels, n_unlabelled = inputs.rows.labels, int((~inputs.rows.known).sum())
    shown, what = inputs.columns.classes[:MOST_SHOWN], "labels" if inputs.has_many else "classes"
    counts = labels.sum(0) if inputs.has_many else [(labels == label).sum() for label in shown]
    sizes = ", ".join(f"{label} {count:,}" for label, count in zip(shown, counts, strict=False))
    more = f" and {len(inputs.columns.classes) - len(shown)} more {what}" if len(inputs.columns.classes) > len(shown) else ""
    where = "" if inputs.has_many else f" in {quoted(inputs.target)}"
    say(f"{inputs.name}: {len(labels):,} rows; {what}{where}: {sizes}{more}.")
    if n_unlabelled:
        say(f"{n_unlabelled:,} rows without a value in {quoted(inputs.target)} are dropped.")
    if options.metric is None and options.cost is None:
        say(f"No --metric: {inputs.metric} is used. `metricfit metrics` lists others.")
    say(inputs.columns.describe())
    if inputs.costs is not None:
        say(f"Costs of each row: {listed(inputs.columns.costs, MOST_SHOWN)}.")


def _adjust(options: DecideOptions, inputs: _Inputs, rule: DecisionRule) -> DecisionRule:
    """The rule for the shares of the classes in ``--prevalence`` or ``--adapt``."""
    if options.prevalence is not None:
        classes = np.array(inputs.columns.classes)
        shares = {data.label_like(name, classes, "--prevalence"): share for name, share in shares_of(options.prevalence)}
        with in_options():
            return rule.for_prevalence(shares)
    if options.adapt is None:
        return rule
    with data.input_file(options.adapt) as path:
        layout = announced_layout(path, replace(options, header=inputs.layout.header))
        schema = replace(score_schema(inputs.columns, inputs.layout), header=layout.header)
        scores = read_score_rows(path, layout, schema)
    with in_options(f"{options.adapt}: "):
        return rule.adapt(scores)


def _as_json(rule: DecisionRule, fitted: DecisionRule, inputs: _Inputs) -> dict[str, Any]:
    """The rule, and how good it is; scores are those of the rule before it was adjusted to other shares."""
    return {
        "data": inputs.name,
        "target": inputs.targets if inputs.has_many else inputs.target,
        "columns": list(inputs.columns.names),
        "classes": rule.classes_.tolist(),
        "kind": rule.kind_,
        "metric": name_of(rule.metric),
        "subject_to": rule.subject_to,
        "confidence": rule.confidence,
        "n_rows": len(inputs.rows.labels),
        "attainable": rule.attainable_,
        "refusal": rule.refusal_,
        "offsets": rule.offsets_.tolist(),
        "threshold": rule.threshold_ if len(rule.classes_) == 2 and rule.actions_ is None and not inputs.has_many else None,
        "threshold_range": rule.threshold_range_,
        "thresholds": rule.thresholds_.tolist() if inputs.has_many else None,
        "shares": rule.shares_.tolist(),
        "share_intervals": None if rule.share_intervals_ is None else np.asarray(rule.share_intervals_).tolist(),
        "score": fitted.score_,
        "score_interval": list(fitted.score_interval_),
        "is_cross_fitted": fitted.is_cross_fitted_,
        "baseline": fitted.baseline_,
        "gain": fitted.gain_,
        "gain_interval": list(fitted.gain_interval_),
        "gain_p": fitted.gain_p_,
        "constraints": rule.constraints_,
        "budget": rule.budget,
        "abstain": rule.abstain,
        "abstain_cost": rule.abstain_cost,
        "coverage": rule.coverage_,
        "money": None if rule.money_ is None else rule.money_.to_plain(),
        "calibration": None if fitted.reliability_ is None else fitted.reliability_.as_json(),
        "notes": list(rule.notes_),
    }
