"""``metricfit compare``: which model and method for the metric on these data? The results, and the command to type next."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from metricfit import methods as known_methods
from metricfit._errors import PartialError
from metricfit._files import check_free, new_file
from metricfit._printable import printable_lines, shorten
from metricfit.cli._arguments import changed, check_importance, parse_names, say, workers
from metricfit.cli._inputs import check_options, read_inputs
from metricfit.cli._options import MODELS, CompareOptions, TableOptions
from metricfit.comparison import (
    TRIVIAL,
    Comparison,
    Estimate,
    InterruptedComparison,
    Limits,
    better_metric,
    fit_options,
    p_in_words,
)
from metricfit.report import Run, page

WIDE = 110  # characters, for the intervals of differences
MAX_LETTERS = 30  # of the name of a model in the table
MAX_HEAD = 23  # letters of the name of a metric: as many as its cells have
NOT_REPEATED = ("cluster", "as_json")  # options of `compare` that say nothing about the next command


def compare(options: CompareOptions) -> None:
    models = parse_names(options.models, "--models", "model", MODELS)
    methods = parse_names(options.methods, "--methods", "method", known_methods.names())
    check_options(options, models, methods)
    interrupt: InterruptedComparison | None = None
    if options.report is not None:
        check_free(options.report, "pass --overwrite", options.overwrite)
    with workers(options.jobs, options.cluster) as n_jobs:
        inputs = read_inputs(options.data, options)
        importance = options.report is not None and check_importance(inputs.table.features.num_columns)
        try:
            found = inputs.compare(
                options, n_jobs, models=models, methods=methods, importance=importance, margin=options.margin
            )
        except InterruptedComparison as error:  # the splits that are done are shown
            interrupt, found = error, error.partial
    next_command = after_compare(options, found) if interrupt is None else ""
    if options.report is not None and interrupt is None:
        with new_file(options.report, options.overwrite) as file:
            text = page(found, Run.now(inputs.name, inputs.table.target, next_command), profile=inputs.profile)
            file.write_text(text, encoding="utf-8")
        say(f"Report: {options.report}")
    if options.as_json:
        about = {"data": inputs.name, "target": inputs.table.target, "partial": interrupt is not None}
        more = {"next_command": next_command, "profile": inputs.profile.as_json()}
        print(json.dumps({**about, **found.as_json(), **more}, indent=1))
    else:
        show_comparison(found, next_command)
    if interrupt is not None:
        no_report = " No report was written." if options.report is not None else ""
        raise PartialError(f"{interrupt}: these are partial results.{no_report}")


def console() -> Console:
    """A console as wide as the terminal, or 120 characters wide without one."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=120)


def show_comparison(comparison: Comparison, next_command: str = "") -> None:
    """Print the table of models and methods, how rows were held out, notes, warnings, the verdict and a command."""
    screen = console()
    screen.print(_comparison_table(comparison, screen.width))
    first = comparison.evaluation[:1].upper() + comparison.evaluation[1:]
    intervals = "95 % intervals" if comparison.reference.estimate.known else "too few scores for intervals"
    lines = [f"{first}; {intervals}; seed {comparison.seed}.", *comparison.notes]
    lines += [*(f"Warning: {warning}" for warning in comparison.warnings), comparison.verdict.sentence]
    for line in filter(None, (*lines, next_command and f"Next: {next_command}")):
        # whole lines for a file, whole words for a terminal; a command stays in one piece, so that it can be copied
        screen.print(_plain(line), soft_wrap=not screen.is_terminal or line.startswith("Next: "))


