"""How often do the intervals that a decision rule prints hold the truth?

    python -m benchmarks.interval_coverage [--repeats 400] [--out benchmarks/results]

Rows are drawn with replacement from a pool of scored rows, which is the population, so the truth is known (see `_pools.py`).
All intervals have a level of 95 %. "Score" and "gain" are those of the rule that was fitted, in the pool. "Best threshold" is
the one of the pool. "Band" is the band of the curve at a hundred thresholds, averaged. "Shares" are those that `adapt`
estimates from 1,000 rows without labels, after a fit to 2,000 rows, where the odds of the positive class have changed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._pools import Pool, drawn_pools, drawn_pools_of_four, real_pool
from benchmarks.promises import Truth, settings
from metricfit import metrics
from metricfit._typing import Floats
from metricfit.decisions import DecisionRule, hard_confusion, metric_values
from metricfit.decisions._constraints import read_constraints
from metricfit.decisions._curve import Curve
from metricfit.decisions._solve import Rows
from reproductions._machine import hardware

TABLES = ("mammography", "drawn: calibrated", "drawn: four classes")
METRICS = ("accuracy", "f1", "mcc", "balanced_accuracy", "f2")
SIZES = (300, 1000)
ODDS = (0.1, 1.0 / 3.0, 1.0, 3.0)
N_FIT, N_NEW = 2000, 1000
N_GROUP = 4  # rows that are drawn together
Row = tuple[str, str, str, int, float]  # interval, of what, table, rows, whether it covers


def value_of(metric: metrics.Metric, pool: Pool, offsets: Floats) -> float:
    """The metric of a rule in the whole pool."""
    predicted = (pool.scores + offsets).argmax(1)
    return float(metric_values(metric, hard_confusion(predicted, pool.labels, np.ones(len(predicted)), pool.scores.shape[1])))


def covers(interval: Any, truth: float) -> float:
    return float(interval[0] - 1e-9 <= truth <= interval[1] + 1e-9)


def of_scores(name: str, pool: Pool, repeats: int) -> Iterator[Row]:
    for metric_name in METRICS:
        metric = metrics.get(metric_name)
        plain = value_of(metric, pool, np.zeros(2))
        for n in SIZES:
            random = np.random.default_rng(n)
            for _ in range(repeats):
                drawn = pool.draw(n, random)
                rule = DecisionRule(metric_name, pos_label=1, classes=[0, 1], kind="log_probability").fit(
                    drawn.scores, drawn.labels
                )
                score = value_of(metric, pool, rule.offsets_)
                yield "score", metric_name, name, n, covers(rule.score_interval_, score)
                yield "gain over the largest score", metric_name, name, n, covers(rule.gain_interval_, score - plain)


def of_curves(name: str, pool: Pool, repeats: int) -> Iterator[Row]:
    """The curve alone, which needs no fit."""
    truth = Truth(pool)
    for metric_name in METRICS:
        metric = metrics.get(metric_name)
        values = np.nan_to_num(metric_values(metric, truth.matrices))
        best = -truth.cuts[values.argmax()]
        for n in SIZES:
            random = np.random.default_rng(n)
            for _ in range(repeats):
                drawn = pool.draw(n, random)
                curve = Curve.of(Rows(drawn.scores, drawn.labels, np.ones(n)), metric, 1, lambda margin: margin)
                yield "best threshold", metric_name, name, n, covers((curve.best[0] - 1e-6, curve.best[1] + 1e-6), best)
                real = np.nan_to_num(metric_values(metric, np.stack([truth.matrix(cut) for cut in curve.threshold[1:-1:2]])))
                held = (curve.low[1:-1:2] - 1e-9 <= real) & (real <= curve.high[1:-1:2] + 1e-9)
                yield "band of the curve", metric_name, name, n, float(held.mean())


def of_several(name: str, pool: Pool, repeats: int) -> Iterator[Row]:
    """Score, gain and the interval of a constraint for more than two classes."""
    metric, n_classes = metrics.get("f1_macro"), pool.scores.shape[1]
    plain, rare = value_of(metric, pool, np.zeros(n_classes)), n_classes - 1
    for n in SIZES:
        random = np.random.default_rng(n)
        for _ in range(repeats):
            drawn = pool.draw(n, random)
            rule = DecisionRule("f1_macro", classes=range(n_classes), kind="log_probability").fit(drawn.scores, drawn.labels)
            score = value_of(metric, pool, rule.offsets_)
            yield "score", "f1_macro", name, n, covers(rule.score_interval_, score)
            yield "gain over the largest score", "f1_macro", name, n, covers(rule.gain_interval_, score - plain)
            rule = DecisionRule(
                "f1_macro", subject_to=f"recall[{rare}] >= 0.7", classes=range(n_classes), kind="log_probability"
            )
            if rule.fit(drawn.scores, drawn.labels).attainable_:
                predicted = (pool.scores + rule.offsets_).argmax(1)
                real = float((predicted[pool.labels == rare] == rare).mean())
                yield "constraint", "recall of one class", name, n, covers(rule.constraints_[0]["interval"], real)


def of_constraints(name: str, pool: Pool, repeats: int) -> Iterator[Row]:
    truth = Truth(pool)
    for kind, (sentence, objective) in settings(truth).items():
        if " and " in sentence:
            continue
        (constraint,) = read_constraints(sentence)
        for n in SIZES:
            random = np.random.default_rng(n)
            for _ in range(repeats):
                drawn = pool.draw(n, random)
                rule = DecisionRule(objective, subject_to=sentence, pos_label=1, classes=[0, 1], kind="log_probability")
                rule.fit(drawn.scores, drawn.labels)
                if not rule.attainable_:
                    continue
                matrix = truth.matrix(rule.offsets_[0] - rule.offsets_[1])
                real = float(truth.share(constraint.quantity, matrix))
                yield "constraint", kind, name, n, covers(rule.constraints_[0]["interval"], real)


def of_groups(name: str, pool: Pool, repeats: int) -> Iterator[Row]:
    """Groups of four rows of one class and neighbouring scores: the rows of a group say nearly the same."""
    order = np.lexsort((pool.scores[:, 1] - pool.scores[:, 0], pool.labels))
    random = np.random.default_rng(0)
    metric = metrics.get("f1")
    n_groups = SIZES[-1] // N_GROUP
    for _ in range(repeats):
        first = random.integers(0, len(order) - N_GROUP, n_groups)
        rows, groups = order[(first[:, None] + np.arange(N_GROUP)).ravel()], np.repeat(np.arange(n_groups), N_GROUP)
        rule = DecisionRule("f1", pos_label=1, classes=[0, 1], kind="log_probability")
        rule.fit(pool.scores[rows], pool.labels[rows], groups=groups)
        score = value_of(metric, pool, rule.offsets_)
        yield "score, rows in groups", "f1", name, SIZES[-1], covers(rule.score_interval_, score)
        weight = random.exponential(size=SIZES[-1])
        drawn = pool.draw(SIZES[-1], random)
        rule = DecisionRule("f1", pos_label=1, classes=[0, 1], kind="log_probability").fit(drawn.scores, drawn.labels, weight)
        score = value_of(metric, pool, rule.offsets_)
        yield "score, random weights", "f1", name, SIZES[-1], covers(rule.score_interval_, score)


def of_shares(name: str, pool: Pool, repeats: int) -> Iterator[Row]:
    for odds in ODDS:
        random = np.random.default_rng(0)
        weight = np.where(pool.labels == 1, odds, 1.0)
        chance = weight / weight.sum()
        real = float(chance[pool.labels == 1].sum())
        for _ in range(repeats):
            drawn = pool.draw(N_FIT, random)
            new = random.choice(len(weight), N_NEW, p=chance)
            rule = DecisionRule("f1", pos_label=1, classes=[0, 1], kind="log_probability").fit(drawn.scores, drawn.labels)
            found = rule.adapt(pool.scores[new]).share_intervals_
            assert found is not None
            yield "shares by adapt", f"odds times {odds:.3g}", name, N_NEW, covers(found[1], real)


STUDIES = (of_scores, of_curves, of_constraints, of_groups, of_shares)


def report(cells: pd.DataFrame) -> str:
    lines = ["# Coverage of intervals", ""]
    lines += ["`python -m benchmarks.interval_coverage --out benchmarks/results`; the script says what was measured.", ""]
    lines += [
        "The share of repetitions in which the interval of 95 % holds the truth: mean over tables, and the lowest. The",
        "standard error of one table's share is 0.011 with 400 repetitions, and 0.034 with 40.",
        "",
        "| interval | of | rows | tables | repetitions | mean | lowest | at |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for (interval, what, n), own in cells.groupby(["interval", "of", "rows"], sort=False):
        worst = own.loc[own.covers.idxmin()]
        lines.append(
            f"| {interval} | {what} | {n:,} | {len(own)} | {own.repeats.max()} | {own.covers.mean():.3f} "
            f"| {worst.covers:.3f} | {worst.table} |"
        )
    return "\n".join([*lines, "", f"{hardware()}.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--studies", nargs="*", help="of_scores, of_curves ...; all by default")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--report", type=Path, help="a folder with interval_coverage.csv, to write its report again")
    given = parser.parse_args()
    if given.report is not None:
        cells = pd.read_csv(given.report / "interval_coverage.csv")
        (given.report / "interval_coverage.md").write_text(report(cells), encoding="utf-8")
        return
    warnings.simplefilter("error")
    begin, rows = time.process_time(), list[Row]()
    drawn = drawn_pools() | drawn_pools_of_four()
    for name in given.tables:
        pool = drawn[name] if name in drawn else real_pool(name)
        for study in (of_several,) if pool.scores.shape[1] > 2 else STUDIES:
            if given.studies is None or study.__name__ in given.studies:
                rows += study(name, pool, given.repeats)
        print(f"{name}: {(time.process_time() - begin) / 60:.1f} minutes", flush=True)
    found = pd.DataFrame(rows, columns=["interval", "of", "table", "rows", "covers"])
    cells = found.groupby(["interval", "of", "rows", "table"], sort=False, as_index=False).covers.agg(
        covers="mean", repeats="size"
    )
    print(report(cells))
    if given.out is not None:
        (given.out / "interval_coverage.md").write_text(report(cells), encoding="utf-8")
        cells.round(4).to_csv(given.out / "interval_coverage.csv", index=False)


if __name__ == "__main__":
    main()
