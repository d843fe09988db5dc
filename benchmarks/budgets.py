"""Budgets: are the answers those of the linear programme, and how long do a million rows take?

    python -m benchmarks.budgets [--cases 100] [--out benchmarks/results]

A case has 50 to 400 rows, 2 to 6 classes, values with or without ties, and caps for some classes. HiGHS solves the linear
programme of each case by ``scipy.optimize.linprog``. Times are the median of three runs; the values are probabilities times a
weight for each class, in float64 and rounded to two digits.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import eye_array, kron

from benchmarks._script import new_parser, write_page, written_by
from metricfit._typing import Floats
from metricfit.decisions import best_within


def programme(values: Floats, caps: Floats) -> float:
    """The best sum of values within the caps."""
    (n, k), finite = values.shape, np.isfinite(caps)
    of_classes = kron(np.ones((1, n)), eye_array(k)).tocsr()[finite]
    of_rows = kron(eye_array(n), np.ones((1, k))).tocsr()
    return -float(linprog(-values.ravel(), of_classes, caps[finite], of_rows, np.ones(n), method="highs").fun)


def compare(cases: int) -> str:
    worst, n_kept, n_bound = 0.0, 0, 0
    for seed in range(cases):
        random = np.random.default_rng(seed)
        n, k = int(random.integers(50, 401)), int(random.integers(2, 7))
        values = random.dirichlet(np.full(k, 0.5), n) * random.uniform(1.0, 4.0, k)
        values = values.round(1) if seed % 2 else values
        caps = np.where(random.random(k) < 0.7, random.integers(0, n // k + 1, k), np.inf)
        caps[0] = np.inf if caps.sum() < n else caps[0]
        answers = best_within(values, caps)
        n_kept += bool((np.bincount(answers, minlength=k) <= caps).all())
        n_bound += bool((answers != values.argmax(1)).any())
        worst = max(worst, abs(values[np.arange(n), answers].sum() - programme(values, caps)))
    return (
        f"{n_kept} of {cases} drawn cases keep their caps; in {n_bound} the caps change answers. The largest difference "
        f"between the sum of values and that of the linear programme is {worst:.1e}."
    )


def seconds(n: int, k: int, n_caps: int, ties: bool) -> float:
    random = np.random.default_rng(0)
    values = random.dirichlet(np.full(k, 0.5), n) * random.uniform(1.0, 5.0, k)
    values = values.round(2) if ties else values
    caps = np.full(k, np.inf)
    caps[:n_caps] = 0.3 * n / k
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        answers = best_within(values, caps)
        times.append(time.perf_counter() - begin)
        assert (np.bincount(answers, minlength=k) <= caps).all()
    return float(np.median(times))


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    lines = ["| classes | caps | seconds | seconds, with ties |", "|---:|---:|---:|---:|"]
    for k, n_caps in ((2, 1), (5, 1), (5, 2), (5, 4), (10, 9)):
        plain, ties = (seconds(options.rows, k, n_caps, one) for one in (False, True))
        lines.append(f"| {k} | {n_caps} | {plain:.1f} | {ties:.1f} |")
        print(lines[-1], flush=True)
    text = "\n".join(
        ["# Budgets", "", written_by(), "", compare(options.cases), "", f"{options.rows:,} rows:", "", *lines, ""]
    )
    write_page(options.out, "budgets.md", text)


if __name__ == "__main__":
    main()
