"""Run the cells of an experiment, save each when it ends, and write the tables.

An interrupted run can continue: each cell has its own file, written under a temporary name and renamed. A cell depends on its
own seed only, so the order, the number of processes and interruptions do not change the numbers.
"""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path

from metricfit._files import new_file
from metricfit._parallel import parallel
from metricfit._progress import Progress
from metricfit._threads import single_threaded
from reproductions._claims import REDUCED, SCALED, claims_section
from reproductions._experiment import Cell, Experiment, Numbers, Results, Scope
from reproductions._figure import save_svg
from reproductions._machine import hardware

SHORTENED = "**This run is shortened by `--quick`: it shows that the program works, and its numbers do not count.**"
SIZE = {  # of a run, by protocol
    REDUCED: " The run is *reduced*: the paper's network and data, with fewer rows, folds, seeds, draws or epochs.",
    SCALED: " The run is *scaled*: another network, other data or a fraction of the epochs. Claims of papers get no verdict.",
}


def run(
    experiment: Experiment,
    scope: Scope,
    out: Path,
    jobs: int | None = 1,
    progress: Progress | None = None,
    command: str = "",
    *,
    saved: bool = False,
) -> str:
    """Run the cells that are not saved yet, write ``NAME.csv`` and ``NAME.md`` to ``out``, and return the Markdown.

    A quick run and one of the paper's size have separate file names. With ``saved`` no cell is run, and the tables contain
    the saved ones.
    """
    cells = experiment.cells(scope)
    name = scope.file_stem(experiment.name)
    folder = out / f".{experiment.name}-cells{experiment.version if experiment.version > 1 else ''}"
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / file_name(cell, scope) for cell in cells]
    missing = [(cell, file) for cell, file in zip(cells, files, strict=True) if _read_cell(file) is None]
    reporter = progress or Progress()
    reporter.start(len(cells))
    for _ in range(len(cells) - len(missing)):
        reporter.step("already saved", None)
    work = [] if saved else [(experiment.run, cell, file) for cell, file in _each_dataset_first(missing)]
    for cell, file, numbers in parallel(_run_cell, scope, work, jobs, ordered=False):
        _write(file, json.dumps(numbers))  # here, because a worker may have another disk
        reporter.step(", ".join(map(str, cell.values())), None)
    found = [(cell, row) for cell, file in zip(cells, files, strict=True) for row in _read_cell(file) or []]
    how = f"Written by `{command}` on {hardware()}."
    if scope.quick:
        how = f"{SHORTENED}\n\n{how}"
    elif not scope.full:
        how += SIZE.get(experiment.protocol, "") + " `--full` runs the paper's size." * experiment.scaled
    if saved and missing:
        how += f" {len(cells) - len(missing)} of {len(cells)} cells are finished."
    _write(out / f"{name}.csv", _to_csv(found))
    found = read_results(experiment, out / f"{name}.csv")  # so that the page has what the file has
    if experiment.figure is not None:
        with new_file(out / f"{name}.svg", overwrite=True) as file:
            save_svg(experiment.figure(found), file)
    text = f"# {experiment.title}\n\n{how}\n\n{page_body(experiment, found, name, scope.full, scope.quick)}"
    _write(out / f"{name}.md", text)
    return text


def page_body(experiment: Experiment, found: Results, name: str, full: bool = False, quick: bool = False) -> str:
    """A page of results below its title and command: the summary, the claims and the figure, whose file has this name."""
    parts = [experiment.summary(found).strip()]
    if claims := experiment.claims_of(found, full, quick):
        parts.append(claims_section(claims))
    if experiment.figure is not None:
        parts.append(f"![{experiment.title}]({name}.svg)")
    return "\n\n".join(parts) + "\n"


def _write(file: Path, text: str) -> None:
    with new_file(file, overwrite=True) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _each_dataset_first(work: list[tuple[Cell, Path]]) -> list[tuple[Cell, Path]]:
    """Put one cell of each data set first, so that a missing data file fails at the start and not after an hour.

    The others keep their order, so that an experiment decides what a run that is stopped has.
    """
    first = {cell.get("set"): file for cell, file in reversed(work)}.values()
    return sorted(work, key=lambda one: one[1] not in first)  # a stable sort


def read_results(experiment: Experiment, file: Path) -> Results:
    """Read the CSV that a run wrote.

    Columns with the names of a cell's entries form the cell; the others are its numbers.
    """
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    cell_columns = list(experiment.cells(Scope(Path()))[0])
    return [
        (
            {name: int(row[name]) if row[name].isdigit() else row[name] for name in cell_columns},
            {name: float(value) for name, value in row.items() if name not in cell_columns and value},
        )
        for row in rows
    ]


def file_name(cell: Cell, scope: Scope) -> str:
    """The file name of a cell, which also depends on ``quick``, ``full`` and ``search``.

    >>> file_name({"set": "car", "method": "EXACT", "seed": 0}, Scope(Path(), search=50))
    'car-EXACT-0-search50.json'
    """
    parts = [
        *map(str, cell.values()),
        *(["quick"] if scope.quick else []),
        *(["full"] if scope.full else []),
        *([f"search{scope.search}"] if scope.search else []),
    ]
    return re.sub(r"[^\w.-]", "_", "-".join(parts)) + ".json"


def _read_cell(file: Path) -> list[Numbers] | None:
    """The rows of a cell; None if its file is missing, or incomplete because the machine stopped."""
    try:
        numbers = json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return numbers if isinstance(numbers, list) else [numbers]


def _run_cell(
    scope: Scope, run: Callable[[Cell, Scope], Numbers | list[Numbers]], cell: Cell, file: Path
) -> tuple[Cell, Path, Numbers | list[Numbers]]:
    """The cell, its file, and its numbers."""
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cell, file, run(cell, scope)


def _to_csv(found: Results) -> str:
    text = io.StringIO()
    rows = [{**cell, **{name: f"{value:.6g}" for name, value in numbers.items()}} for cell, numbers in found]
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
