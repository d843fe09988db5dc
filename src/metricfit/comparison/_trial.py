"""How long a comparison takes, announced before it starts: a trial on some of the rows, and how fits grow with rows.

The trial runs every contender on part of the first split, so columns, categories, classes and the machine are measured. Only
the growth with rows is assumed. In a small table the trial would take as long as a split, so the first split tells the time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import cpu_count, parallel_config

from metricfit._progress import Progress, in_words
from metricfit._typing import Ints
from metricfit.comparison._contenders import LINEAR
from metricfit.comparison._run import Job, run_split
from metricfit.methods import Method

TRIAL_ROWS = 2500  # training rows of the trial
LEAST_GROWTH = 3  # training rows of a split for each row of the trial ...
LEAST_SHARE = 30  # ... and of all splits together: the trial is a few percent of the comparison
CLASS_ROWS = 10  # that the trial has of every class at least
WARM_ROWS = 100  # of a first run that loads libraries and kernels, and is not measured
FIXED = 0.5  # share of the trial that does not grow with the rows; the rest grows in proportion, up to 50,000 rows and more
MOST = 0.5  # share of the time from which a method is named

clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True)
class Trial:
    """The seconds of each contender, by its name, on some rows."""

    n_rows: int
    seconds: Mapping[str, float]

    def extrapolate(self, n_rows: int) -> dict[str, float]:
        """The seconds of each contender for a split with that many training rows.

        >>> Trial(1000, {"boosting, threshold": 2.0}).extrapolate(10_000)  # 1 + 1 * 10
        {'boosting, threshold': 11.0}
        """
        growth = FIXED + (1.0 - FIXED) * n_rows / self.n_rows
        return {name: own * growth for name, own in self.seconds.items()}


def announce_time(job: Job, n_workers: int) -> str:
    """One line that says how long the comparison will take; empty for a small table, where nothing is tried."""
    sizes = [len(train) for train, _ in job.plan.splits]
    if min(sizes) < LEAST_GROWTH * TRIAL_ROWS or sum(sizes) < LEAST_SHARE * TRIAL_ROWS:
        return ""
    run_trial(_quick(job), WARM_ROWS)
    return describe_time(run_trial(job, TRIAL_ROWS), sizes, n_workers, cpu_count())


def run_trial(job: Job, n_rows: int) -> Trial:
    """Run all contenders on part of the first split, here and one after the other."""
    train, test = job.plan.splits[0]
    some = _pick(job.labels[train], n_rows), _pick(job.test_labels[test], math.ceil(n_rows * len(test) / len(train)))
    plan = replace(job.plan, splits=[(train[some[0]], test[some[1]])], n_splits=1, groups=None)
    steps = _Steps()
    with parallel_config(backend="sequential"):  # folds inside a fit run in parallel otherwise
        run_split(replace(job, plan=plan), 0, steps)
    by_contender = np.diff(steps.times).reshape(len(job.contenders), -1).sum(1)
    return Trial(n_rows, dict(zip((one.name for one in job.contenders), by_contender.tolist(), strict=True)))


class _Steps(Progress):
    """Notes when each step ends: one for every contender and metric."""

    def __init__(self) -> None:
        self.times = [clock()]

    def step(self, stage: str, value: float | None) -> None:
        self.times.append(clock())


def describe_time(trial: Trial, sizes: Sequence[int], n_workers: int, n_cores: int) -> str:
    """The announcement for splits with these numbers of training rows.

    >>> describe_time(Trial(2000, {"boosting, threshold": 36.0}), [2000] * 10, 1, 2)
    '10 splits: about 6 minutes (measured on 2,000 rows). --jobs 2 would take about 3 minutes.'
    """
    by_split = [trial.extrapolate(size) for size in sizes]
    total = sum(sum(split.values()) for split in by_split)
    rounds = math.ceil(len(sizes) / n_workers)
    text = f"{len(sizes)} splits: about {in_words(total * rounds / len(sizes))} (measured on {trial.n_rows:,} rows)."
    jobs = min(n_cores, len(sizes))
    if n_workers == 1 < jobs:
        text += f" --jobs {jobs} would take about {in_words(total * math.ceil(len(sizes) / jobs) / len(sizes))}."
    shares = {name: sum(split[name] for split in by_split) / total for name in trial.seconds}
    longest = max(shares, key=lambda name: shares[name])
    if shares[longest] > MOST and longest.startswith(f"{LINEAR}, "):
        text += f" {longest} takes {100.0 * shares[longest]:.0f} % of it: --methods without it is faster."
    return text


def _pick(labels: Ints, n_rows: int) -> Ints:
    """About that many rows, evenly from the classes, and some of every class."""
    by_class = np.argsort(labels, kind="stable")
    spread = by_class[np.linspace(0, len(labels) - 1, min(n_rows, len(labels))).astype(np.int64)]
    return np.unique(np.concatenate([spread, *(np.flatnonzero(labels == one)[:CLASS_ROWS] for one in np.unique(labels))]))


def _quick(job: Job) -> Job:
    """With one margin and one width for each method: enough to load what it needs."""
    contenders = [
        replace(one, method=replace(one.method.with_margin(one.method.margins[0]), widths=one.method.widths[:1]))
        if isinstance(one.method, Method) and one.method.margins
        else one
        for one in job.contenders
    ]
    return replace(job, contenders=contenders, n_explained=0)
