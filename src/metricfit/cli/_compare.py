"""``metricfit compare``: which model and which method for the metric on these data?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from metricfit._errors import PartialError
from metricfit.cli import _options as options
from metricfit.cli._inputs import Asked, read_inputs
from metricfit.cli._workers import Cluster, workers


def compare(
    data: options.Data,
    target: options.Target = None,
    metric: options.MetricName = None,
    cost: options.CostOption = None,
    positive: options.Positive = None,
    classes: options.Classes = None,
    models: options.Models = None,
    methods: options.Methods = None,
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
    margin: options.Margin = 0.01,
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None,
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    """Compare models and methods on the same cross-validation splits.

    The report also shows the data, what the gain means in rows, and which columns each model uses.
    """
    given = locals()
    from metricfit._files import check_free, new_file
    from metricfit._progress import bar_or_lines
    from metricfit.cli._next import after_compare
    from metricfit.cli._show import show_comparison
    from metricfit.comparison import InterruptedComparison
    from metricfit.comparison import compare as compare_models

    names, wanted = options.parse_models(models), options.parse_methods(methods)
    interrupt: InterruptedComparison | None = None
    if report is not None:
        check_free(report, "pass --overwrite", overwrite)
    with workers(jobs, cluster) as n_jobs:
        inputs = read_inputs(Asked.among(given))
        try:
            with bar_or_lines(by_split=True) as progress:
                found = compare_models(
                    inputs.table.features,
                    inputs.table.labels,
                    inputs.judged.metric,
                    models=names,
                    methods=wanted,
                    n_splits=folds,
                    n_repeats=repeats,
                    n_jobs=n_jobs,
                    random_state=seed,
                    importance=report is not None and options.check_importance(inputs.table.features.num_columns),
                    margin=margin,
                    progress=progress,
                    **inputs.for_compare,
                )
        except InterruptedComparison as error:  # the splits that are done are shown
            interrupt, (found,) = error, error.partial.values()
    next_command = after_compare(compare, given, found) if interrupt is None else ""
    if report is not None and interrupt is None:
        from metricfit.report import Run, page

        with new_file(report, overwrite) as file:
            text = page(found, Run.now(inputs.name, inputs.table.target, next_command), profile=inputs.profile)
            file.write_text(text, encoding="utf-8")
        options.say(f"Report: {report}")
    if as_json:
        about = {"data": inputs.name, "target": inputs.table.target, "partial": interrupt is not None}
        more = {"next_command": next_command, "profile": inputs.profile.as_json()}
        print(json.dumps({**about, **found.as_json(), **more}, indent=1))
    else:
        show_comparison(found, next_command)
    if interrupt is not None:
        raise PartialError(f"{interrupt}: these are partial results.{' No report was written.' * (report is not None)}")
