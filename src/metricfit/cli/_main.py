"""The command and its subcommands."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from metricfit.cli._compare import compare
from metricfit.cli._decide import decide
from metricfit.cli._demo import demo
from metricfit.cli._fit import fit
from metricfit.cli._inspect import inspect
from metricfit.cli._options import AsJson, as_command
from metricfit.cli._predict import predict

app = typer.Typer(
    name="metricfit",
    help="Train a classifier for the metric it will be judged on, and test which model and method do best.",
    epilog="Example: metricfit compare churn.csv --target churned --metric f1",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command(epilog="Example: metricfit compare churn.csv --target churned --metric f1 --report report.html")(
    as_command(compare)
)
app.command(epilog="Example: metricfit fit churn.csv --target churned --metric f1 --out model")(as_command(fit))
app.command(epilog="Example: metricfit predict model new.csv --out predictions.csv")(as_command(predict))
app.command(epilog="Example: metricfit decide scores.csv --target y --metric mcc --out rule.json")(as_command(decide))
app.command(epilog="Example: metricfit inspect model")(inspect)


@app.command(epilog="Example: metricfit metrics")
def metrics(as_json: AsJson = False) -> None:
    """List the names for --metric."""
    from metricfit.metrics import REGISTRY

    if as_json:
        print(json.dumps({name: entry.about for name, entry in REGISTRY.items()}, indent=1))
        return
    width = max(map(len, REGISTRY)) + 2
    for name, entry in REGISTRY.items():
        print(f"{name:{width}}{entry.about}")
    print(f"{'f<beta>':{width}}F-beta for any other beta, such as f3 or f0.25_macro")


app.command(epilog="Example: metricfit demo")(demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"metricfit {version('metricfit')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself."""
