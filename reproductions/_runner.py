"""Runs the cells of an experiment, keeps each as it ends, and writes the tables.

A run that was killed goes on where it stood: a cell has a file of its own, written beside and renamed, and is run from its own
seed alone, so that neither the order nor the number of processes nor an interruption changes a number.
"""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path

from joblib import Parallel, delayed

from metricfit._files import new_file
from metricfit._progress import Progress
from metricfit._threads import single_threaded
from reproductions._claims import CAVEAT, as_table
from reproductions._experiment import Cell, Experiment, Found, Numbers, Scope
from reproductions._figure import save_svg
from reproductions._machine import hardware


def run(
    experiment: Experiment, scope: Scope, out: Path, jobs: int = 1, progress: Progress | None = None, command: str = ""
) -> str:
    """Run what is not there yet; write ``NAME.csv`` and ``NAME.md`` into the folder, and return the latter.

    A quick run has names of its own, so that it does not take the place of a whole one.
    """
    cells = experiment.cells(scope)
    name = experiment.name + ("-quick" if scope.quick else "")
    folder = out / f".{experiment.name}-cells{experiment.version if experiment.version > 1 else ''}"
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / file_name(cell, scope) for cell in cells]
    missing = [(cell, file) for cell, file in zip(cells, files, strict=True) if _read(file) is None]
    tell = progress or Progress()
    tell.start(len(cells))
    for _ in range(len(cells) - len(missing)):
        tell.step("kept from before", None)
    work = (delayed(_one)(experiment.run, cell, scope, file) for cell, file in _every_set_first(missing))
    for done in Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
        tell.step(done, None)
    found = [(cell, row) for cell, file in zip(cells, files, strict=True) for row in _read(file) or []]
    how = f"Written by `{command}` on {hardware()}."
    parts = [f"# {experiment.title}", how, experiment.summary(found).strip()]
    if claims := experiment.claims(found):
        parts.append(f"## Claims, in points\n\n{as_table(claims)}\n\n{CAVEAT}")
    if experiment.figure is not None:
        parts.append(f"![{experiment.title}]({name}.svg)")
        with new_file(out / f"{name}.svg", overwrite=True) as file:
            save_svg(experiment.figure(found), file)
    text = "\n\n".join(parts) + "\n"
    for suffix, content in ((".csv", _as_csv(found)), (".md", text)):
        with new_file(out / (name + suffix), overwrite=True) as file:
            file.write_text(content, encoding="utf-8")
    return text


def _every_set_first(work: list[tuple[Cell, Path]]) -> list[tuple[Cell, Path]]:
    """A cell of every set, then the others, so that a file that is missing is told at once and not after an hour."""
    by_set: dict[object, list[tuple[Cell, Path]]] = {}
    for cell, file in work:
        by_set.setdefault(cell.get("set"), []).append((cell, file))
    return [one[0] for one in by_set.values()] + [pair for one in by_set.values() for pair in one[1:]]


def read_results(experiment: Experiment, file: Path) -> Found:
    """Read the CSV that a run wrote.

    The columns of a cell come first and are those that the experiment's cells have.
    """
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    of_cell = list(experiment.cells(Scope(Path()))[0])
    return [
        (
            {name: int(row[name]) if row[name].isdigit() else row[name] for name in of_cell},
            {name: float(value) for name, value in row.items() if name not in of_cell and value},
        )
        for row in rows
    ]


def file_name(cell: Cell, scope: Scope) -> str:
    """One name per cell and way to run it.

    >>> file_name({"set": "car", "method": "EXACT", "seed": 0}, Scope(Path(), search=50))
    'car-EXACT-0-search50.json'
    """
    parts = [
        *map(str, cell.values()),
        *(["quick"] if scope.quick else []),
        *([f"search{scope.search}"] if scope.search else []),
    ]
    return re.sub(r"[^\w.-]", "_", "-".join(parts)) + ".json"


def _read(file: Path) -> list[Numbers] | None:
    """The rows of a cell; None if there is no such file, or if the machine went down before it was whole."""
    try:
        numbers = json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return numbers if isinstance(numbers, list) else [numbers]


def _one(run_cell: Callable[[Cell, Scope], Numbers | list[Numbers]], cell: Cell, scope: Scope, file: Path) -> str:
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = run_cell(cell, scope)
    with new_file(file, overwrite=True) as beside:
        beside.write_text(json.dumps(numbers))
    return ", ".join(map(str, cell.values()))


def _as_csv(found: Found) -> str:
    text = io.StringIO()
    rows = [{**cell, **{name: f"{value:.6g}" for name, value in numbers.items()}} for cell, numbers in found]
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
