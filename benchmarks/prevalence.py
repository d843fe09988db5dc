"""How much do offsets lose if the shares of the classes change, and how much of it comes back?

    python -m benchmarks.prevalence [--draws 2] [--out benchmarks/results]
    python -m benchmarks.prevalence --tables adult magic --out here     # some of the tables
    python -m benchmarks.prevalence --report benchmarks/results         # from a prevalence.csv with all of them

A rule for F1 is fitted to out-of-fold scores of half of the rows, at most 3,000. The mean of the fold models scores the other
rows, at most 8,000. These are weighted so that the odds of the positive class are 1/10, 1/3, 1 or 3 times as large, and F1 is
that of the weighted rows. `for_prevalence` gets the true shares. `adapt` gets 100 or 1,000 rows without labels, which are
drawn from the weighted rows with replacement. "Best" is the best threshold of the weighted rows themselves.

The shifts between groups are real: a rule of one part of adult decides about the other part (men and women, people from 30 on
and younger ones). There more changes than the shares. None of the tables has a time by which it could be split.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student
from sklearn.model_selection import train_test_split

from benchmarks._pools import TWO_CLASSES, fold_scores, load
from benchmarks._script import new_parser, write_page
from metricfit import metrics
from metricfit._typing import Floats, Ints
from metricfit.decisions import DecisionRule, fit_offsets, hard_confusion, metric_values
from reproductions._machine import hardware

ODDS = (0.1, 0.33333, 1.0, 3.0)
UNLABELLED = (100, 1000)
MOST_FITTED, MOST_NEW = 3000, 8000
GROUPS = {
    "adult: men, then women": (9, 0.5),
    "adult: from 30 on, then younger": (0, 29.5),
}  # column, and its largest new value
OLD = "old offsets"
F1 = metrics.get("f1")


def f1_points(scores: Floats, labels: Ints, weight: Floats, offsets: Floats) -> float:
    return 100.0 * float(metric_values(F1, hard_confusion((scores + offsets).argmax(1), labels, weight, 2)))


def study(name: str, draws: int) -> Iterator[dict[str, Any]]:
    values, labels, kind = load("adult" if name in GROUPS else name)
    random, rows = np.random.default_rng(0), np.arange(len(labels))
    if name in GROUPS:
        column, largest = GROUPS[name]
        is_new = values[:, column] <= largest
        old, new = random.permutation(rows[~is_new])[:MOST_FITTED], random.permutation(rows[is_new])[:MOST_NEW]
    else:
        n_old = min(len(rows) // 2, MOST_FITTED)
        n_new = min(len(rows) - n_old, MOST_NEW)
        old, new = train_test_split(rows, train_size=n_old, test_size=n_new, stratify=labels, random_state=0)
    fitted, scores = fold_scores(values[old], labels[old], values[new], kind, seed=0)
    rule = _new_rule().fit(fitted, labels[old])
    for odds in ODDS if name not in GROUPS else (1.0,):
        yield from compare(name, odds, rule, scores, labels[new], draws, random)


def _new_rule() -> DecisionRule:
    return DecisionRule("f1", pos_label=1, classes=[0, 1], kind="log_probability")


def compare(
    name: str, odds: float, rule: DecisionRule, scores: Floats, labels: Ints, draws: int, random: np.random.Generator
) -> Iterator[dict[str, Any]]:
    weight = np.where(labels == 1, odds, 1.0)
    chance = weight / weight.sum()
    share = float(chance[labels == 1].sum())

    def row(method: str, points: float, estimate: float = np.nan, refused: float = 0.0) -> dict[str, Any]:
        cells = {"table": name, "odds": odds, "method": method, "points": points, "share": share, "estimate": estimate}
        return {**cells, "refused": refused}

    def judge(offsets: Floats) -> float:
        return f1_points(scores, labels, weight, offsets)

    yield row("largest score", judge(np.zeros(2)))
    yield row(OLD, judge(rule.offsets_))
    yield row("for_prevalence", judge(rule.for_prevalence({1: share}).offsets_))
    yield row("best", judge(fit_offsets(scores, labels, F1, weight)))
    for n in UNLABELLED:
        points, estimates, refused = [], [], 0
        for _ in range(draws):
            try:
                moved = rule.adapt(scores[random.choice(len(labels), n, p=chance)])
                points.append(judge(moved.offsets_))
                estimates.append(moved.shares_[1])
            except ValueError:  # it cannot know, so the offsets stay
                points.append(judge(rule.offsets_))
                refused += 1
        estimate = float(np.mean(estimates)) if estimates else np.nan
        yield row(f"adapt, {n:,} rows", float(np.mean(points)), estimate, refused / draws)


def report(cells: pd.DataFrame) -> str:
    lines = ["# Another prevalence", ""]
    lines += ["`python -m benchmarks.prevalence --out benchmarks/results`; the script says what was measured.", ""]
    drawn, adapted = cells[~cells.table.isin(list(GROUPS))], [f"adapt, {n:,} rows" for n in UNLABELLED]
    if len(drawn):
        lines += _report_odds(drawn, adapted)
    lines += ["", *_report_groups(cells[cells.table.isin(list(GROUPS))], adapted)]
    return "\n".join([*lines, "", f"{hardware()}.", ""])


def _report_odds(drawn: pd.DataFrame, adapted: list[str]) -> list[str]:
    wide = drawn.pivot(index=["table", "odds"], columns="method", values="points")
    gains = wide.sub(wide[OLD], axis=0)
    n_tables = drawn.table.nunique()
    lines = [f"F1 points against offsets left as they were, mean of {n_tables} tables with its 95 % interval.", ""]
    lines += ["| | " + " | ".join(f"odds times {odds:.3g}" for odds in ODDS) + " |", "|---|" + "---:|" * len(ODDS)]
    for method in ("largest score", "for_prevalence", *adapted, "best"):
        ends = [_mean_and_half(gains[method].xs(odds, level="odds")) for odds in ODDS]
        lines.append(f"| {method} | " + " | ".join(f"{mean:+.1f} ± {half:.1f}" for mean, half in ends) + " |")
    refused = drawn[drawn.method.isin(adapted)].refused.mean()
    lines += ["", f"`adapt` refused in {refused:.1%} of its calls; these count as offsets left as they were.", ""]
    lines += [
        "By table, F1 points of 1,000 unlabelled rows against offsets left as they were, and of the true shares in brackets:",
        "",
    ]
    lines += ["| table | " + " | ".join(f"odds times {odds:.3g}" for odds in ODDS) + " |", "|---|" + "---:|" * len(ODDS)]
    for table in drawn.table.unique():
        own = gains.loc[table]
        parts = [f"{own.loc[odds, adapted[-1]]:+.1f} ({own.loc[odds, 'for_prevalence']:+.1f})" for odds in ODDS]
        lines.append(f"| {table} | {' | '.join(parts)} |")
    return lines


def _mean_and_half(values: pd.Series) -> tuple[float, float]:
    half = student.ppf(0.975, len(values) - 1) * values.std() / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(half)


def _report_groups(cells: pd.DataFrame, adapted: list[str]) -> list[str]:
    if not len(cells):
        return []
    names = ["largest score", OLD, "for_prevalence", *adapted, "best"]
    lines = ["Real shifts between groups, F1 points:", "", f"| shift | share | {' | '.join(names)} | share by {adapted[-1]} |"]
    lines.append("|---|" + "---:|" * (len(names) + 2))
    for table, own in cells.groupby("table", sort=False):
        found = own.set_index("method")
        points = " | ".join(f"{found.points[name]:.1f}" for name in names)
        lines.append(f"| {table} | {found.share.iloc[0]:.3f} | {points} | {found.estimate[adapted[-1]]:.3f} |")
    return lines


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--draws", type=int, default=2, help="draws of unlabelled rows")
    parser.add_argument("--tables", nargs="*", default=[*TWO_CLASSES, *GROUPS])
    parser.add_argument("--report", type=Path, help="a folder with prevalence.csv, to write its report again")
    given = parser.parse_args()
    if given.report is not None:
        write_page(given.report, "prevalence.md", report(pd.read_csv(given.report / "prevalence.csv")))
        return
    warnings.simplefilter("error")
    begin, rows = time.process_time(), list[dict[str, Any]]()
    for name in given.tables:
        rows += study(name, given.draws)
        print(f"{name}: {(time.process_time() - begin) / 60:.1f} minutes", flush=True)
    cells = pd.DataFrame(rows)
    if given.out is not None:
        cells.round(5).to_csv(given.out / "prevalence.csv", index=False)
    write_page(given.out, "prevalence.md", report(cells))


if __name__ == "__main__":
    main()
