"""Fit and judge every contender on every split, in one process, in several, or on a cluster; and say how long that takes.

The time is announced after a trial that runs every contender on part of the first split, so columns, categories, classes and
the machine are measured. Only the growth with rows is assumed. In a small table the trial would take as long as a split, so
the first split tells the time.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import cpu_count, parallel_config
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from metricfit._parallel import count_workers, hold_interrupts, parallel, runs_here
from metricfit._progress import Progress, in_words
from metricfit._table import Table
from metricfit._typing import Floats, Ints
from metricfit.comparison._contenders import LINEAR, REFERENCE, TRIVIAL, Contender
from metricfit.comparison._features import Coefficients, coefficients_of, importance_of
from metricfit.comparison._limits import Limits
from metricfit.comparison._splits import Plan
from metricfit.comparison._statistics import constant_scores, score_of
from metricfit.decisions import DecisionRule
from metricfit.estimators import FitSpec, MetricClassifier, SharedFits
from metricfit.methods import AUTO, BASELINE, Choice
from metricfit.metrics import Resolved

TRIAL_ROWS = 2500  # training rows of the trial
LEAST_GROWTH = 3  # training rows of a split for each row of the trial ...
LEAST_SHARE = 30  # ... and of all splits together: the trial is a few percent of the comparison
CLASS_ROWS = 10  # that the trial has of every class at least
WARM_ROWS = 100  # of a first run that loads libraries and kernels, and is not measured
FIXED = 0.5  # share of the trial that does not grow with the rows; the rest grows in proportion, up to 50,000 rows and more
MOST = 0.5  # share of the time from which a method is named

clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True)
class HeldOutPrediction:
    """Out-of-fold predictions: scores (n, k), whose argmax is the label, and calibrated probabilities (n, k)."""

    scores: Floats
    probability: Floats

    @property
    def predicted(self) -> Ints:
        return self.scores.argmax(1)


@dataclass(frozen=True)
class Outcome:
    """Score, held-out predictions and fitted values."""

    score: float
    seconds: float
    held_out: HeldOutPrediction
    offsets: Floats
    temperature: float
    history: Table
    chosen: str
    coefficients: Coefficients = field(default_factory=dict)  # of the linear reference
    importance: Floats | None = None  # (columns,): what the metric loses where a column is shuffled
    refusal: str = ""  # why the rule does not decide, with limits
    checks: tuple[dict[str, Any], ...] = ()  # of the limits, on the test rows


Outcomes = dict[str, Outcome]  # of a split, by contender


@dataclass(frozen=True)
class Job:
    """What every split is given. Test rows are rows of ``test_data``, which is ``data`` itself in cross-validation."""

    classifier: MetricClassifier
    data: Any
    target: NDArray[Any]
    labels: Ints
    test_data: Any
    test_labels: Ints
    n_classes: int
    metric: Resolved
    contenders: Sequence[Contender]
    plan: Plan
    n_explained: int  # the first splits, whose columns are shuffled
    limits: Limits | None = None

    @property
    def n_fits(self) -> int:
        return len(self.plan.splits) * len(self.contenders)


def run_splits(job: Job, n_jobs: int | None, progress: Progress) -> Iterator[Outcomes]:
    """The outcomes of every split, in order."""
    n_splits = len(job.plan.splits)
    if runs_here(n_jobs):
        for index in range(n_splits):
            outcomes = run_split(job, index, progress)
            progress.split_done(index + 1, n_splits)
            yield outcomes
        return
    n_workers, found = count_workers(n_jobs), None
    try:
        with hold_interrupts():
            found = parallel(run_split, job, ((index,) for index in range(n_splits)), n_jobs)  # starts the workers
        for index, outcomes in enumerate(found, 1):
            for _ in job.contenders:
                progress.step(f"{index} of {n_splits} splits", None)
            progress.split_done(index, n_splits, n_workers)
            yield outcomes
    except (KeyboardInterrupt, SystemExit):  # Ctrl-C; a handler of SIGTERM
        stop_workers(found)
        raise


def stop_workers(found: Any) -> None:
    """Cancel what joblib's generator has left, and end the workers. After Ctrl-C they would work on.

    joblib would warn of cancelled splits. Its executor is shut down directly: ``get_reusable_executor()`` may
    wait for the executor's thread under a lock that this thread needs, and one Ctrl-C in ten never came back.
    """
    from joblib.externals.loky import reusable_executor

    if hasattr(found, "close"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.close()
    executor = getattr(reusable_executor, "_executor", None)
    if executor is not None:
        executor.shutdown(wait=True, kill_workers=True)


def run_split(job: Job, index: int, progress: Progress | None = None) -> Outcomes:
    """Fit every contender to the training rows of a split, and judge it on the test rows."""
    outcomes: Outcomes = {}
    train, test = job.plan.splits[index]
    train_rows, test_rows = _safe_indexing(job.data, train), _safe_indexing(job.test_data, test)
    test_labels = job.test_labels[test]
    specs = {
        one.name: FitSpec(one.given, one.method if job.limits is None else AUTO, job.metric, one.time_limit)
        for one in job.contenders
        if one.model != TRIVIAL
    }
    folds = job.plan.inner_folds(index, job.labels, job.classifier.random_state)
    classifier = copy.copy(job.classifier).set_params(cv=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare classes and incomplete convergence show in the score
        shared = SharedFits(classifier, train_rows, job.target[train], list(specs.values()))
        classifier.preprocessor_ = classifier.preprocessor_.remembering()  # all contenders predict the same rows
        for contender in job.contenders:
            if contender.model == TRIVIAL:
                outcome = _constant_outcome(job, job.labels[train], test_labels)
            else:
                one, seconds = shared.fit(specs[contender.name])
                outcome = _outcome(one, seconds, test_rows, test_labels)
                if contender.name == REFERENCE and job.limits is None:  # else it is the mean of several models
                    outcome = replace(outcome, coefficients=coefficients_of(one))
                if index < job.n_explained and _is_explained(contender, job.contenders):
                    outcome = replace(outcome, importance=importance_of(one, test_rows, test_labels, index))
                if job.limits is not None:
                    outcome = _limited(outcome, job.limits, one.rule_, test_labels)
            outcomes[contender.name] = outcome
            if progress is not None:
                progress.step(f"split {index + 1} of {len(job.plan.splits)}: {contender.name}", None)
    return outcomes


def _constant_outcome(job: Job, train: Ints, test: Ints) -> Outcome:
    """The best constant answer for the training rows, judged on the test rows."""
    begin, n_classes, metric = time.perf_counter(), job.n_classes, job.metric.metric
    counts = np.bincount(train, minlength=n_classes)
    if job.limits is None:
        values = constant_scores(metric, counts)
        answer, rule = max(values, key=lambda label: values[label]), None
    else:
        rule = job.limits.constant_rule(train)
        answer = int((np.log(np.maximum(counts, 1e-300) / counts.sum()) + rule.offsets_).argmax())
    scores = np.tile(np.eye(n_classes)[answer], (len(test), 1))
    probability = np.tile(counts / counts.sum(), (len(test), 1))
    outcome = Outcome(
        score_of(metric, np.full(len(test), answer), test, n_classes),
        time.perf_counter() - begin,
        HeldOutPrediction(scores, probability),
        np.zeros(n_classes),
        1.0,
        Table(),
        str(answer),  # the index of the class
    )
    return outcome if rule is None or job.limits is None else _limited(outcome, job.limits, rule, test)


def _limited(outcome: Outcome, limits: Limits, rule: DecisionRule, labels: Ints) -> Outcome:
    """The outcome of a rule: how the test rows keep the limits, or the score of a refusal."""
    if rule.refusal_:
        return replace(outcome, score=limits.refused_score, refusal=rule.refusal_)
    return replace(outcome, checks=limits.check(labels, outcome.held_out.predicted))


def _outcome(fitted: MetricClassifier, seconds: float, rows: Any, labels: Ints) -> Outcome:
    held_out = HeldOutPrediction(*fitted.scores_and_probabilities(rows))
    score = score_of(fitted.metric_, held_out.predicted, labels, len(fitted.classes_))
    return Outcome(score, seconds, held_out, fitted.offsets_, fitted.temperature_, fitted.history_, fitted.chosen_)


def _is_explained(contender: Contender, contenders: Sequence[Contender]) -> bool:
    """One method of each model: the automatic choice, or else a tuned threshold."""
    methods = [one.method for one in contenders if one.model == contender.model]
    choice = next((method for method in methods if isinstance(method, Choice)), None)
    return contender.method is choice if choice else contender.method.name == BASELINE


@dataclass(frozen=True)
class Trial:
    """The seconds of each contender, by its name, on some rows."""

    n_rows: int
    seconds: Mapping[str, float]
    limit: float = 0.0  # seconds of a model with a time limit, which was not tried

    def extrapolate(self, n_rows: int) -> dict[str, float]:
        """The seconds of each contender for a split with that many training rows.

        >>> Trial(1000, {"boosting, threshold": 2.0}).extrapolate(10_000)  # 1 + 1 * 10
        {'boosting, threshold': 11.0}
        """
        growth = FIXED + (1.0 - FIXED) * n_rows / self.n_rows
        return {name: own * growth for name, own in self.seconds.items()}


def announce_time(job: Job, n_workers: int) -> str:
    """One line that says how long the comparison will take; of a small table only if there is a time limit."""
    sizes = [len(train) for train, _ in job.plan.splits]
    limit = sum({one.model: one.time_limit or 0.0 for one in job.contenders}.values())
    if min(sizes) < LEAST_GROWTH * TRIAL_ROWS or sum(sizes) < LEAST_SHARE * TRIAL_ROWS:
        return describe_time(Trial(1, {}, limit), sizes, n_workers, cpu_count()) if limit else ""
    job = replace(job, contenders=[one for one in job.contenders if one.time_limit is None])
    run_trial(job, WARM_ROWS)
    return describe_time(replace(run_trial(job, TRIAL_ROWS), limit=limit), sizes, n_workers, cpu_count())


def run_trial(job: Job, n_rows: int) -> Trial:
    """Run all contenders on part of the first split, here and one after the other."""
    train, test = job.plan.splits[0]
    some = _pick(job.labels[train], n_rows), _pick(job.test_labels[test], math.ceil(n_rows * len(test) / len(train)))
    plan = replace(job.plan, splits=[(train[some[0]], test[some[1]])], n_splits=1, groups=None)
    steps = _Steps()
    with parallel_config(backend="sequential"):  # folds inside a fit run in parallel otherwise
        run_split(replace(job, plan=plan), 0, steps)
    return Trial(n_rows, dict(zip((one.name for one in job.contenders), np.diff(steps.times).tolist(), strict=True)))


class _Steps(Progress):
    """Notes when each step ends: one for every contender."""

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
    total = sum(trial.limit + sum(split.values()) for split in by_split)
    rounds = math.ceil(len(sizes) / n_workers)
    text = f"{len(sizes)} splits: about {in_words(total * rounds / len(sizes))}"
    text += f" (measured on {trial.n_rows:,} rows)." if trial.seconds else f" (by the limit of {in_words(trial.limit)} each)."
    jobs = min(n_cores, len(sizes))
    if n_workers == 1 < jobs:
        text += f" --jobs {jobs} would take about {in_words(total * math.ceil(len(sizes) / jobs) / len(sizes))}."
    for name in trial.seconds:
        share = sum(split[name] for split in by_split) / total
        if share > MOST and name.startswith(f"{LINEAR}, "):
            text += f" {name} takes {100.0 * share:.0f} % of it: --methods without it is faster."
    return text


def _pick(labels: Ints, n_rows: int) -> Ints:
    """About that many rows, evenly from the classes, and some of every class."""
    by_class = np.argsort(labels, kind="stable")
    spread = by_class[np.linspace(0, len(labels) - 1, min(n_rows, len(labels))).astype(np.int64)]
    return np.unique(np.concatenate([spread, *(np.flatnonzero(labels == one)[:CLASS_ROWS] for one in np.unique(labels))]))
