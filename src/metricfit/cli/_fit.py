"""``metricfit fit``: write a model and its cross-validated scores to a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from metricfit._errors import UsageError
from metricfit._printable import printable
from metricfit.cli._fit_parts import IN_PARTS, fit_in_parts, reads_in_parts
from metricfit.cli._inputs import Inputs, read_inputs
from metricfit.cli._options import (
    FORMATS,
    MODELS,
    TableOptions,
    check_importance,
    check_method,
    check_model,
    ignore_warnings,
    say,
)
from metricfit.cli._workers import workers

METHODS = ("cross_entropy", "threshold", "auto")  # for the linear model; fewer than `compare`, to save time


@dataclass(frozen=True, kw_only=True)
class FitOptions(TableOptions):
    """Options of ``metricfit fit``."""

    data: Annotated[
        list[Path],
        typer.Argument(
            help=f"{FORMATS} Several Parquet files, a pattern such as 'part-*.parquet' or a folder of them are read in parts.",
            show_default=False,
        ),
    ]
    out: Annotated[Path, typer.Option(help="Folder to create for the model and report.html.", show_default=False)]
    model: Annotated[
        str,
        typer.Option(help=f"Model to fit: auto, {', '.join(MODELS)}. Of files in parts: auto, linear, {IN_PARTS}."),
    ] = "auto"
    method: Annotated[
        str,
        typer.Option(
            help="Method to train by: auto, cross_entropy, threshold; for linear and mlp also the others of `metricfit "
            "compare`.",
        ),
    ] = "auto"
    stream: Annotated[
        bool, typer.Option("--stream", help="Read a Parquet file in parts, in little memory: linear models or trees.")
    ] = False
    scratch: Annotated[
        Path | None,
        typer.Option(help="Folder for temporary files while files are read in parts.", show_default="the system's"),
    ] = None


def fit(options: FitOptions) -> None:
    """Fit a model and write it to a folder, with a report.

    By default the model is an ensemble of a linear model and trees, fitted to all rows. Its score in the report comes from
    cross-validation of the same recipe, and other contenders stand next to it. Several Parquet files, or one with --stream,
    are read in parts: the model is linear, or of boosted trees with --model xgboost, and there is no report.
    """
    if options.stream or reads_in_parts(options.data):
        fit_in_parts(options)
    else:
        _fit_table(options)


def _fit_table(options: FitOptions) -> None:
    from metricfit._files import check_free
    from metricfit.cli._model import REPORT_FILE, SCORES_FILE, TABLE_FILE
    from metricfit.cli._next import after_fit
    from metricfit.cli._show import show_comparison
    from metricfit.comparison import method_of_fit
    from metricfit.estimators import MetricClassifier, save
    from metricfit.report import Run, page

    model, method, out = options.model, options.method, options.out
    if model == IN_PARTS:
        raise UsageError(
            f"--model {model} is for Parquet files that are read in parts. Pass --stream too, or --model boosting instead."
        )
    check_model(model, "--model", ("auto", *MODELS))
    check_method(method, model)
    check_free(out)
    with workers(options.jobs, options.cluster) as n_jobs:
        inputs = read_inputs(options.data[0], options)
        table, choice = inputs.table, inputs.choice
        found = inputs.compare(
            options,
            n_jobs,
            models=_compared_models(model),
            methods=list(dict.fromkeys((*METHODS, method))),
            importance=check_importance(table.features.num_columns),
        )
        compared = {result.contender.model for result in found.results.values()}
        if model == "auto":
            model = "ensemble" if "ensemble" in compared else "linear"  # the notes of the comparison say why
        found = found.about(f"{model}, {method_of_fit(model, method, found.measure)}")
        say("Fitting to all rows.")
        fitted = MetricClassifier(
            choice.metric,
            model=model,
            method=method,
            pos_label=choice.pos_label,
            class_order=choice.class_order,
            cv=_folds(inputs, options.seed),
            random_state=options.seed,
        )
        with ignore_warnings():
            fitted.fit(table.features, table.labels)
    columns, next_command = {"target": table.target, **inputs.schema.as_json()}, after_fit(out)
    scores = {"data": inputs.name, "target": table.target, **found.as_json(), "profile": inputs.profile.as_json()}
    extra_files = {
        TABLE_FILE: json.dumps(columns, indent=1),
        SCORES_FILE: json.dumps(scores, indent=1),
        REPORT_FILE: page(found, Run.now(inputs.name, table.target, next_command), fitted, inputs.profile),
    }
    with ignore_warnings():
        save(fitted, out, extra_files)
    if options.as_json:
        about = {"learner": fitted.learner_, "chosen": fitted.chosen_, "notes": list(fitted.notes_)}
        print(json.dumps({"model": str(out), **about, **scores, "next_command": next_command}, indent=1))
        return
    show_comparison(found)
    print()
    by = f"{fitted.learner_} by {fitted.chosen_}, for {found.metric}"  # without another score than that of the verdict
    for line in (f"Fitted to all rows: {by}.", *fitted.notes_, f"Model and {REPORT_FILE}: {out}", f"Next: {next_command}"):
        print(printable(line))


def _folds(inputs: Inputs, seed: int) -> Any:
    """Folds that keep the groups together, where there are any."""
    import numpy as np

    from metricfit.comparison import INNER_FOLDS, folds_of_groups

    if inputs.groups is None:
        return INNER_FOLDS
    labels = np.unique(inputs.table.labels, return_inverse=True)[1].astype(np.int64)
    return folds_of_groups(labels, inputs.groups, seed)


def _compared_models(model: str) -> list[str] | None:
    """The default models and the one to fit. The linear model is compared alone, without trees."""
    from metricfit.comparison import DEFAULT_MODELS

    if model == "auto":
        return None
    return [model] if model == "linear" else [*DEFAULT_MODELS, model]
