"""``metricfit reproduce``: the papers' tables on their own data."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from metricfit._errors import UsageError
from metricfit.cli import _options as options


def reproduce(
    name: Annotated[str, typer.Argument(help="Experiment; `list` names them.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder for the results; a run that was killed goes on there.")] = Path(
        "build/reproductions"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="A small part of it, in a minute.")] = False,
    datasets: Annotated[list[str] | None, typer.Option(help="Data set; can be repeated.", show_default="all")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs of each method.", show_default="the experiment's")] = None,
    search: Annotated[int, typer.Option(min=0, help="Random searches for hyper-parameters; 0 takes the paper's.")] = 0,
    jobs: options.Jobs = 1,
    data: Annotated[Path | None, typer.Option(help="Folder with the papers' data.", show_default="METRICFIT_DATA")] = None,
) -> None:
    """The papers' tables again, published beside ours."""
    from metricfit._checks import did_you_mean
    from metricfit._progress import Bar, Lines
    from metricfit.reproductions import Scope, names, of_name, run
    from metricfit.reproductions._tables import folder

    if name == "list":
        for known in names():
            print(f"{known:20}{of_name(known).title}")
        return
    if name not in names():
        raise UsageError(f"{name!r} is not an experiment.{did_you_mean(name, names())} There are: {', '.join(names())}.")
    experiment = of_name(name)
    if search and not experiment.searches:
        raise UsageError(f"--search means nothing to {name}: its hyper-parameters are fixed, or searched by itself.")
    if datasets and not experiment.datasets:
        raise UsageError(f"--datasets means nothing to {name}, which has none.")
    for wanted in datasets or ():
        if wanted not in experiment.datasets:
            near = did_you_mean(wanted, experiment.datasets)
            raise UsageError(f"--datasets {wanted!r} is not in {name}.{near} There are: {', '.join(experiment.datasets)}.")
    scope = Scope(
        (data or folder()).absolute(), quick, tuple(dict.fromkeys(datasets or ())), seeds or experiment.seeds, search
    )
    with Bar(transient=True) if sys.stderr.isatty() else Lines() as progress:
        text = run(experiment, scope, out, jobs, progress, "metricfit " + shlex.join(sys.argv[1:]))
    print(text)
    figure = " and .svg" if experiment.figure else ""
    options.say(f"Written: {out / name}{'-quick' if quick else ''}.csv, .md{figure}")
