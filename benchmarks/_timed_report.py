"""The page about the ensemble with a time limit on fresh sets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks._cells import TIE, Results, sets_of
from benchmarks._fresh_sets import FRESH_TIMED
from benchmarks._fresh_statistics import Gain, find_gains, mean_by_set, summarise
from benchmarks._timed_arms import AUTOGLUON, DEFAULT, OPTUNA, OURS, name_of
from reproductions._markdown import table, with_interval

COMMAND = "python -m benchmarks.fresh_timed report"
LIMITS = (20.0, 60.0)
HEADS = (
    *("limit", "against", "metric", "sets", "cells", "gain over sets, 95 %", "median set", "without its best set"),
    *("win/tie/loss", "Wilcoxon p", "worst cell"),
)
NOTES = f"""\
Gains of `MetricClassifier(time_limit=…)` in points, one split per set. A win or a loss is a cell (a set and a metric) beyond
{TIE} points, otherwise it is a tie. The unit of the interval and of Wilcoxon's test is the mean of a set. Limits are processor
seconds for both sides: Python's clocks count the processor time of the process that trains, because other programs ran on the
machine. AutoGluon has one core and trains in one process, with the metric as its `eval_metric`.

Two of the new sets make most of their means, so read the median. AutoGluon answers cm1 (49 of 498 rows are positive) with one
class when it trains for MCC. And after the fits we saw that cps91 tells its class: the column `nwifeinc` has 178 values for
wives who do not work and 1,416 for those who do, because it is computed from rounded incomes. AutoGluon finds that within 60
seconds, but not within 20. The set stays in, because no set is dropped after a fit."""


def report(results: Results, frozen: Path) -> str:
    protocol, names = json.loads(frozen.read_text()), sets_of(results.rows)
    new = sum(name in FRESH_TIMED for name in names)
    introduction = (
        f"Written by `{COMMAND}`, from {results.path.name}. {new} sets that were listed (commit\n"
        f"{protocol['commit of the list'][:12]}) before any fit on them, and {len(names) - new} of `fresh.py`. The rules are\n"
        f"those of commit {protocol['commit'][:12]} (SHA-256 of the package's files {protocol['rules'][:16]})."
    )
    parts = ["# A time limit, on fresh sets", introduction, "## What was run", _coverage(results), "## Against peers", NOTES]
    for title, sets in (("New sets", FRESH_TIMED), ("Sets of `fresh.py`", set(names) - set(FRESH_TIMED))):
        lines = [line for limit in LIMITS for line in _against(results, name_of(OURS, limit), limit, set(sets))]
        default = [line for limit in LIMITS for line in _against(results, DEFAULT, limit, set(sets))]
        if lines:
            parts += [f"**{title}, with the limit:**", table(HEADS, lines)]
            parts += [f"**{title}, the default without a limit against the same peers:**", table(HEADS, default)]
    parts += ["## Is the limit kept?", _use(results), "## Every cell", _cells(results)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _coverage(results: Results) -> str:
    """Sets by method and metric, because a run can end before its plan does."""
    rows = []
    for method in results.methods:
        counts = {metric: len(results.find(method=method, metric=metric)) for metric in _metrics(results)}
        rows.append([method, *(str(count or "") for count in counts.values())])
    return table(("method", *_metrics(results)), rows)


def _against(results: Results, ours: str, limit: float, sets: set[str]) -> list[list[str]]:
    lines = []
    for other in (DEFAULT, name_of(OPTUNA, limit), *(name_of(arm, limit) for arm in AUTOGLUON)):
        if other == ours:
            continue
        gains = [gain for gain in find_gains(results, ours, other) if gain.set in sets]
        two = {row["set"] for row in results.rows if row["n_classes"] == 2}
        groups = {"all": gains, **{metric: [one for one in gains if one.metric == metric] for metric in _metrics(results)}}
        groups["mcc, two classes"] = [one for one in groups["mcc"] if one.set in two]
        lines += [
            [f"{limit:g} s", other.split(",")[0] if other == DEFAULT else other.rsplit(",", 1)[0], name, *_row(cells)]
            for name, cells in groups.items()
            if cells
        ]
    return lines


def _row(cells: list[Gain]) -> list[str]:
    found = summarise(cells)
    by_set = sorted(mean_by_set(cells).values())
    shown = [with_interval(found.over_sets), f"{np.median(by_set):+.2f}", f"{np.mean(by_set[:-1] or by_set):+.2f}"]
    return [str(found.n_sets), str(found.n_cells), *shown, found.counts, f"{found.p:.3f}", found.worst.text]


def _use(results: Results) -> str:
    """Seconds of the fits by the limit."""
    rows = []
    for limit in LIMITS:
        for arm in (OURS, OPTUNA, *AUTOGLUON):
            shares = [row["seconds"] / limit for row in results.find(method=name_of(arm, limit))]
            if shares:
                numbers = (np.median(shares), np.max(shares))
                rows.append([name_of(arm, limit), str(len(shares)), *(f"{100.0 * value:.0f} %" for value in numbers)])
    return table(("method", "fits", "used / given, median", "most"), rows)


def _cells(results: Results) -> str:
    rows = []
    for name in sets_of(results.rows):
        for metric in _metrics(results):
            scores = [results.find(set=name, metric=metric, method=method) for method in results.methods]
            if any(scores):
                rows.append([name, metric, *(f"{100.0 * found[0]['score']:.2f}" if found else "" for found in scores)])
    return table(("set", "metric", *results.methods), rows)


def _metrics(results: Results) -> list[str]:
    return list(dict.fromkeys(row["metric"] for row in results.rows))
