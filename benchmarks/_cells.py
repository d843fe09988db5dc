"""Scores by set, split, metric and method: rows of a CSV file, and the tables that compare methods.

Differences are in points. A cell is a set and a metric; its test is corrected for overlapping training sets (Nadeau and
Bengio) and for the number of cells (Holm). Over sets the test is Wilcoxon's.
"""

from __future__ import annotations

import csv
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from metricfit import metrics
from metricfit.comparison._statistics import corrected_estimate, holm, score_of
from reproductions._machine import processor

METRICS = ("accuracy", "balanced_accuracy", "f1_macro", "mcc")
FIELDS = ("set", "seed", "metric", "method", "score", "seconds", "n_train", "n_test", "n_classes", "note")
TIE = 0.2  # points

Row = dict[str, Any]


class Judge:
    """Makes rows of predictions for the test rows of one split."""

    def __init__(self, name: str, seed: int, known: Any, truth: Any) -> None:
        self.classes, labels = np.unique(np.concatenate([known, truth]), return_inverse=True)
        self.known, self.truth = labels[: len(known)], labels[len(known) :]
        self.about = {"set": name, "seed": seed, "n_train": len(known), "n_test": len(truth), "n_classes": len(self.classes)}

    def row(self, method: str, metric: str, predicted: Any, seconds: float, note: str = "") -> Row:
        places = np.searchsorted(self.classes, predicted)
        score = score_of(metrics.get(metric), places, self.truth, len(self.classes))
        return {**self.about, "metric": metric, "method": method, "score": score, "seconds": seconds, "note": note}


class Results:
    """Rows in a CSV file, written as they come."""

    def __init__(self, path: Path, rows: list[Row] | None = None) -> None:
        """Read the file if it exists and no rows are given."""
        self.path = path
        self.rows: list[Row] = []
        self._by_set: dict[str, list[Row]] = {}
        if rows is None and self.path.exists():
            with self.path.open(newline="") as file:
                rows = [_typed(row) for row in csv.DictReader(file)]
        for row in rows or ():
            self._keep(row)

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(row["method"] for row in self.rows))

    def add(self, row: Row) -> None:
        fresh = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow(row)
        self._keep(row)

    def find(self, **wanted: Any) -> list[Row]:
        rows = self._by_set.get(wanted["set"], []) if "set" in wanted else self.rows  # most searches are in one set
        return [row for row in rows if all(row[key] == value for key, value in wanted.items())]

    def _keep(self, row: Row) -> None:
        self.rows.append(row)
        self._by_set.setdefault(row["set"], []).append(row)


def run_missing(
    results: Results, seeds: Sequence[int], names: Sequence[str], evaluate: Callable[[str, int], Iterable[Row]], **wanted: str
) -> None:
    """Evaluate the splits that have no rows yet, on one core; the first split of all sets comes first."""
    for seed in seeds:
        for name in names:
            if not results.find(set=name, seed=seed, **wanted):
                with threadpool_limits(1):
                    for row in list(evaluate(name, seed)):
                        results.add(row)
                print(f"split {seed}: {name}", file=sys.stderr, flush=True)


def _typed(row: dict[str, str]) -> Row:
    whole = {key: int(row[key]) for key in ("seed", "n_train", "n_test", "n_classes")}
    return {**row, **whole, "score": float(row["score"]), "seconds": float(row.get("seconds", "nan"))}


def build_report(results: Results, command: str, library: str, against: Mapping[str, str], cost: str) -> str:
    """Means, wins, ties and losses, tests, worst cells and times; ``against`` has a sentence for every method to compare."""
    lines = [f"Written by `{command}`, from {results.path.name}.", ""]
    lines += [f"{processor()}, {library}, Python {platform.python_version()}, one core", "", *_tabulate_means(results), ""]
    for sentence, ours in against.items():
        lines += [sentence, "", *_tabulate_differences(results, ours), ""]
    return "\n".join([*lines, cost, "", "All cells:", "", *_tabulate_cells(results)]) + "\n"


