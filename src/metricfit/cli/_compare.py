"""``metricfit compare``: is training for the metric worth it on these data?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from metricfit.cli import _options as options


def compare(
    data: Annotated[
        Path | None, typer.Argument(help="CSV, TSV (packed by gzip or not) or Parquet.", show_default="an example")
    ] = None,
    target: options.Target = None,
    metric: options.MetricName = "f1",
    positive: options.Positive = None,
    drop: options.Drop = None,
    header: options.Header = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    folds: options.Folds = 5,
    repeats: options.Repeats = 2,
    jobs: options.Jobs = 1,
    seed: options.Seed = 0,
    report: Annotated[Path | None, typer.Option(help="Write a page with figures to this file.")] = None,
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    """Is it worth it? Every loss for the metric on the same splits.

    Without DATA it runs on an example: pictures of handwritten digits, of which one in ten is an eight.
    """
    from metricfit._files import check_free, new_file
    from metricfit._progress import Bar
    from metricfit.cli._example import an_eight
    from metricfit.cli._show import show_comparison
    from metricfit.comparison import compare as compare_methods

    if report is not None:
        check_free(report, "pass --overwrite", overwrite)
    if data is None:
        options.check_metric(metric)
        given = options.given("handwritten digits (scikit-learn)", an_eight(), metric, positive)
    else:
        given = options.read(data, target, metric, positive, drop, header, delimiter, encoding)
    with Bar(transient=True) as bar:
        found = compare_methods(
            given.task.features,
            given.task.labels,
            given.metric,
            pos_label=given.positive,
            n_splits=folds,
            n_repeats=repeats,
            n_jobs=jobs,
            random_state=seed,
            progress=bar,
        )
    if report is not None:
        from metricfit.report import Run, page

        with new_file(report, overwrite) as file:
            file.write_text(page(found, Run.now(given.name, given.task.target)), encoding="utf-8")
        options.say(f"Page: {report}")
    if as_json:
        print(json.dumps({"data": given.name, "target": given.task.target, **found.as_json()}, indent=1))
    else:
        show_comparison(found)