def _comparison_table(comparison: Comparison, width: int) -> RichTable:
    """The table; a narrow one has no intervals of differences, and folds long names."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("model", overflow="fold")
    if comparison.limits is not None:
        return _limits_table(comparison, comparison.limits, table)
    table.add_column("method", overflow="fold", min_width=len("cross_entropy"))  # long models leave methods in one line
    saving = "saving " if comparison.metric_words.is_cost else ""
    against = f"{saving}vs linear threshold" if width >= WIDE else f"{saving}vs linear\nthreshold"
    for heading in (shorten(comparison.metric_words.title, MAX_HEAD), against, "p (Holm)", "fit, s"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    for result in comparison.results.values():
        other = result.difference
        p = p_in_words(other.p_holm) if other.is_tested else "-"
        cells = [_with_interval(other, "+") if width >= WIDE else f"{other.mean:+.4f}", p]
        if result is comparison.reference:
            cells = ["", ""]
        method = comparison.constant_title if result is comparison.constant else result.method.name
        names = shorten(result.contender.model, MAX_LETTERS), method
        score = _with_interval(comparison.metric_words.shown_estimate(result.estimate))
        table.add_row(*map(_plain, (*names, score, *cells, f"{result.seconds:.2f}")))
    return table


def _limits_table(comparison: Comparison, limits: Limits, table: RichTable) -> RichTable:
    """With constraints: the metric, every constrained quantity, the splits that kept the limits, and those that refused."""
    metric = shorten(comparison.metric_words.title, MAX_HEAD)
    for heading in (metric, *(shorten(name, MAX_HEAD) for name in limits.names), "kept", "refused", "fit, s"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    for result in comparison.results.values():
        kept, model = result.kept, result.contender.model
        assert kept is not None
        name = shorten(comparison.constant_title if model == TRIVIAL else model, MAX_LETTERS)
        score = _with_interval(comparison.metric_words.shown_estimate(result.estimate))
        values = ["-" if one["value"] is None else _value(one["value"], *one["interval"]) for one in kept.values]
        counts = f"{kept.n_kept}/{len(kept.by_split)}", str(kept.n_refused)
        table.add_row(*map(_plain, (name, score, *values, *counts, f"{result.seconds:.2f}")))
    return table


def _value(value: float, low: float, high: float) -> str:
    return f"{value:.4f} ({low:.3f} to {high:.3f})"


def _plain(text: str) -> Text:
    """Text without markup, and with escapes for control characters."""
    return Text(printable_lines(text))


def _with_interval(estimate: Estimate, sign: str = "") -> str:
    """The mean and its interval, if there is one."""
    mean = f"{estimate.mean:{sign}.4f}"
    return f"{mean} ({estimate.low:{sign}.3f} to {estimate.high:{sign}.3f})" if estimate.known else mean


def after_compare(options: CompareOptions, comparison: Comparison) -> str:
    """The command that fits the recommended contender, with the options that were given; empty if there is no such contender.

    A metric that is best for a constant answer chooses nothing: then it is `compare` by another metric.
    """
    shared = [field.name for field in fields(TableOptions) if field.name not in NOT_REPEATED]
    recommended, metric = comparison.verdict.recommended, None if comparison.limits else better_metric(comparison)
    if metric is not None:
        return _join("compare", replace(options, metric=metric), [*shared, "models", "methods", "margin"], [])
    if recommended is None or recommended == comparison.constant_name:
        return ""
    contender = comparison.results[recommended].contender
    chosen = fit_options(contender, comparison.measure if comparison.limits is None else None)
    shared.remove("time_limit")  # it is among those of the contender
    return _join("fit", options, shared, [*shlex.split(chosen), "--out", "model"])


def after_fit(folder: Path) -> str:
    """The command that predicts with the model."""
    return shlex.join(["metricfit", "predict", str(folder), "new.csv", "--out", "predictions.csv"])


def _join(name: str, options: CompareOptions, shared: Sequence[str], more: list[str]) -> str:
    """The command line with those of the shared options that differ from their defaults."""
    given = changed(options, shared).items()
    words = [word for option, value in given for word in _words(f"--{option.replace('_', '-')}", value)]
    return shlex.join(["metricfit", name, _path(options.data), *words, *more])


def _words(option: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [option if value else f"--no-{option[2:]}"]
    values = value if isinstance(value, list) else [value]
    return [word for one in values for word in (option, str(one))]


def _path(path: Path) -> str:
    """The path as it was given; an absolute one below the current folder is shortened."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path)
