"""What do the checks of a model folder cost? Loading and predicting, beside another version of metricfit.

    python -m benchmarks.model_files --other PATH/src [--repeats 7] [--out benchmarks/results]

``--other`` is the folder ``src`` of another version, for example of a clone before a change. Each version fits and saves its
own models on the same made-up table of 10,000 rows: 20 columns, four of them categories, one of text. Then processes of both
versions take turns. A process loads a model twice, of which the second counts, predicts one row and 10,000 rows, and runs the
command ``metricfit predict`` on 120 rows. A table has the medians of seconds, and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from reproductions._machine import hardware

MODELS = ("linear", "mlp", "boosting", "auto")
HERE = Path(__file__).parents[1] / "src"
STEPS = ("load", "predict 1 row", "predict 10,000 rows", "command")


def made_up(n_rows: int = 10_000) -> tuple[Any, Any]:
    """A table of numbers, categories and text, and two classes."""
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(0)
    columns: dict[str, Any] = {f"n{place}": random.normal(size=n_rows) for place in range(15)}
    columns |= {f"c{place}": random.integers(0, 5 * (place + 1) ** 2, n_rows).astype(str) for place in range(4)}
    words = np.array([f"word{place}" for place in range(300)])
    columns["text"] = [" ".join(words[row]) for row in random.integers(0, 300, (n_rows, 6))]
    target = np.where(columns["n0"] + (columns["c0"] == "1") + random.normal(size=n_rows) > 0.8, "yes", "no")
    return pd.DataFrame(columns), target


def save_models(folder: Path) -> dict[str, float]:
    """Fit and save the models; megabytes of each folder. Called in a process of its own."""
    import metricfit as mf

    features, target = made_up()
    sizes = {}
    for model in MODELS:
        given = mf.Network(max_epochs=3) if model == "mlp" else model
        classifier = mf.MetricClassifier("f1", model=given, method="threshold", random_state=0)
        classifier.fit(features, target).save(folder / model)
        sizes[model] = sum(file.stat().st_size for file in (folder / model).iterdir()) / 1e6
    return sizes


def one_run(folder: Path, model: str) -> dict[str, float]:
    """Seconds of every step; called in a process of its own."""
    import time

    import metricfit as mf

    features, _ = made_up()
    mf.MetricClassifier.load(folder / model)
    found = {}
    begin = time.perf_counter()
    classifier = mf.MetricClassifier.load(folder / model)
    found["load"] = time.perf_counter() - begin
    classifier.predict_proba(features[:1])
    for name, rows in (("predict 1 row", features[:1]), ("predict 10,000 rows", features)):
        begin = time.perf_counter()
        classifier.predict_proba(rows)
        found[name] = time.perf_counter() - begin
    command = [sys.executable, "-m", "metricfit", "predict", str(folder / model), str(folder.parent / "rows.csv")]
    begin = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    found["command"] = time.perf_counter() - begin
    return found


def call(source: Path, *arguments: str) -> dict[str, float]:
    """Run a step of this script with a version of metricfit."""
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{HERE.parent}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.model_files", "--step", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=HERE.parent)
    return json.loads(done.stdout.splitlines()[-1])


def compare(other: Path, repeats: int, folder: Path) -> str:
    versions = {"other": other, "here": HERE}
    made_up(120)[0].to_csv(folder / "rows.csv", index=False)
    sizes = {name: call(source, "save", str(folder / name)) for name, source in versions.items()}
    rows = []
    for model in MODELS:
        found: dict[str, list[dict[str, float]]] = {name: [] for name in versions}
        for _ in range(repeats):
            for name, source in versions.items():
                found[name].append(call(source, "run", str(folder / name), model))
        print(f"{model} done", file=sys.stderr)
        rows.append([model, "size in MB", *(f"{sizes[name][model]:.2f}" for name in versions), _ratio(sizes, model)])
        for step in STEPS:
            medians = {name: {step: statistics.median(run[step] for run in runs)} for name, runs in found.items()}
            rows.append([model, step, *(f"{medians[name][step]:.4f}" for name in versions), _ratio(medians, step)])
    names = ["model", "step", "other", "here", "here / other"]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [names, ["---", "---", "---:", "---:", "---:"], *rows])


def _ratio(found: dict[str, dict[str, float]], key: str) -> str:
    return f"{found['here'][key] / found['other'][key]:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model_files")
    parser.add_argument("--other", type=Path, help="folder src of another version")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, help="folder for model_files.md")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        step, folder, *rest = args.step
        print(json.dumps(save_models(Path(folder)) if step == "save" else one_run(Path(folder), *rest)))
        return
    if args.other is None:
        parser.error("--other is needed: the folder src of another version")
    with tempfile.TemporaryDirectory() as folder:
        table = compare(args.other.resolve(), args.repeats, Path(folder))
    title = "# Loading and predicting, beside another version"
    text = f"{title}\n\nMedians of {args.repeats} processes in turn, in seconds.\n\n{table}\n\n{hardware()}\n"
    print(text)
    if args.out:
        (args.out / "model_files.md").write_text(text)


if __name__ == "__main__":
    main()
