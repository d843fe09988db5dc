"""Fit and judge every contender on every split, in one process, in several, or on a cluster."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from metricfit._parallel import count_workers, parallel, runs_here
from metricfit._progress import Progress
from metricfit._signals import hold_interrupts
from metricfit._table import Table
from metricfit._typing import Floats, Ints
from metricfit.comparison._contenders import REFERENCE, TRIVIAL, Contender
from metricfit.comparison._features import Coefficients, coefficients_of, importance_of
from metricfit.comparison._splits import Plan
from metricfit.comparison._statistics import constant_scores, score_of
from metricfit.estimators import FitSpec, MetricClassifier, SharedFits
from metricfit.methods import BASELINE, Choice
from metricfit.metrics import Metric, Resolved


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


Outcomes = dict[str, dict[str, Outcome]]  # metric: contender: outcome


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
    metrics: dict[str, Resolved]
    contenders: Sequence[Contender]
    plan: Plan
    n_explained: int  # the first splits, whose columns are shuffled

    @property
    def n_fits(self) -> int:
        return len(self.plan.splits) * len(self.contenders) * len(self.metrics)


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
            for _ in range(len(job.contenders) * len(job.metrics)):
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
    outcomes: Outcomes = {metric: {} for metric in job.metrics}
    train, test = job.plan.splits[index]
    train_rows, test_rows = _safe_indexing(job.data, train), _safe_indexing(job.test_data, test)
    test_labels = job.test_labels[test]
    fitted = [one for one in job.contenders if one.model != TRIVIAL]
    specs = [FitSpec(one.given, one.method, metric) for one in fitted for metric in job.metrics.values()]
    folds = job.plan.inner_folds(index, job.labels, job.classifier.random_state)
    classifier = copy.copy(job.classifier).set_params(cv=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare classes and incomplete convergence show in the score
        shared = SharedFits(classifier, train_rows, job.target[train], specs)
        classifier.preprocessor_ = classifier.preprocessor_.remembering()  # all contenders predict the same rows
        for contender in job.contenders:
            for name, measure in job.metrics.items():
                if contender.model == TRIVIAL:
                    outcome = _constant_outcome(measure.metric, job.labels[train], test_labels, job.n_classes)
                else:
                    one, seconds = shared.fit(FitSpec(contender.given, contender.method, measure))
                    outcome = _outcome(one, seconds, test_rows, test_labels)
                    if contender.name == REFERENCE:
                        outcome = replace(outcome, coefficients=coefficients_of(one))
                    if index < job.n_explained and _is_explained(contender, job.contenders):
                        columns = importance_of(one, test_rows, test_labels, index)
                        outcome = replace(outcome, importance=columns)
                outcomes[name][contender.name] = outcome
                if progress is not None:
                    progress.step(f"split {index + 1} of {len(job.plan.splits)}: {contender.name}", None)
    return outcomes


def _constant_outcome(metric: Metric, train: Ints, test: Ints, n_classes: int) -> Outcome:
    """The best constant answer for the training rows, judged on the test rows."""
    begin, counts = time.perf_counter(), np.bincount(train, minlength=n_classes)
    values = constant_scores(metric, counts)
    answer = max(values, key=lambda label: values[label])
    scores = np.tile(np.eye(n_classes)[answer], (len(test), 1))
    probability = np.tile(counts / counts.sum(), (len(test), 1))
    return Outcome(
        score_of(metric, np.full(len(test), answer), test, n_classes),
        time.perf_counter() - begin,
        HeldOutPrediction(scores, probability),
        np.zeros(n_classes),
        1.0,
        Table(),
        str(answer),  # the index of the class
    )


def _outcome(fitted: MetricClassifier, seconds: float, rows: Any, labels: Ints) -> Outcome:
    held_out = HeldOutPrediction(*fitted.scores_and_probabilities(rows))
    score = score_of(fitted.metric_, held_out.predicted, labels, len(fitted.classes_))
    return Outcome(score, seconds, held_out, fitted.offsets_, fitted.temperature_, fitted.history_, fitted.chosen_)


def _is_explained(contender: Contender, contenders: Sequence[Contender]) -> bool:
    """One method of each model: the automatic choice, or else a tuned threshold."""
    methods = [one.method for one in contenders if one.model == contender.model]
    choice = next((method for method in methods if isinstance(method, Choice)), None)
    return contender.method is choice if choice else contender.method.name == BASELINE