def _tabulate_means(results: Results) -> list[str]:
    """The mean over sets of every method and metric, and the median seconds of a fit."""
    lines = ["| method | sets | splits | " + " | ".join(METRICS) + " | median fit, s |"]
    lines += ["|---|---:|---:|" + "---:|" * (len(METRICS) + 1)]
    for method in results.methods:
        rows = results.find(method=method)
        per_metric = [
            np.mean(
                [cell_points(results, name, metric, method)[0] for name in sets_of(results.find(method=method, metric=metric))]
            )
            for metric in METRICS
        ]
        splits = len({row["seed"] for row in rows})
        seconds = np.median([row["seconds"] for row in rows])
        shown = " | ".join("" if np.isnan(value) else f"{value:.2f}" for value in per_metric)
        lines.append(f"| {method} | {len(sets_of(rows))} | {splits} | {shown} | {seconds:.1f} |")
    return lines


def _tabulate_differences(results: Results, ours: str) -> list[str]:
    """The method ``ours`` against each other one, on the splits that both have."""
    heads = "mean | without its best set | win/tie/loss | significant +/- | worst cell | over sets, p"
    lines = ["| against | " + " | ".join(METRICS) + f" | {heads} |", "|---|" + "---:|" * (len(METRICS) + 6)]
    return lines + [_against(results, ours, method) for method in results.methods if method != ours]


def _tabulate_cells(results: Results) -> list[str]:
    """Every set and metric."""
    methods = results.methods
    lines = ["| set | metric | " + " | ".join(methods) + " |", "|---|---|" + "---:|" * len(methods)]
    for name in sets_of(results.rows):
        for metric in METRICS:
            cells = [cell_points(results, name, metric, method)[0] for method in methods]
            lines.append(f"| {name} | {metric} | " + " | ".join("" if np.isnan(c) else f"{c:.2f}" for c in cells) + " |")
    return lines


def seconds_ratio(results: Results, ours: str, other: str) -> float:
    """The median of how many times as long a fit of ``ours`` takes as one of ``other``."""
    pairs = (
        (one, results.find(method=other, set=one["set"], seed=one["seed"], metric=one["metric"]))
        for one in results.find(method=ours)
    )
    return float(np.median([one["seconds"] / found[0]["seconds"] for one, found in pairs if found]))


def sets_of(rows: list[Row]) -> list[str]:
    """The names of the sets, in order."""
    return list(dict.fromkeys(row["set"] for row in rows))


def cell_points(results: Results, name: str, metric: str, method: str) -> tuple[float, dict[int, float]]:
    """The mean in points over the splits of a set, and the points by split."""
    by_seed = {row["seed"]: 100.0 * row["score"] for row in results.find(set=name, metric=metric, method=method)}
    return (float(np.mean(list(by_seed.values()))) if by_seed else float("nan")), by_seed


def _against(results: Results, ours: str, method: str) -> str:
    cells, p_values, shares = {}, [], results.find(method=method)
    for name in sets_of(shares):
        for metric in METRICS:
            one, other = cell_points(results, name, metric, ours)[1], cell_points(results, name, metric, method)[1]
            both = sorted(set(one) & set(other))
            if not both:
                continue
            difference = [one[seed] - other[seed] for seed in both]
            row = results.find(set=name, metric=metric, method=method)[0]
            cells[name, metric] = float(np.mean(difference))
            p_values.append(corrected_estimate(difference, row["n_test"] / row["n_train"]).p)
    values, adjusted = np.array(list(cells.values())), np.array(holm(p_values))
    found_for = {metric: [value for (_, m), value in cells.items() if m == metric] for metric in METRICS}
    by_metric = " | ".join(f"{np.mean(found):+.2f}" if found else "" for found in found_for.values())
    by_set = sorted(float(np.mean([v for (name, _), v in cells.items() if name == one])) for one in sets_of(shares))
    p = f"{stats.wilcoxon(by_set).pvalue:.3f}" if len(by_set) > 5 else "few sets"
    worst = min(cells, key=lambda cell: cells[cell])
    wins = f"{int((values > TIE).sum())}/{int((np.abs(values) <= TIE).sum())}/{int((values < -TIE).sum())}"
    found = f"{int(((adjusted < 0.05) & (values > 0)).sum())}/{int(((adjusted < 0.05) & (values < 0)).sum())}"
    return (
        f"| {method} | {by_metric} | {values.mean():+.2f} | {np.mean(by_set[:-1] or by_set):+.2f} | {wins} | {found} | "
        f"{worst[0]}, {worst[1]} {cells[worst]:+.2f} | {p} |"
    )
