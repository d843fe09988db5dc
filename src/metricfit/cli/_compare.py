"""``metricfit compare``: which model and which method for the metric on these data?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from metricfit._errors import PartialError
from metricfit.cli._inputs import read_inputs
from metricfit.cli._options import FORMATS, Overwrite, TableOptions, check_importance, parse_methods, parse_models, say
from metricfit.cli._workers import workers


@dataclass(frozen=True, kw_only=True)
class CompareOptions(TableOptions):
    """Options of ``metricfit compare``."""

    data: Annotated[Path, typer.Argument(help=FORMATS, show_default=False)]
    models: Annotated[
        str | None,
        typer.Option(
            help="Models to compare, separated by commas: linear, boosting, extra_trees, mlp, ensemble.",
            show_default="linear,boosting,ensemble",
        ),
    ] = None
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods of the linear model and of mlp to compare, separated by commas; threshold is always compared.",
            show_default="all, for the linear model",
        ),
    ] = None
    margin: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="A simpler model is recommended if it is shown to be within this distance of the best. In units of the "
            "metric; for --cost, a share of the cost of a constant answer.",
        ),
    ] = 0.01
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None
    overwrite: Overwrite = False


def compare(options: CompareOptions) -> None:
    """Compare models and methods on the same cross-validation splits.

    The report also shows the data, what the gain means in rows, and which columns each model uses.
    """
    from metricfit._files import check_free, new_file
    from metricfit.cli._next import after_compare
    from metricfit.cli._show import show_comparison
    from metricfit.comparison import InterruptedComparison

    models, methods = parse_models(options.models), parse_methods(options.methods)
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
            interrupt, (found,) = error, error.partial.values()
    next_command = after_compare(options, found) if interrupt is None else ""
    if options.report is not None and interrupt is None:
        from metricfit.report import Run, page

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
