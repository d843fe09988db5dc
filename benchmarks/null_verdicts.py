"""How often does a comparison claim a difference where there is none?

    python -m benchmarks.null_verdicts [--sets 40] [--rows 300] [--out benchmarks/results]

Two kinds of tables of normal columns. In "logistic" the labels are drawn from a logistic model. Logistic regression is the
right model there, so that training for the metric has nothing to gain over a tuned threshold: "yes" is a false claim. In
"noise" the labels do not depend on the columns: a verdict in which something beats a constant answer is a false claim. The
number of columns is 5 to 10, the share of the positive class is between 0.2 and 0.5, and metrics take turns. Every table is
compared as by `metricfit compare --models linear`: all methods (or those of --methods), 5 folds, 2 repeats.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binomtest

from benchmarks._script import new_parser, write_page
from metricfit._typing import Floats, Ints
from metricfit.comparison import compare
from reproductions._machine import hardware

METRICS = ("f1", "mcc", "balanced_accuracy", "accuracy")
KINDS = ("logistic", "noise")


def draw(kind: str, seed: int, n_rows: int) -> tuple[Floats, Ints]:
    """Columns, and labels by a logistic model of them or independent of them."""
    random = np.random.default_rng([KINDS.index(kind), seed])
    features = random.normal(size=(n_rows, int(random.integers(5, 11))))
    share, weights = random.uniform(0.2, 0.5), random.normal(size=features.shape[1])
    logits = features @ weights * (2.0 / np.linalg.norm(weights)) if kind == "logistic" else np.zeros(n_rows)
    intercept = brentq(lambda shift: expit(logits + shift).mean() - share, -20.0, 20.0)
    return features, (random.uniform(size=n_rows) < expit(logits + intercept)).astype(np.int64)


def run(kind: str, n_sets: int, n_rows: int, methods: list[str] | None = None) -> Iterator[dict[str, Any]]:
    for seed in range(n_sets):
        metric = METRICS[seed % len(METRICS)]
        found = compare(*draw(kind, seed, n_rows), metric, models=["linear"], methods=methods, random_state=seed)
        verdict = found.verdict
        yield {
            "kind": kind,
            "set": seed,
            "metric": metric,
            "answer": verdict.answer,
            "status": verdict.status,
            "beats constant": verdict.status != "constant",
            "warnings": len(found.warnings),
        }


def report(rows: list[dict[str, Any]], n_rows: int, seconds: float, methods: list[str] | None = None) -> str:
    lines = ["# False verdicts", "", "`python -m benchmarks.null_verdicts`; the script says what the tables are.", ""]
    lines += ["| tables | claim | false claims | 95 % interval |", "|---|---|---|---|"]
    for kind, claim in (("logistic", '"yes", training for the metric helps'), ("noise", "something beats a constant answer")):
        own = [row for row in rows if row["kind"] == kind]
        false = sum(row["answer"] == "yes" if kind == "logistic" else row["beats constant"] for row in own)
        if own:
            ends = binomtest(false, len(own)).proportion_ci(method="exact")
            lines.append(f"| {kind} | {claim} | {false} of {len(own)} | {ends.low:.1%} to {ends.high:.1%} |")
    lines += [
        "",
        "| tables | metric | yes | perhaps | no | beats a constant answer | with a warning |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        for metric in METRICS:
            own = [row for row in rows if (row["kind"], row["metric"]) == (kind, metric)]
            answers = [sum(row["answer"] == answer for row in own) for answer in ("yes", "perhaps", "no")]
            counts = [*answers, sum(row["beats constant"] for row in own), sum(row["warnings"] > 0 for row in own)]
            if own:
                lines.append(f"| {kind} | {metric} | {' | '.join(map(str, counts))} |")
    compared = f"Methods: {', '.join(methods)}. " if methods else ""
    lines += ["", f"{compared}{n_rows} rows each; {seconds / 60:.0f} minutes in one process. {hardware()}.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--methods", nargs="+", help="all of them by default; exact and hinge take most of the time")
    given = parser.parse_args()
    torch.set_num_threads(1)
    begin, rows = time.perf_counter(), []
    for kind in given.kinds:
        for row in run(kind, given.sets, given.rows, given.methods):
            rows.append(row)
            print(*row.values(), flush=True)
    text = report(rows, given.rows, time.perf_counter() - begin, given.methods)
    write_page(given.out, "null_verdicts.md", text)
    if given.out is not None:
        pd.DataFrame(rows).to_csv(given.out / "null_verdicts.csv", index=False)


if __name__ == "__main__":
    main()
