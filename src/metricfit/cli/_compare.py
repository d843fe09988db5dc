"""``metricfit compare``: which model and which method for the metric on these data?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from metricfit.cli import _options as options


def compare(
    data: Annotated[
        Path | None, typer.Argument(help="CSV or TSV (also gzipped) or Parquet file.", show_default="an example")
    ] = None,
    target: options.Target = None,
    metric: options.MetricName = "f1",
    models: options.Models = None,
    positive: options.Positive = None,
    drop: options.Drop = None,
    header: options.Header = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    folds: options.Folds = 5,
    repeats: options.Repeats = 2,
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None,
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    """Compare models and methods on the same cross-validation splits.

    The report also shows which columns each model uses. Without DATA it runs on an example: images of handwritten digits,
    where the positive class is the digit eight.
    """
    from metricfit._files import check_free, new_file
    from metricfit._progress import Bar
    from metricfit.cli._example import digits_example
    from metricfit.cli._show import show_comparison
    from metricfit.comparison import compare as compare_models

    names = options.parse_models(models)
    if report is not None:
        check_free(report, "pass --overwrite", overwrite)
    if data is None:
        options.check_metric(metric)
        inputs = options.check_inputs("handwritten digits (scikit-learn)", digits_example(), metric, positive)
    else:
        inputs = options.read_inputs(data, target, metric, positive, drop, header, delimiter, encoding)
    with Bar(transient=True) as bar:
        found = compare_models(
            inputs.table.features,
            inputs.table.labels,
            inputs.metric,
            models=names,
            pos_label=inputs.pos_label,
            n_splits=folds,
            n_repeats=repeats,
            n_jobs=jobs,
            random_state=seed,
            importance=report is not None and options.check_importance(inputs.table),
            progress=bar,
        )
    if report is not None:
        from metricfit.report import Run, page

        with new_file(report, overwrite) as file:
            file.write_text(page(found, Run.now(inputs.name, inputs.table.target)), encoding="utf-8")
        options.say(f"Report: {report}")
    if as_json:
        print(json.dumps({"data": inputs.name, "target": inputs.table.target, **found.as_json()}, indent=1))
    else:
        show_comparison(found)
