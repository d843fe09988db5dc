"""``python -m reproductions``: one experiment by its name, or the list of them.

Nothing here imports torch before an experiment needs it, so that help comes at once.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metricfit._errors import UsageError
from metricfit.cli import run_app
from metricfit.cli._options import say

if TYPE_CHECKING:
    from reproductions._experiment import Experiment

COMMAND = "python -m reproductions"
STOPPED = "Stopped; the cells that had ended are kept, and the same command goes on from there."

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(
    epilog=f"Example: {COMMAND} exact-tabular --quick",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def reproduce(
    name: Annotated[str, typer.Argument(help="Experiment; `list` names them.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder for the results; a run that was killed goes on there.")] = Path(
        "build/reproductions"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="A small part of it, in a minute.")] = False,
    datasets: Annotated[list[str] | None, typer.Option(help="Data set; can be repeated.", show_default="all")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs of each method.", show_default="the experiment's")] = None,
    search: Annotated[int, typer.Option(min=0, help="Random searches for hyper-parameters; 0 takes the paper's.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Cells that run at the same time.")] = 1,
    data: Annotated[Path | None, typer.Option(help="Folder with the papers' data.", show_default="METRICFIT_DATA")] = None,
) -> None:
    """The papers' tables again, published beside ours."""
    from metricfit._checks import did_you_mean
    from metricfit._progress import Bar, Lines
    from reproductions._experiment import Scope, get_experiment, names
    from reproductions._runner import run
    from reproductions._tables import folder

    if name == "list":
        for known in names():
            print(f"{known:20}{get_experiment(known).title}")
        return
    if name not in names():
        raise UsageError(f"{name!r} is not an experiment.{did_you_mean(name, names())} There are: {', '.join(names())}.")
    experiment = get_experiment(name)
    _check(experiment, datasets or [], search)
    scope = Scope(
        (data or folder()).absolute(), quick, tuple(dict.fromkeys(datasets or ())), seeds or experiment.seeds, search
    )
    with Bar(transient=True) if sys.stderr.isatty() else Lines() as progress:
        text = run(experiment, scope, out, jobs, progress, f"{COMMAND} {shlex.join(sys.argv[1:])}")
    print(text)
    figure = " and .svg" if experiment.figure else ""
    say(f"Written: {out / name}{'-quick' if quick else ''}.csv, .md{figure}")


def _check(experiment: Experiment, datasets: list[str], search: int) -> None:
    """Refuse options that mean nothing to the experiment."""
    from metricfit._checks import did_you_mean

    name = experiment.name
    if search and not experiment.searches:
        raise UsageError(f"--search means nothing to {name}: its hyper-parameters are fixed, or searched by itself.")
    if datasets and not experiment.datasets:
        raise UsageError(f"--datasets means nothing to {name}, which has none.")
    for wanted in datasets:
        if wanted not in experiment.datasets:
            near = did_you_mean(wanted, experiment.datasets)
            raise UsageError(f"--datasets {wanted!r} is not in {name}.{near} There are: {', '.join(experiment.datasets)}.")


def main() -> None:
    """Run it and exit; a user's mistake is one line on stderr, a bug is a traceback."""
    sys.exit(run_app(app, COMMAND, STOPPED))
