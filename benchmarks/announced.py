"""How well does `metricfit compare` announce its time? Made tables of 1,000, 10,000 and 50,000 rows.

    python -m benchmarks.announced [--only "5 classes, numbers"] [--out benchmarks/results]

Seconds are those of the processor, so other work on the machine does not count. "Announced" is what the command says, in
seconds: before the first split, from a trial; in a small table after the first split.
"""

from __future__ import annotations

import re
import time

import numpy as np
import pandas as pd

import metricfit as mf
from benchmarks._script import new_parser, write_page, written_by
from metricfit._progress import Progress
from metricfit.comparison import _run

TABLES = {"2 classes, numbers": (2, 0), "2 classes, half categories": (2, 6), "5 classes, numbers": (5, 0)}
SPLITS = {1000: (5, 1), 10_000: (5, 2), 50_000: (3, 1)}  # rows: folds and repeats
N_COLUMNS, N_CATEGORIES = 12, 20
UNITS = {"s": 1.0, "minutes": 60.0, "hours": 3600.0}


class Stopwatch(Progress):
    """Keeps what is announced, and when the splits end."""

    announced, when, trial = 0.0, "", 0.0

    def announce(self, line):  # type: ignore[no-untyped-def]
        begin = time.process_time()
        found = re.search(r"about ([\d.]+) (s|minutes|hours)", line())
        self.trial = time.process_time() - begin
        if found:
            self.announced, self.when = float(found[1]) * UNITS[found[2]], "before"

    def start(self, total: int) -> None:
        self.begin = time.process_time()

    def split_done(self, n_done: int, n_splits: int, n_jobs: int = 1) -> None:
        self.used = time.process_time() - self.begin
        if n_done == 1 and not self.when:
            self.announced, self.when = self.used * n_splits, "after the first split"


def make_table(n_rows: int, n_classes: int, n_categorical: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Normal columns, some cut into categories; classes by a linear part, a curved part and noise."""
    random = np.random.default_rng(1)
    x, weights = random.normal(size=(n_rows, N_COLUMNS)), random.normal(size=(N_COLUMNS, n_classes))
    scores = x @ weights + 1.5 * np.sin(2.0 * x[:, :n_classes]) + 2.0 * random.gumbel(size=(n_rows, n_classes))
    frame = pd.DataFrame(x, columns=[f"x{index}" for index in range(N_COLUMNS)])
    for name in frame.columns[:n_categorical]:
        frame[name] = pd.cut(frame[name], N_CATEGORIES).astype(str)
    return frame, np.array(list("abcde"))[scores.argmax(1)]


def measure(table: str, n_rows: int) -> str:
    """A row of the table of results."""
    features, target = make_table(n_rows, *TABLES[table])
    watch = Stopwatch()
    metric = "f1" if TABLES[table][0] == 2 else "f1_macro"
    n_splits, n_repeats = SPLITS[n_rows]
    mf.compare(features, target, metric, n_splits=n_splits, n_repeats=n_repeats, progress=watch)
    ratio = watch.announced / watch.used
    cells = f"{watch.announced:.0f} | {watch.when} | {watch.used:.0f} | {ratio:.2f} | {watch.trial:.1f}"
    return f"| {n_rows:,} | {table} | {n_splits * n_repeats} | {cells} |"


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--only", choices=TABLES, help="one table instead of all")
    options = parser.parse_args()
    _run.clock = time.process_time
    lines = [
        "| rows | table | splits | announced, s | when | used, s | ratio | trial, s |",
        "|---:|---|---:|---:|---|---:|---:|---:|",
    ]
    for n_rows in SPLITS:
        for table in [options.only] if options.only else TABLES:
            lines.append(measure(table, n_rows))
            print(lines[-1], flush=True)
    write_page(options.out, "announced.md", "\n".join([f"{written_by()} Seconds of one processor.", "", *lines]))


if __name__ == "__main__":
    main()
