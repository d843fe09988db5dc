"""What does the ensemble cost beside boosted trees, in time and memory, as the rows grow?

    python -m benchmarks.model_cost [--rows 10000 100000 1000000] [--columns 30] [--out benchmarks/results]
    python -m benchmarks.model_cost --sets pima car ... [--out benchmarks/results]     # the papers' sets instead

``MetricClassifier(model="boosting")`` (five folds, offsets) against ``model="auto"`` (the ensemble) and ``model="linear"``,
metric f1 (f1_macro for several classes), one thread. Every fit has a process of its own, in turn. Memory is the peak of the
fit less what the process had before it made the data, divided by the size of the data.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from itertools import pairwise
from typing import Any

from benchmarks._script import memory, new_parser, write_page, written_by
from reproductions import _tables as tables

MODELS = ("boosting", "auto", "linear")


def made_up(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    """Two classes, one in five positive, with a boundary that is partly linear and partly of products."""
    import numpy as np

    random = np.random.default_rng(0)
    features = random.normal(size=(n_rows, n_columns))
    score = features[:, :8].sum(1) / 3.0 + features[:, 8] * features[:, 9] + np.abs(features[:, 10]) - 2.5
    target = (score + random.logistic(size=n_rows) > 0.0).astype(int)
    return features, target


def one_fit(model: str, rows: int, columns: int, name: str) -> dict[str, float]:
    """Seconds of a fit, and its peak of memory as a multiple of the data; called in a process of its own."""
    import time

    import numpy as np
    from threadpoolctl import threadpool_limits

    import metricfit as mf

    classifier = mf.MetricClassifier("f1", model="linear", random_state=0).fit(np.eye(4).repeat(8, 0), np.tile([0, 1], 16))
    before = memory("VmRSS")
    features, target = tables.load(name) if name else made_up(rows, columns)
    size = features.memory_usage(deep=True).sum() if name else features.nbytes + target.nbytes
    metric = "f1_macro" if len(np.unique(target)) > 2 else "f1"
    options: dict[str, Any] = {"pos_label": np.unique(target)[-1]} if metric == "f1" else {}
    classifier = mf.MetricClassifier(metric, model=model, random_state=0, **options)
    begin = time.perf_counter()
    with threadpool_limits(1):
        classifier.fit(features, target)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "memory": (memory() - before) / size}


def run_fits(sizes: list[tuple[int, str]], columns: int, repeats: int) -> list[dict[str, Any]]:
    rows = []
    for n_rows, name in sizes:
        found: dict[str, list[dict[str, float]]] = {model: [] for model in MODELS}
        for _ in range(repeats):
            for model in MODELS:
                command = [sys.executable, "-m", "benchmarks.model_cost", "--one", model, str(n_rows), str(columns), name]
                answer = subprocess.run(command, capture_output=True, text=True, check=True)
                found[model].append(json.loads(answer.stdout.splitlines()[-1]))
        row: dict[str, Any] = {"data": name or f"{n_rows:,} x {columns}", "rows": n_rows}
        for model, fits in found.items():
            row |= {f"{model} {key}": statistics.median(fit[key] for fit in fits) for key in ("seconds", "memory")}
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
    return rows


def report(rows: list[dict[str, Any]]) -> str:
    lines = [written_by(), ""]
    lines += ["| data | boosting, s | ensemble, s | ratio | linear, s | memory of boosting | memory of the ensemble |"]
    lines += ["|---|" + "---:|" * 6]
    ratios = []
    for row in rows:
        ratios.append(row["auto seconds"] / row["boosting seconds"])
        lines.append(
            f"| {row['data']} | {row['boosting seconds']:.1f} | {row['auto seconds']:.1f} | {ratios[-1]:.2f} | "
            f"{row['linear seconds']:.1f} | {row['boosting memory']:.1f} | {row['auto memory']:.1f} |"
        )
    lines += ["", f"Median ratio: {statistics.median(ratios):.2f}. Memory is in multiples of the data."]
    sized = [row for row in rows if row["rows"]]
    for one, other in pairwise(sized):
        growth = math.log(other["auto seconds"] / one["auto seconds"]) / math.log(other["rows"] / one["rows"])
        lines.append(f"The ensemble's time grows from {one['rows']:,} to {other['rows']:,} rows with exponent {growth:.2f}.")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--sets", nargs="+", choices=list(tables.SETS), metavar="SET")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        model, rows, columns, name = options.one
        print(json.dumps(one_fit(model, int(rows), int(columns), name)))
        return
    sizes = [(0, name) for name in options.sets] if options.sets else [(n, "") for n in options.rows]
    text = report(run_fits(sizes, options.columns, options.repeats))
    write_page(options.out, "model_cost_sets.md" if options.sets else "model_cost.md", text)


if __name__ == "__main__":
    main()
