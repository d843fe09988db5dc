"""How often do the intervals that a decision rule prints hold the truth?

    python -m benchmarks.interval_coverage [--repeats 400] [--out benchmarks/results]

Rows are drawn with replacement from a pool of scored rows, which is the population, so the truth is known (see `_pools.py`).
All intervals have a level of 95 %. "Score" and "gain" are those of the rule that was fitted, in the pool. "Best threshold" is
the one of the pool. "Band" is the band of the curve at a hundred thresholds, averaged. A "constraint" is one without a
confidence; "where it is kept" leaves out the repetitions whose rows cannot keep it. "Shares" are those that `adapt` estimates
from 1,000 rows without labels, after a fit to 2,000 rows, where the odds of the positive class have changed.

Repetitions are done in parts of 50, and the CSV in `--out` has the parts so far: the same command goes on from there.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._pools import Pool, drawn_pools, drawn_pools_of_four, real_pool
from benchmarks._script import new_parser, write_page
from benchmarks.promises import Truth, settings
from metricfit import metrics
from metricfit._typing import Floats
from metricfit.decisions import DecisionRule, _prevalence, _tuning, hard_confusion, metric_values
from metricfit.decisions._calibration import calibrate
from metricfit.decisions._curve import Curve
from metricfit.decisions._rows import Rows
from reproductions._machine import hardware

TABLES = ("mammography", "drawn: calibrated", "drawn: four classes", "adult")
METRICS: dict[str, metrics.MetricLike] = {name: name for name in ("accuracy", "f1", "mcc", "balanced_accuracy", "f2")}
METRICS["cost"] = metrics.Cost([[0.0, 1.0], [5.0, 0.0]])
METRICS_OF_SEVERAL = "f1_macro", "mcc"
SIZES = (300, 1000)
ODDS = (0.1, 1.0 / 3.0, 1.0, 3.0)
N_FIT, N_NEW = 2000, 1000
N_GROUP = 4  # rows that are drawn together
Row = tuple[str, str, int, float]  # interval, of what, rows, whether it covers
CELL = ["study", "table", "interval", "of", "rows"]
PART = 50  # repetitions


def value_of(metric: metrics.Metric, pool: Pool, offsets: Floats) -> float:
    """The metric of a rule in the whole pool."""
    predicted = (pool.scores + offsets).argmax(1)
    return float(metric_values(metric, hard_confusion(predicted, pool.labels, np.ones(len(predicted)), pool.scores.shape[1])))


def covers(interval: Any, truth: float) -> float:
    return float(interval[0] - 1e-9 <= truth <= interval[1] + 1e-9)


def remembered(fit: Callable[..., Any], most: int = 16) -> Callable[..., Any]:
    """The same function, which remembers its last results: metrics and shares of the same rows need the same calibration."""
    known = dict[bytes, Any]()

    def call(*arrays: Any) -> Any:
        key = b"".join(array.tobytes() for array in arrays)
        if key not in known:
            if len(known) == most:
                del known[next(iter(known))]
            known[key] = fit(*arrays)
        return known[key]

    return call


def fitted(metric: metrics.MetricLike, rows: Pool, subject_to: str | None = None, **options: Any) -> DecisionRule:
    """The rule of drawn rows; ``options`` are those of its fit."""
    classes = list(range(rows.scores.shape[1]))
    positive = 1 if len(classes) == 2 else None
    rule = DecisionRule(metric, subject_to=subject_to, pos_label=positive, classes=classes, kind="log_probability")
    return rule.fit(rows.scores, rows.labels, **options)


def of_scores(pool: Pool, part: int) -> Iterator[Row]:
    n_classes = pool.scores.shape[1]
    wanted = METRICS if n_classes == 2 else dict(zip(METRICS_OF_SEVERAL, METRICS_OF_SEVERAL, strict=True))
    plain = {name: value_of(metrics.get(one), pool, np.zeros(n_classes)) for name, one in wanted.items()}
    for n in SIZES:
        random = np.random.default_rng([n, part])
        for _ in range(PART):
            drawn = pool.draw(n, random)
            for name, metric in wanted.items():
                rule = fitted(metric, drawn)
                score = value_of(metrics.get(metric), pool, rule.offsets_)
                yield "score", name, n, covers(rule.score_interval_, score)
                yield "gain over the largest score", name, n, covers(rule.gain_interval_, score - plain[name])


def of_curves(pool: Pool, part: int) -> Iterator[Row]:
    """The curve alone, which needs no fit."""
    truth = Truth(pool)
    for name, wanted in METRICS.items():
        metric = metrics.get(wanted)
        values = np.nan_to_num(metric_values(metric, truth.matrices))
        best = -truth.cuts[values.argmax()]
        for n in SIZES:
            random = np.random.default_rng([n, part])
            for _ in range(PART):
                drawn = pool.draw(n, random)
                curve = Curve.of(Rows(drawn.scores, drawn.labels, np.ones(n)), metric, 1, lambda margin: margin)
                yield "best threshold", name, n, covers((curve.best[0] - 1e-6, curve.best[1] + 1e-6), best)
                real = np.nan_to_num(metric_values(metric, np.stack([truth.matrix(cut) for cut in curve.threshold[1:-1:2]])))
                held = (curve.low[1:-1:2] - 1e-9 <= real) & (real <= curve.high[1:-1:2] + 1e-9)
                yield "band of the curve", name, n, float(held.mean())


def of_constraints(pool: Pool, part: int) -> Iterator[Row]:
    n_classes = pool.scores.shape[1]
    if n_classes > 2:
        sentences = {"recall of one class": (f"recall[{n_classes - 1}] >= 0.7", "f1_macro")}
    else:
        truth = Truth(pool)
        sentences = {kind: one for kind, one in settings(truth).items() if " and " not in one[0]}
        f2 = np.nan_to_num(metric_values(metrics.get("f2"), truth.matrices)).max()
        sentences["f2"] = f"f2 >= {np.floor(100 * f2) / 100 - 0.05:.2f}", "precision"
    for kind, (sentence, objective) in sentences.items():
        for n in SIZES:
            random = np.random.default_rng([n, part])
            for _ in range(PART):
                rule = fitted(objective, pool.draw(n, random), sentence)
                predicted = (pool.scores + rule.offsets_).argmax(1)
                held = covers(rule.constraints_[0]["interval"], rule.constraints_on(pool.labels, predicted)[0]["value"])
                yield "constraint", kind, n, held
                if rule.attainable_:
                    yield "constraint, where it is kept", kind, n, held


def of_groups(pool: Pool, part: int) -> Iterator[Row]:
    """Groups of four rows of one class and neighbouring scores: the rows of a group say nearly the same."""
    order = np.lexsort((pool.scores[:, 1] - pool.scores[:, 0], pool.labels))
    random, metric, n = np.random.default_rng(part), metrics.get("f1"), SIZES[-1]
    groups = np.repeat(np.arange(n // N_GROUP), N_GROUP)
    for _ in range(PART):
        first = random.integers(0, len(order) - N_GROUP, n // N_GROUP)
        rows = order[(first[:, None] + np.arange(N_GROUP)).ravel()]
        rule = fitted("f1", Pool(pool.scores[rows], pool.labels[rows]), groups=groups)
        yield "score, rows in groups", "f1", n, covers(rule.score_interval_, value_of(metric, pool, rule.offsets_))
        weight = random.exponential(size=n)
        rule = fitted("f1", pool.draw(n, random), sample_weight=weight)
        yield "score, random weights", "f1", n, covers(rule.score_interval_, value_of(metric, pool, rule.offsets_))


def of_shares(pool: Pool, part: int) -> Iterator[Row]:
    random, n_classes = np.random.default_rng(part), pool.scores.shape[1]
    last, metric = n_classes - 1, "f1" if n_classes == 2 else "f1_macro"
    for _ in range(PART):
        rule = fitted(metric, pool.draw(N_FIT, random))
        for odds in ODDS:
            weight = np.where(pool.labels == last, odds, 1.0)
            chance = weight / weight.sum()
            new = random.choice(len(weight), N_NEW, p=chance)
            found = rule.adapt(pool.scores[new]).share_intervals_
            assert found is not None
            real = np.bincount(pool.labels, chance)
            for label in range(n_classes - 1 if n_classes == 2 else 0, n_classes):
                which = "that class" if label == last else "the others"
                yield f"shares by adapt, {which}", f"odds times {odds:.3g}", N_NEW, covers(found[label], float(real[label]))


STUDIES: tuple[Callable[[Pool, int], Iterator[Row]], ...] = (of_scores, of_curves, of_constraints, of_groups, of_shares)
FOR_SEVERAL = (of_scores, of_constraints, of_shares)


def report(cells: pd.DataFrame) -> str:
    lines = ["# Coverage of intervals", ""]
    lines += ["`python -m benchmarks.interval_coverage --out benchmarks/results`; the script says what was measured.", ""]
    lines += [
        "The share of repetitions in which the interval of 95 % holds the truth: mean over tables, and the lowest with its",
        "standard error.",
        "",
        "| interval | of | rows | tables | repetitions | mean | lowest | at |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    cells = cells.assign(share=cells.covered / cells.repeats)
    for (interval, what, n), own in cells.groupby(["interval", "of", "rows"], sort=False):
        worst = own.loc[own.share.idxmin()]
        fewest, most = own.repeats.min(), own.repeats.max()
        repeats = f"{most}" if fewest == most else f"{fewest} to {most}"
        error = np.sqrt(max(worst.share * (1.0 - worst.share), 0.95 * 0.05) / worst.repeats)
        lines.append(
            f"| {interval} | {what} | {n:,} | {len(own)} | {repeats} | {own.share.mean():.3f} "
            f"| {worst.share:.3f} ± {error:.3f} | {worst.table} |"
        )
    return "\n".join([*lines, "", f"{hardware()}.", ""])


def run(study: Callable[[Pool, int], Iterator[Row]], name: str, pool: Pool, part: int) -> pd.DataFrame:
    """A part of the repetitions: of each cell their number, and how many intervals cover."""
    rows = pd.DataFrame(study(pool, part), columns=["interval", "of", "rows", "covers"])
    cells = rows.groupby(["interval", "of", "rows"], sort=False, as_index=False).covers.agg(repeats="size", covered="sum")
    return cells.assign(study=study.__name__, table=name, parts=1)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--studies", nargs="*", help="of_scores, of_curves ...; all by default")
    given = parser.parse_args()
    warnings.simplefilter("error")
    once = remembered(calibrate)
    for module in (_tuning, _prevalence):
        vars(module)["calibrate"] = once
    file = given.out / "interval_coverage.csv" if given.out is not None else None
    cells = pd.read_csv(file) if file is not None and file.exists() else None
    drawn = drawn_pools() | drawn_pools_of_four()
    pools = {name: drawn[name] if name in drawn else real_pool(name) for name in given.tables}
    for part, (name, pool) in itertools.product(range(-(-given.repeats // PART)), pools.items()):
        for study in STUDIES if pool.scores.shape[1] == 2 else FOR_SEVERAL:
            own = None if cells is None else cells[(cells.study == study.__name__) & (cells.table == name)]
            done = own is not None and own.parts.max() > part
            if done or (given.studies is not None and study.__name__ not in given.studies):
                continue
            begin = time.process_time()
            found = [cells, run(study, name, pool, part)]
            cells = pd.concat(found).groupby(CELL, sort=False, as_index=False)[["parts", "repeats", "covered"]].sum()
            print(f"part {part + 1}, {name}, {study.__name__}: {time.process_time() - begin:.0f} seconds", flush=True)
            if file is not None:
                cells.round(3).to_csv(file, index=False)
    if cells is not None:
        write_page(given.out, "interval_coverage.md", report(cells))


if __name__ == "__main__":
    main()
