"""How do time and memory of a linear fit grow with rows, columns and classes?

    python -m benchmarks.growth [--limit 300] [--rows 10000 100000 1000000 10000000] [--out benchmarks/results]

Every fit has a process of its own and one thread. Time is processor time, because the machine may be busy with other work;
memory is the peak of the process less what it had before it made the data. ``C`` is 1, so that one fit is measured and not a
search over penalties: logistic regression, then offsets and the descent on smoothed F1 where the method is "direct". A fit
that takes more than ``--limit`` seconds is stopped, and larger ones of its series are left out.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._script import memory, new_parser, write_page, written_by
from metricfit._files import new_file
from reproductions._markdown import table


@dataclass(frozen=True)
class Series:
    """Fits of which one size grows: ``sizes`` of ``axis``, the others fixed."""

    title: str
    axis: str
    sizes: tuple[int, ...]
    rows: int = 0
    columns: int = 20
    classes: int = 2
    kind: str = "dense"  # or sparse, with ten numbers per row, or files
    method: str = "direct"

    def point(self, size: int) -> dict[str, Any]:
        sizes = {"rows": self.rows, "columns": self.columns, "classes": self.classes} | {self.axis: size}
        return {**sizes, "kind": self.kind, "method": self.method}


def all_series(rows: Sequence[int]) -> list[Series]:
    columns, classes = (10, 100, 1_000, 10_000), (2, 10, 100, 1_000)
    return [
        Series("rows, in memory", "rows", tuple(rows)),
        Series("rows, in files", "rows", tuple(rows), kind="files"),
        Series("columns, dense, 2,000 rows", "columns", columns, rows=2_000),
        Series("columns, sparse, 20,000 rows", "columns", columns, rows=20_000, kind="sparse"),
        Series("classes, direct, 10,000 rows", "classes", classes, rows=10_000),
        Series("classes, cross-entropy, 10,000 rows", "classes", classes, rows=10_000, method="cross_entropy"),
    ]


def measure(point: dict[str, Any]) -> dict[str, float]:
    """Seconds of the processor and bytes of memory of one fit."""
    from scipy import sparse

    import metricfit as mf
    import metricfit.shards  # pyarrow is no memory of the fit

    options = {"method": point["method"], "C": 1.0, "random_state": 0}
    metric = "f1" if point["classes"] == 2 else "f1_macro"
    mf.MetricClassifier("f1", model="linear", **options).fit(np.eye(4).repeat(8, 0), np.tile([0, 1], 16))  # imports
    before, random = memory(), np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        if point["kind"] == "files":
            from benchmarks.make_rows import write_rows

            write_rows(Path(folder), point["rows"], point["columns"], 4)
            begin = time.process_time()
            mf.fit_shards(f"{folder}/part-*.parquet", "y", metric, scratch=folder, **options)
            return {"seconds": time.process_time() - begin, "memory": memory() - before}
    if point["kind"] == "sparse":
        density = min(1.0, 10 / point["columns"])
        features: Any = sparse.random(point["rows"], point["columns"], density, "csr", random_state=random)
    else:
        features = random.normal(size=(point["rows"], point["columns"]))
    n_used = min(10, point["columns"])
    scores = features[:, :n_used] @ random.normal(size=(n_used, point["classes"])) * (10 if point["kind"] == "sparse" else 1)
    labels = (scores + random.gumbel(size=scores.shape)).argmax(1)
    begin = time.process_time()
    mf.MetricClassifier(metric, model="linear", **options).fit(features, labels)
    return {"seconds": time.process_time() - begin, "memory": memory() - before}


def run(series: Series, limit: int) -> list[dict[str, Any]]:
    found = []
    for size in series.sizes:
        point = series.point(size)
        command = [sys.executable, "-m", "benchmarks.growth", "--one", json.dumps(point), "--limit", str(limit)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode < 0:
            found.append({"size": size, "seconds": math.nan, "memory": math.nan})
            break
        if answer.returncode:
            raise RuntimeError(answer.stderr)
        found.append({"size": size, **json.loads(answer.stdout.splitlines()[-1])})
        print(series.title, found[-1], file=sys.stderr, flush=True)
    return found


def exponent(found: Sequence[dict[str, Any]], key: str, last: int = 2) -> float:
    """The slope of the logarithms over the last sizes.

    >>> exponent([{"size": 10, "seconds": 1.0}, {"size": 100, "seconds": 100.0}], "seconds")
    2.0
    """
    known = [row for row in found if row[key] > 0.0][-last:]
    if len(known) < 2:
        return math.nan
    return math.log(known[-1][key] / known[0][key]) / math.log(known[-1]["size"] / known[0]["size"])


def report(results: dict[str, list[dict[str, Any]]], limit: int) -> str:
    sizes, exponents = [], []
    for title, found in results.items():
        for row in found:
            stopped = math.isnan(row["seconds"])
            seconds = f"more than {limit}" if stopped else f"{row['seconds']:.2f}"
            sizes.append([title, f"{row['size']:,}", seconds, "" if stopped else f"{row['memory'] / 1e6:,.0f}"])
        exponents.append([title, *(f"{exponent(found, key):.2f}" for key in ("seconds", "memory"))])
    return (
        f"{written_by()}\n\n"
        "Times are of the processor, because the machine was busy with other work; caches were shared, so read exponents "
        "rather than seconds. Memory is the peak of the process less what it had before it made the data. An exponent is the "
        "slope of the logarithms between the last two sizes.\n\n"
        f"{table(['what grows', 'exponent of time', 'exponent of memory'], exponents)}\n\n"
        f"{table(['what grows', 'size', 'processor time, s', 'memory, MB'], sizes)}\n\n![Growth](growth.svg)\n"
    )


def draw(results: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Time above, memory below; rows, columns and classes side by side."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, 3, figsize=(12, 7), sharex="col")
    for axes, (key, unit, name) in zip(
        grid, (("seconds", 1.0, "processor time, s"), ("memory", 1e6, "memory, MB")), strict=True
    ):
        for panel, axis in zip(axes, ("rows", "columns", "classes"), strict=True):
            for title, found in results.items():
                if title.startswith(axis):
                    known = [row for row in found if row[key] > 0.0]
                    label = f"{title.removeprefix(axis).strip(', ')}: exponent {exponent(found, key):.2f}"
                    panel.loglog([row["size"] for row in known], [row[key] / unit for row in known], "o-", label=label)
            panel.set(xlabel=axis if key == "memory" else "", ylabel=name)
            panel.margins(y=0.2)
            panel.legend(fontsize=7, loc="upper left")
    figure.tight_layout()
    with new_file(path, overwrite=True) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000, 10_000_000])
    parser.add_argument("--limit", type=int, default=300, help="seconds of the processor per fit")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        resource.setrlimit(resource.RLIMIT_CPU, (given.limit + 20, given.limit + 20))  # 20 to import and to make the data
        print(json.dumps(measure(json.loads(given.one))))
        return
    results = {series.title: run(series, given.limit) for series in all_series(given.rows)}
    write_page(given.out, "growth.md", report(results, given.limit))
    if given.out:
        draw(results, given.out / "growth.svg")


if __name__ == "__main__":
    main()
