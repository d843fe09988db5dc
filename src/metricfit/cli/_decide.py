"""``metricfit decide``: the best decision by the scores of any classifier."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from metricfit._errors import DataError, UsageError
from metricfit._printable import listed, printable, quoted
from metricfit.cli._metric import check_metric, parse_cost
from metricfit.cli._options import (
    FORMATS,
    AsJson,
    Confidence,
    Constraints,
    Delimiter,
    Encoding,
    Fallback,
    Header,
    Overwrite,
    announced_layout,
    file_name,
    find_columns,
    in_options,
    parse_delimiter,
    say,
    split_names,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metricfit.cli._score_files import LabelColumns, ScoreColumns
    from metricfit.data import Layout
    from metricfit.decisions import DecisionRule

MOST_SHOWN = 10  # classes in a note
_OF_ROWS = re.compile(r".+_samples|subset_accuracy")  # metrics of several labels per row


@dataclass(frozen=True, kw_only=True)
class DecideOptions:
    """Options of ``metricfit decide``."""

    data: Annotated[Path, typer.Argument(help=f"{FORMATS} Each row has a label and its scores.")]
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of the labels: name, or number from 1. For several labels per row, pass their columns of 0 and 1, "
            "separated by commas.",
            show_default="the last column",
        ),
    ] = None
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric to optimise; `metricfit metrics` lists them. recall@200 and precision@200 score the 200 best rows. "
            "For several labels per row there are also f1_samples, jaccard_samples and subset_accuracy.",
            show_default="f1 or f1_macro",
        ),
    ] = None
    cost: Annotated[
        str | None,
        typer.Option(
            help='Costs of wrong answers instead of a metric: "fraud,ok=amount; ok,fraud=5" (true class, predicted class), or '
            "a CSV file with a row per true class and a column per predicted class. A cost is a number, or a column "
            "with a number for each row."
        ),
    ] = None
    scores: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of scores: names or numbers, separated by commas. One column is enough for two classes.",
            show_default="found by the names of the classes",
        ),
    ] = None
    kind: Annotated[Literal["auto", "probability", "log_probability", "logit"], typer.Option(help="Kind of the scores.")] = (
        "auto"
    )
    subject_to: Constraints = None
    confidence: Confidence = None
    fallback: Fallback = None
    budget: Annotated[
        list[str] | None,
        typer.Option(help="Limit on the predictions of a class in each file: fraud=200 rows, or fraud=2%. Can be repeated."),
    ] = None
    abstain: Annotated[
        str | None,
        typer.Option(
            help='Answer only as many rows as a limit on their error allows: "error <= 0.02". --confidence promises it.'
        ),
    ] = None
    abstain_cost: Annotated[
        float | None,
        typer.Option(help="Cost of a row without an answer. A wrong answer costs 1, or as in --cost."),
    ] = None
    abstain_label: Annotated[
        str | None, typer.Option(help="Label of rows without an answer.", show_default="-1 among numbers, abstain among names")
    ] = None
    pos_label: Annotated[
        str | None,
        typer.Option(
            "--pos-label",
            "--positive",
            help="Positive class of two. A single column of scores belongs to it.",
            show_default="the class of a single column; else the larger of two numbers, or the rarer of two names",
        ),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(
            help="All classes in order, separated by commas, including classes without rows. The columns of --scores are in "
            "this order if their names do not contain the classes."
        ),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option("--groups", "--group", help="Column of groups: rows with the same value depend on each other."),
    ] = None
    weight: Annotated[str | None, typer.Option(help="Column with the weights of the rows.")] = None
    prevalence: Annotated[str | None, typer.Option(help="Class shares where the rule will be used: fraud=0.003.")] = None
    adapt: Annotated[
        Path | None,
        typer.Option(help="File of new scores without labels. The rule is adjusted to their class shares."),
    ] = None
    out: Annotated[Path | None, typer.Option(help="JSON file to write the rule to.")] = None
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None
    header: Header = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    overwrite: Overwrite = False
    as_json: AsJson = False


def decide(options: DecideOptions) -> None:
    """Find the best decision from the scores of any classifier.

    The rows should be new to the classifier. Nothing is trained. The command fits an offset for each class, or a threshold
    for two classes, to the metric and the constraints, and evaluates it on held-out rows. `metricfit predict rule.json
    new_scores.csv` applies it.
    """
    from metricfit._files import check_free, new_file

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
        from metricfit.report import Run, decision_page

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
    layout: Layout
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
    import numpy as np

    from metricfit import data
    from metricfit.cli._score_files import (
        find_classes,
        find_score_columns,
        labels_of,
        read_label_rows,
        read_score_rows,
        score_schema,
    )

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
    from metricfit.cli._score_files import budget_of
    from metricfit.decisions import DecisionRule

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
    import numpy as np

    from metricfit import data
    from metricfit.cli._score_files import read_score_rows, score_schema, shares_of

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
    import numpy as np

    from metricfit.metrics import name_of

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
