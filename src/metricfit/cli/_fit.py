"""``metricfit fit``: a model in a folder, with an honest figure of what it is worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from metricfit.cli import _options as options

METHODS = ("cross_entropy", "threshold", "leaky", "auto")  # what the automatic choice is compared with


def fit(
    data: Annotated[Path, typer.Argument(help="CSV, TSV (packed by gzip or not) or Parquet.", show_default=False)],
    out: Annotated[
        Path, typer.Option(help="Folder for the model and report.html; it must not exist yet.", show_default=False)
    ],
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
    as_json: options.AsJson = False,
) -> None:
    """Fit a model and write it, with a report, to a folder.

    The figures come from models of parts of the data, judged on the other parts; the model that is written has seen all rows.
    """
    from metricfit._files import check_free
    from metricfit._progress import Bar
    from metricfit.cli._model import REPORT_FILE, SCORES_FILE, TABLE_FILE
    from metricfit.cli._show import show_comparison
    from metricfit.comparison import compare
    from metricfit.estimators import MetricClassifier
    from metricfit.estimators._storage import save
    from metricfit.report import Run, page

    check_free(out)
    given = options.read(data, target, metric, positive, drop, header, delimiter, encoding)
    task, known = given.task, given.known
    assert known is not None
    with Bar(transient=True) as bar:
        found = compare(
            task.features,
            task.labels,
            given.metric,
            methods=METHODS,
            pos_label=given.positive,
            n_splits=folds,
            n_repeats=repeats,
            n_jobs=jobs,
            random_state=seed,
            progress=bar,
        )
    options.say("Fitting to all rows.")
    model = MetricClassifier(given.metric, pos_label=given.positive, random_state=seed)
    with options.quiet():
        model.fit(task.features, task.labels)
    table = {"target": task.target, **known.as_json()}
    scores = {"data": given.name, "target": task.target, **found.as_json()}
    beside_it = {
        TABLE_FILE: json.dumps(table, indent=1),
        SCORES_FILE: json.dumps(scores, indent=1),
        REPORT_FILE: page(found, Run.now(given.name, task.target), model),
    }
    with options.quiet():
        save(model, out, beside_it)
    if as_json:
        print(json.dumps({"model": str(out), "chosen": model.chosen_, **scores}, indent=1))
        return
    show_comparison(found)
    print(f"Model ({model.chosen_}) and {REPORT_FILE}: {out}")
