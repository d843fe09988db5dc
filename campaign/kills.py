"""``kill -9`` at any moment of ``fit``, ``predict`` and a training: nothing half-written, and the next run is as the first.

A kill is one case. Temporary files may be left, with hidden names, and must not be in the way.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from campaign import _training
from campaign._damage import Random, as_csv, draw_table
from campaign._tally import Outcome, Tally
from campaign._training import CHECKPOINT, WEIGHTS

TIME_LIMIT = 120.0
IMPORTS = 0.3  # the share of a run before its work begins
LATE = 0.75  # half of the kills come after this share, where files are written
N_ROWS = 40_000  # to predict
METRICFIT = (sys.executable, "-m", "metricfit")
ALLOWED = {CHECKPOINT}  # is there on purpose, in whole


@dataclass
class Job:
    """A command, what it writes, and how an output is read to be compared."""

    name: str
    command: tuple[str, ...]
    inputs: tuple[Path, ...]
    output: str
    read: Callable[[Path], object]
    seconds: float = 0.0
    expected: object = field(default=None)


def run(random: Random, n_cases: int, folder: Path) -> Tally:
    """Kill each of the three in turn; ``n_cases`` kills in all."""
    tally = Tally("kills")
    jobs = prepare(random, folder, min(3, n_cases))
    for number in range(n_cases):
        job, place = jobs[number % len(jobs)], folder / f"kill-{number}"
        outcome, why = kill_once(job, place, draw_moment(random, job.seconds))
        tally.count(outcome, f"{number}, {job.name}: {why}")
        shutil.rmtree(place)
    return tally


def prepare(random: Random, folder: Path, n_jobs: int) -> list[Job]:
    """The jobs, with their time and what they write if nobody disturbs them."""
    training = (sys.executable, _training.__file__, ".")
    jobs = [Job("training", training, (), WEIGHTS, lambda path: np.load(path).tobytes()), *commands(random, folder)]
    for job in jobs[:n_jobs]:
        place = folder / f"whole-{job.name}"
        lay_out(job, place)
        begin = time.perf_counter()
        subprocess.run(job.command, cwd=place, check=True, capture_output=True, timeout=TIME_LIMIT)
        job.seconds = time.perf_counter() - begin
        job.expected = job.read(place / job.output)
        if job.name == "fit":
            shutil.copytree(place / job.output, folder / "model")
    return jobs[:n_jobs]


def commands(random: Random, folder: Path) -> list[Job]:
    """``fit`` to a small table, and ``predict`` of a large one by its model."""
    small, model, large = folder / "small.csv", folder / "model", folder / "large.csv"
    small.write_bytes(as_csv(draw_table(random, 60)))
    lines = small.read_text().splitlines(keepends=True)
    large.write_text(lines[0] + "".join(lines[1:]) * (N_ROWS // 60))
    fit = (*METRICFIT, "fit", "small.csv", "--model", "linear", "--folds", "2", "--repeats", "1", "--out", "model")
    predict = (*METRICFIT, "predict", "model", "large.csv", "--probabilities", "--out", "out.csv")
    return [
        Job("fit", fit, (small,), "model", read_model),
        Job("predict", predict, (model, large), "out.csv", Path.read_bytes),
    ]


def read_model(folder: Path) -> object:
    """What decides its predictions, and the names of all files; the report has the time in it."""
    names = sorted(path.name for path in folder.iterdir())
    return names, [(folder / name).read_bytes() for name in ("arrays.safetensors", "table.json")]


def lay_out(job: Job, place: Path) -> None:
    place.mkdir()
    for path in job.inputs:
        (place / path.name).symlink_to(path)


def draw_moment(random: Random, seconds: float) -> float:
    """A moment of the run, half of the time a late one."""
    first = LATE if random.random() < 0.5 else IMPORTS
    return float(random.uniform(first, 1.05) * seconds)


def kill_once(job: Job, place: Path, moment: float) -> tuple[Outcome, str]:
    """Kill the job at this moment, look at what is there, and run it again."""
    lay_out(job, place)
    process = subprocess.Popen(job.command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(moment)
    process.kill()
    process.wait()
    bad = find_half_written(job, place)
    if bad:
        return Outcome.WRONG, f"killed after {moment:.2f} s: {bad}"
    output = place / job.output
    if output.exists():  # it was complete already
        return Outcome.ANSWERED, ""
    again = subprocess.run(job.command, cwd=place, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    if again.returncode:
        return Outcome.TRACEBACK, f"killed after {moment:.2f} s, then: {again.stderr[-300:]}"
    if job.read(output) != job.expected:
        return Outcome.WRONG, f"killed after {moment:.2f} s, then another result"
    return Outcome.ANSWERED, ""


def find_half_written(job: Job, place: Path) -> str:
    """What is wrong with the files that a killed job left; "" if nothing is."""
    inputs = {path.name for path in job.inputs}
    for path in place.iterdir():
        if path.name in inputs or path.name.startswith(".") or path.name in ALLOWED:
            continue
        if path.name != job.output:
            return f"{path.name} is there"
        try:
            complete = job.read(path) == job.expected
        except (OSError, ValueError) as error:
            return f"{path.name} cannot be read: {error}"
        if not complete:
            return f"{path.name} is not complete"
    return ""
