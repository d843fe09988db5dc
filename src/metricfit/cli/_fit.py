"""``metricfit fit``: write a model and its cross-validated scores to a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from metricfit._errors import UsageError
from metricfit._printable import printable
from metricfit.cli import _options as options
from metricfit.cli._fit_parts import IN_PARTS, fit_in_parts, reads_in_parts
from metricfit.cli._inputs import Asked, Inputs, read_inputs
from metricfit.cli._workers import Cluster, workers

METHODS = ("cross_entropy", "threshold", "auto")  # for the linear model; fewer than `compare`, to save time


def fit(
    data: options.DataFiles,
    out: Annotated[Path, typer.Option(help="Folder to create for the model and report.html.", show_default=False)],
    target: options.Target = None,
    metric: options.MetricName = None,
    cost: options.CostOption = None,
    positive: options.Positive = None,
    classes: options.Classes = None,
    model: Annotated[
        str,
        typer.Option(help=f"Model to fit: auto, {', '.join(options.MODELS)}. Of files in parts: auto, linear, {IN_PARTS}."),
    ] = "auto",
    method: options.MethodName = "auto",
    drop: options.Drop = None,
    numeric: options.Numeric = None,
    categorical: options.Categorical = None,
    merge_rare: options.MergeRare = 0,
    drop_rare: options.DropRare = 0,
    group: options.Group = None,
    time: options.TimeColumn = None,
    test: options.TestFile = None,
    keep_shared: options.KeepShared = False,
    header: options.Header = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    folds: options.Folds = 5,
    repeats: options.Repeats = 2,
    jobs: options.Jobs = 1,
    cluster: Cluster = None,
    seed: options.Seed = 0,
    stream: options.Stream = False,
    scratch: options.ScratchFolder = None,
    as_json: options.AsJson = False,
) -> None:
    """Fit a model and write it to a folder, with a report.

    By default the model is an ensemble of a linear model and trees, fitted to all rows. Its score in the report comes from
    cross-validation of the same recipe, and other contenders stand next to it. Several Parquet files, or one with --stream,
    are read in parts: the model is linear, or of boosted trees with --model xgboost, and there is no report.
    """
    given = locals()
    if stream or reads_in_parts(data):
        fit_in_parts(given)
        return
    given |= {"data": data[0]}
    from metricfit._files import check_free
    from metricfit._progress import bar_or_lines
    from metricfit.cli._model import REPORT_FILE, SCORES_FILE, TABLE_FILE
    from metricfit.cli._next import after_fit
    from metricfit.cli._show import show_comparison
    from metricfit.comparison import compare, method_of_fit
    from metricfit.estimators import MetricClassifier, save
    from metricfit.report import Run, page

    if model == IN_PARTS:
        raise UsageError(
            f"--model {model} is for Parquet files that are read in parts. Pass --stream too, or --model boosting instead."
        )
    options.check_model(model, "--model", ("auto", *options.MODELS))
    options.check_method(method, model)
    check_free(out)
    with workers(jobs, cluster) as n_jobs:
        inputs = read_inputs(Asked.among(given))
        table, schema = inputs.table, inputs.schema
        with bar_or_lines(by_split=True) as progress:
            found = compare(
                table.features,
                table.labels,
                inputs.judged.metric,
                models=_compared_models(model),
                methods=list(dict.fromkeys((*METHODS, method))),
                n_splits=folds,
                n_repeats=repeats,
                n_jobs=n_jobs,
                random_state=seed,
                importance=options.check_importance(table.features.num_columns),
                progress=progress,
                **inputs.for_compare,
            )
        compared = {result.contender.model for result in found.results.values()}
        if model == "auto":
            model = "ensemble" if "ensemble" in compared else "linear"  # the notes of the comparison say why
        found = found.about(f"{model}, {method_of_fit(model, method, found.measure)}")
        options.say("Fitting to all rows.")
        fitted = MetricClassifier(
            inputs.judged.metric,
            model=model,
            method=method,
            cv=_folds(inputs, seed),
            random_state=seed,
            **inputs.judged.classes,
        )
        with options.ignore_warnings():
            fitted.fit(table.features, table.labels)
    columns, next_command = {"target": table.target, **schema.as_json()}, after_fit(out)
    scores = {"data": inputs.name, "target": table.target, **found.as_json(), "profile": inputs.profile.as_json()}
    extra_files = {
        TABLE_FILE: json.dumps(columns, indent=1),
        SCORES_FILE: json.dumps(scores, indent=1),
        REPORT_FILE: page(found, Run.now(inputs.name, table.target, next_command), fitted, inputs.profile),
    }
    with options.ignore_warnings():
        save(fitted, out, extra_files)
    if as_json:
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
    """The default models and the one to fit. Who asks for the linear model wants no trees: it is compared alone."""
    from metricfit.comparison import DEFAULT_MODELS

    if model == "auto":
        return None
    return [model] if model == "linear" else [*DEFAULT_MODELS, model]
