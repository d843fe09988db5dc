"""``python -m reproductions``: run an experiment, or list them.

It imports torch only when an experiment runs, so that ``--help`` is fast.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metricfit._errors import ClusterError, UsageError
from metricfit.cli import run_app
from metricfit.cli._arguments import say, workers
from metricfit.cli._options import Cluster

if TYPE_CHECKING:
    from reproductions._experiment import Experiment

COMMAND = "python -m reproductions"
CONTINUE = "Run the same command again to continue."
STOPPED = f"Interrupted; finished cells are saved. {CONTINUE}"

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(
    epilog=f"Example: {COMMAND} exact-tabular --quick",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def reproduce(
    name: Annotated[str, typer.Argument(help="Experiment, or `list` to list them.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder for the results; an interrupted run continues there.")] = Path(
        "build/reproductions"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Run a small version, in about a minute.")] = False,
    datasets: Annotated[list[str] | None, typer.Option(help="Data set; can be repeated.", show_default="all")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of seeds per method.", show_default="the experiment's")
    ] = None,
    search: Annotated[int, typer.Option(min=0, help="Draws of a random search for hyper-parameters; 0 uses the paper's.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Run the paper's size, for people with GPUs.")] = False,
    saved: Annotated[bool, typer.Option("--saved", help="Run nothing, and write the tables of the saved cells.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Number of cells that run in parallel.")] = 1,
    cluster: Cluster = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the papers' data.", show_default="METRICFIT_DATA")] = None,
) -> None:
    """Reproduce a paper's table: published numbers and ours."""
    from metricfit._printable import did_you_mean
    from metricfit._progress import Bar, Lines
    from reproductions._experiment import Scope, get_experiment, names
    from reproductions._runner import run
    from reproductions._tables import data_folder

    if name == "list":
        for known in names():
            print(f"{known:20}{get_experiment(known).title}")
        return
    if name not in names():
        raise UsageError(f"{name!r} is not an experiment.{did_you_mean(name, names())} Experiments: {', '.join(names())}.")
    experiment = get_experiment(name)
    _check_options(experiment, datasets or [], search, quick, full, saved)
    chosen = tuple(dict.fromkeys(datasets or ()))
    scope = Scope((data or data_folder()).absolute(), quick, chosen, seeds or experiment.seeds, search, full)
    bar = Bar(transient=True) if sys.stderr.isatty() else Lines()
    with workers(jobs, cluster, one_thread=True) as n_jobs, bar as progress:
        try:
            text = run(experiment, scope, out, n_jobs, progress, f"{COMMAND} {shlex.join(sys.argv[1:])}", saved=saved)
        except ClusterError as error:
            raise ClusterError(f"{error} Finished cells are saved. {CONTINUE}") from error
    print(text)
    figure = " and .svg" if experiment.figure else ""
    say(f"Written: {out / scope.file_stem(name)}.csv, .md{figure}")


def _check_options(experiment: Experiment, datasets: list[str], search: int, quick: bool, full: bool, saved: bool) -> None:
    """Raise UsageError for options that do not apply to the experiment."""
    from metricfit._printable import did_you_mean

    name = experiment.name
    if search and not experiment.searches:
        raise UsageError(f"--search does not apply to {name}: it fixes or searches its hyper-parameters itself.")
    if full and not experiment.scaled:
        raise UsageError(f"--full does not apply to {name}: it has one size only.")
    if full and quick:
        raise UsageError("--full and --quick cannot be combined: pass one of them.")
    if saved and not experiment.partial:
        raise UsageError(f"--saved does not apply to {name}: its tables need all cells. {CONTINUE}")
    if datasets and not experiment.datasets:
        raise UsageError(f"--datasets does not apply to {name}: it has no data sets.")
    for wanted in datasets:
        if wanted not in experiment.datasets:
            near = did_you_mean(wanted, experiment.datasets)
            raise UsageError(f"--datasets {wanted!r} is not in {name}.{near} Data sets: {', '.join(experiment.datasets)}.")


def main() -> None:
    """Run the command and exit with its code."""
    sys.exit(run_app(app, COMMAND, STOPPED))
