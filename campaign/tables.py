"""Damaged tables: ``compare``, ``fit`` and ``predict`` answer in full, or refuse in one line. A file is one case."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from campaign._damage import DAMAGES, File, Random, SampleTable, as_csv, draw_table
from campaign._tally import Outcome, Tally
from campaign._worker import CommandResult, CommandWorker

SHORT, OUT = ("--folds", 2, "--repeats", 1), ("--probabilities", "--out")
CASES_OF_A_TABLE = 24
GOOD, MODEL = "good.csv", "model"
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
_ROWS = re.compile(r"^[^:]+: ([\d,]+) rows, \d+ columns", re.MULTILINE)
_DROPPED = re.compile(r"^([\d,]+) rows without a value", re.MULTILINE)
Bad = tuple[Outcome, str]


def run(random: Random, n_cases: int, folder: Path) -> Tally:
    """Damage some tables in turn in every way; ``compare`` and ``fit`` take turns too, because they take longest."""
    tally = Tally("tables")
    turns = random.permutation(len(DAMAGES))
    with CommandWorker() as worker:
        for number in range(n_cases):
            if number % CASES_OF_A_TABLE == 0:
                table = draw_table(random)
                made = fit_good(worker, table, folder)
                if made.code != 0:
                    tally.count(Outcome.TRACEBACK, f"{number}: the table as drawn cannot be fitted: {made.err[-300:]}")
                    return tally
            damage = DAMAGES[turns[number % len(turns)]]
            outcome, why = try_file(worker, damage(random, table), folder, compare=(number + number // len(turns)) % 2 == 0)
            tally.count(outcome, f"{number}, {damage.__name__}: {why}")
    return tally


def fit_good(worker: CommandWorker, table: SampleTable, folder: Path) -> CommandResult:
    """Fit a model to the table as it was drawn."""
    shutil.rmtree(folder / MODEL, ignore_errors=True)
    (folder / GOOD).write_bytes(as_csv(table))
    return worker.run(["fit", GOOD, "--out", MODEL, "--model", "linear", *SHORT], folder)


def try_file(worker: CommandWorker, file: File, folder: Path, compare: bool) -> Bad:
    """The outcome of one file, and what happened."""
    place = folder / "case"
    place.mkdir()
    (place / file.name).write_bytes(file.content)
    answered = 0
    try:
        for command, check in _commands(file, place, compare):
            before = {path.name for path in place.iterdir()}
            ended = worker.run(command, place)
            bad = judge(ended, check, place, before)
            if bad is not None:
                return bad[0], f"{command[0]}: {bad[1]}"
            answered += ended.code == 0
    finally:
        shutil.rmtree(place)
    return (Outcome.ANSWERED if answered else Outcome.REFUSED), ""


def _commands(file: File, folder: Path, compare: bool) -> Iterator[tuple[list[Any], Callable[[CommandResult], Bad | None]]]:
    """The commands, and what is checked if one has succeeded."""
    old = folder.parent / MODEL
    yield ["predict", old, file.name, *OUT, "old.csv"], lambda _: _check_predictions(old, folder / "old.csv", file.n_rows)
    if compare:
        yield ["compare", file.name, "--models", "linear", "--json", *SHORT], lambda ended: _check_compare(ended, file)
        return
    yield ["fit", file.name, "--out", "new", "--model", "linear", *SHORT], lambda ended: _check_rows(ended, file)
    new = folder / "new"
    if new.exists():
        yield ["predict", new, file.name, *OUT, "new.csv"], lambda _: _check_predictions(new, folder / "new.csv", file.n_rows)


def judge(ended: CommandResult, check: Callable[[CommandResult], Bad | None], folder: Path, before: set[str]) -> Bad | None:
    """What is wrong with the end of a command; None if nothing is."""
    if ended.crashed:
        return Outcome.TRACEBACK, ended.err[-300:]
    if _CONTROL.search(ended.err.replace("\n", "")):
        return Outcome.WRONG, f"control characters on stderr: {ended.err!r}"
    now = {path.name for path in folder.iterdir()} - before
    hidden = sorted(name for name in now if name.startswith("."))
    if hidden:
        return Outcome.WRONG, f"a temporary file is left: {hidden}"
    if ended.code == 0:
        return check(ended)
    if ended.code not in (1, 2) or not ended.last_line.startswith("metricfit: "):
        return Outcome.TRACEBACK, f"code {ended.code}, {ended.last_line!r}"
    return (Outcome.WRONG, f"refused, but there is {sorted(now)}") if now or ended.out else None


def _check_compare(ended: CommandResult, file: File) -> Bad | None:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} in the JSON")

    try:
        found = json.loads(ended.out, parse_constant=refuse)
    except ValueError as error:
        return Outcome.WRONG, str(error)
    if not all(math.isfinite(row["mean"]) for row in found["results"]):
        return Outcome.WRONG, "a mean that is no number"
    return _check_rows(ended, file)


def _check_rows(ended: CommandResult, file: File) -> Bad | None:
    """Rows that are used and rows that are said to be dropped make the file."""
    said = [int(number.replace(",", "")) for pattern in (_ROWS, _DROPPED) for number in pattern.findall(ended.err)]
    if file.n_rows is not None and sum(said) != file.n_rows:
        return Outcome.LOST, f"{file.n_rows} rows in the file, {said} on stderr"
    return None


def _check_predictions(model: Path, found: Path, n_rows: int | None) -> Bad | None:
    """As many rows as the file has, labels of the model, and probabilities that are some."""
    known = {str(label) for label in json.loads((model / "model.json").read_text())["classes"]["values"]}
    with found.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    if n_rows is not None and len(rows) != n_rows:
        return Outcome.LOST, f"{n_rows} rows in the file, {len(rows)} predictions"
    if {row[0] for row in rows} - known:
        return Outcome.WRONG, f"labels {sorted({row[0] for row in rows} - known)[:3]}, expected some of {sorted(known)}"
    for row in rows:
        numbers = [float(cell) for cell in row[1:]]
        if not all(0.0 <= number <= 1.0 for number in numbers) or abs(sum(numbers) - 1.0) > 1e-6:
            return Outcome.WRONG, f"probabilities {row[1:]}"
    return (Outcome.WRONG, f"header {header}") if header[0] != "prediction" else None
