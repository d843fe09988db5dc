"""What does one evaluation with its gradient cost, per row and column? docs/scaling.md computes with this.

    python -m benchmarks.pass_cost [--columns 20 100 1000] [--rounds 5] [--out benchmarks/results]

Two classes, normal noise, rows in memory in the batches of a fit in parts, one thread. "One model" asks about one model, "six"
about the models of five folds and of all rows, which are looked at side by side in one pass. Rounds of both are interleaved.
The least processor time of each counts, because the machine may be busy with other work.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from metricfit._files import new_file
from metricfit._typing import Floats
from metricfit.learners import LinearModel
from metricfit.shards._questions import ALL_ROWS, Answers, NormalOfTwo
from metricfit.shards._rows import BATCH_CELLS, Batch
from reproductions._machine import hardware
from reproductions._markdown import table

CELLS = 2**24  # of the rows of a round: 134 MB
FOLDS = (0, 1, 2, 3, 4, ALL_ROWS)


def measure(n_columns: int, n_rounds: int) -> tuple[float, float]:
    """Nanoseconds per row, column and model: for one model, and for six side by side."""
    random, n_rows = np.random.default_rng(0), CELLS // n_columns
    features = random.normal(size=(n_rows, n_columns))
    labels, folds = random.integers(0, 2, n_rows), random.integers(0, 5, n_rows)
    n_batch = max(1, BATCH_CELLS // n_columns)
    parts = [slice(start, start + n_batch) for start in range(0, n_rows, n_batch)]
    batches = [Batch(features[part], labels[part], folds[part]) for part in parts]
    questions = [_question(fold, random.normal(size=(n_columns, 1)) / np.sqrt(n_columns)) for fold in FOLDS]
    sides = [questions[-1:], questions]
    least = [min(times) for times in zip(*([_seconds(batches, side) for side in sides] for _ in range(n_rounds)), strict=True)]
    one, six = (1e9 * seconds / (n_rows * n_columns * len(side)) for seconds, side in zip(least, sides, strict=True))
    return one, six


def _question(fold: int, weight: Floats) -> NormalOfTwo:
    return NormalOfTwo(LinearModel(weight, np.zeros(1), np.zeros(2)), fold, np.ones(2), width=0.5, leak=1.0)


def _seconds(batches: Sequence[Batch], questions: Sequence[NormalOfTwo]) -> float:
    answers, begin = Answers(questions), time.process_time()
    for batch in batches:
        answers(batch)
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="+", default=[20, 100, 1000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with threadpool_limits(1):
        found = {n_columns: measure(n_columns, given.rounds) for n_columns in given.columns}
    rows = [[f"{n_columns:,}", *(f"{one:.2f}" for one in costs)] for n_columns, costs in found.items()]
    text = table(["columns", "one model, ns per row and column", "six models, ns per row, column and model"], rows)
    print(text)
    if given.out:
        with new_file(given.out / "pass_cost.md", overwrite=True) as file:
            file.write_text(f"Written by `python -m benchmarks.pass_cost` on {hardware()}.\n\n{text}\n")


if __name__ == "__main__":
    main()
