"""Seconds and memory of `metricfit decide` on files of scores, and whether it answers as Python does.

    python -m benchmarks.decide_files [--rows 10000 1000000] [--classes 2 10 100] [--out benchmarks/results]

LightGBM, a network of torch and logistic regression of scikit-learn are trained on 5,000 drawn rows and score the others,
which are written to a Parquet file. Seconds are of the processor, of the whole command, with its imports and the file. The
memory is the most that the process had. "Same" means that offsets and score equal those of `DecisionRule`. Cells that
decide_files.csv in `--out` has are not measured again.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from lightgbm import LGBMClassifier
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

import metricfit as mf
from benchmarks._script import new_parser, write_page
from metricfit._typing import Floats, Ints
from reproductions._machine import hardware

MODELS = ("LightGBM", "torch", "scikit-learn")
N_TRAIN, N_FEATURES = 5000, 20
# The command, and then the memory of this process alone: what wait4 tells includes that of the process that started it.
COMMAND = """
import atexit, runpy, sys
atexit.register(lambda: print(open("/proc/self/status").read(), file=sys.stderr))
runpy.run_module("metricfit", run_name="__main__")
"""


def draw(n: int, n_classes: int, random: np.random.Generator) -> tuple[Floats, Ints]:
    """Normal classes around random centres, the later the rarer."""
    centres = 1.2 * np.random.default_rng(n_classes).normal(size=(n_classes, N_FEATURES))
    shares = 1.0 / np.arange(1, n_classes + 1)
    labels = random.choice(n_classes, n, p=shares / shares.sum())
    labels[:n_classes] = np.arange(n_classes)
    return random.normal(scale=2.5, size=(n, N_FEATURES)) + centres[labels], labels


def probabilities(model: str, features: Floats, labels: Ints, new: Floats) -> Floats:
    if model == "torch":
        torch.manual_seed(0)
        inputs, targets = torch.tensor(features, dtype=torch.float32), torch.tensor(labels)
        network = torch.nn.Sequential(torch.nn.Linear(N_FEATURES, 64), torch.nn.ReLU(), torch.nn.Linear(64, labels.max() + 1))
        optimizer = torch.optim.Adam(network.parameters(), 0.01)
        for _ in range(200):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(inputs), targets).backward()
            optimizer.step()
        with torch.no_grad():
            return softmax(network(torch.tensor(new, dtype=torch.float32)).numpy(), 1)
    if model == "LightGBM":
        trees: Any = LGBMClassifier(n_estimators=5, num_leaves=7, n_jobs=1, verbose=-1)
        return np.asarray(trees.fit(features, labels).predict_proba(new))
    return np.asarray(LogisticRegression(max_iter=100).fit(features, labels).predict_proba(new))


def measure(model: str, n: int, n_classes: int, folder: Path) -> dict[str, Any]:
    random = np.random.default_rng(0)
    features, labels = draw(N_TRAIN, n_classes, random)
    new, y = draw(n, n_classes, random)
    scores = probabilities(model, features, labels, new).astype(np.float32)
    file, metric = folder / "scores.parquet", "f1" if n_classes == 2 else "f1_macro"
    table = pd.DataFrame(scores, columns=[f"p_{label}" for label in range(n_classes)])
    table.assign(y=y).to_parquet(file)
    command = [sys.executable, "-c", COMMAND, "decide", str(file), "--target", "y", "--metric", metric, "--json"]
    with (folder / "answer.json").open("w") as answer, (folder / "memory").open("w") as errors:
        process = subprocess.Popen(command, stdout=answer, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
    assert status == 0, command
    found = json.loads((folder / "answer.json").read_text())
    rule = mf.DecisionRule(metric, classes=list(range(n_classes))).fit(scores, y)
    same = found["offsets"] == rule.offsets_.tolist() and found["score"] == rule.score_
    return {
        "model": model,
        "rows": n,
        "classes": n_classes,
        "seconds": used.ru_utime + used.ru_stime,
        "memory": int(re.findall(r"VmHWM:\s*(\d+) kB", (folder / "memory").read_text())[-1]) / 1000,
        "largest score": rule.baseline_,
        "rule": rule.score_,
        "same": same,
    }


def report(cells: pd.DataFrame) -> str:
    lines = ["# `metricfit decide` on files of scores", "", "`python -m benchmarks.decide_files --out benchmarks/results`", ""]
    lines += ["| model | rows | classes | processor seconds | MB | largest score | rule | same as in Python |"]
    lines += ["|---|---:|---:|---:|---:|---:|---:|---|"]
    for _, one in cells.iterrows():
        lines.append(
            f"| {one.model} | {one.rows:,} | {one.classes} | {one.seconds:.1f} | {one.memory:,.0f} "
            f"| {one['largest score']:.4f} | {one.rule:.4f} | {'yes' if one.same else 'no'} |"
        )
    return "\n".join([*lines, "", f"F1 of the rarer of two classes, macro F1 of more. {hardware()}.", ""])


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--rows", nargs="*", type=int, default=[10_000, 1_000_000])
    parser.add_argument("--classes", nargs="*", type=int, default=[2, 10, 100])
    given = parser.parse_args()
    file = given.out / "decide_files.csv" if given.out is not None else None
    known = pd.read_csv(file) if file is not None and file.exists() else pd.DataFrame(columns=["model", "rows", "classes"])
    cells: list[dict[Any, Any]] = known.to_dict("records")
    with tempfile.TemporaryDirectory() as folder:
        for n, n_classes, model in itertools.product(given.rows, given.classes, given.models):
            if ((known.model == model) & (known["rows"] == n) & (known.classes == n_classes)).any():
                continue
            cells.append(measure(model, n, n_classes, Path(folder)))
            print(cells[-1], flush=True)
            if file is not None:
                table = pd.DataFrame(cells).sort_values(["rows", "classes"], kind="stable")
                table.round(4).to_csv(file, index=False)
    write_page(given.out, "decide_files.md", report(pd.DataFrame(cells).sort_values(["rows", "classes"], kind="stable")))


if __name__ == "__main__":
    main()
