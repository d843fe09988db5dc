"""Fit one method, or several of which a guard chooses one: for any learner.

1. The learner trains cross-entropy on every split: where methods start. Held-out cross-entropy chooses its setting.
2. Every candidate is trained on the same splits, and decides the rows that its model has not seen.
3. The guard (:mod:`metricfit.decisions`) compares these decisions and chooses.
4. The chosen method is trained on all rows, and calibrated on held-out scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils.parallel import Parallel, delayed

from metricfit._progress import Progress
from metricfit._typing import Floats, Ints
from metricfit.decisions import Guard, cross_entropy, cross_fit_offsets, fit_offsets, fit_temperature, known_rows
from metricfit.learners import Fold, History, Learner, TrainingRows
from metricfit.methods import BASELINE, CROSS_ENTROPY, SCRATCH, Choice, Method
from metricfit.metrics import Metric

__all__ = ["Fitted", "Start", "Task", "fit_method", "fit_start", "hold_out"]

HELD_OUT = 0.2  # share of rows that learners hold out which train only once
OFFSET_FOLDS = 5  # parts of these rows, to judge offsets


@dataclass(frozen=True)
class Task:
    """What a fit is given: rows, the metric, and which rows each split holds out."""

    rows: TrainingRows
    metric: Metric
    splits: Sequence[tuple[Ints, Ints]]  # training and test rows
    n_jobs: int | None = None
    warm: Any = None  # a model of an earlier fit
    seed: int = 0
    progress: Progress = field(default_factory=Progress)

    @cached_property
    def held_out(self) -> TrainingRows:
        """The test rows of all splits, one split after the other."""
        return self.rows.take(np.concatenate([test for _, test in self.splits]))

    def held_out_logits(self, models: Sequence[Any]) -> Floats:
        """The scores of the held-out rows, each by the model that has not seen it."""
        scored = zip(models, self.splits, strict=True)
        return np.concatenate([model.logits(self.rows.features[test]) for model, (_, test) in scored])


@dataclass(frozen=True)
class Start:
    """Models of cross-entropy: one per split, and the one of all rows; ``learner`` has the setting that was chosen."""

    learner: Learner
    folds: list[Any]
    final: Any


@dataclass(frozen=True)
class Fitted:
    """A model, the method that trained it, and how it was chosen."""

    model: Any
    method: Method
    strength: float
    temperature: float
    candidates: list[dict[str, Any]]
    history: History


@dataclass(frozen=True)
class _Candidate:
    """A method's models of all splits, and what they say of the rows they have not seen: scores and offsets, (n, k) both."""

    method: Method
    models: list[Any]
    logits: Floats
    offsets: Floats
    tuned: list[Floats]  # the offsets of each part of the held-out rows, where they were tuned

    @property
    def predicted(self) -> Ints:
        return (self.logits + self.offsets).argmax(1)


def fit_method(task: Task, learner: Learner, method: Method | Choice, start: Start | None = None) -> Fitted:
    """Train one method, or choose among several; ``start`` is given where it was trained before."""
    if isinstance(method, Choice) and not task.splits:  # no rows to choose by
        method = method.candidate(BASELINE) or method.candidates[0]
    if isinstance(method, Method):
        method.check_start()
    with learner.session():
        if isinstance(method, Choice):
            fitted = _choose(task, learner, _candidates(learner, method), start)
        else:
            fitted = _fit_one(task, learner, method, start)
    held_out = {row["candidate"]: row["metric"] for row in fitted.candidates}
    task.progress.step("done", held_out.get(fitted.method.name))
    return fitted


def fit_start(task: Task, learner: Learner, tuned: bool = True, history: History | None = None) -> Start:
    """Train cross-entropy; of several settings, the one with the least held-out cross-entropy is kept."""
    if not task.splits:
        learner = learner.with_setting(None)
        return Start(learner, [], learner.fit_cross_entropy(Fold(task.rows, task.metric, warm=task.warm), tuned)[-1])

    def fit(fold: Fold, start: Any) -> Sequence[Any]:
        return learner.fit_cross_entropy(fold, tuned)

    paths = _over_splits(task, learner, fit, CROSS_ENTROPY, history)
    settings = [task.held_out_logits(models) for models in zip(*paths, strict=True)] if len(paths[0]) > 1 else []
    labels, weight = task.held_out.labels, task.held_out.training_weight
    best = int(np.argmin([cross_entropy(*known_rows(logits, labels, weight)) for logits in settings])) if settings else 0
    folds, learner = [path[best] for path in paths], learner.with_setting(best)
    if not learner.refits:
        return Start(learner, folds, folds[0])
    return Start(learner, folds, learner.fit_cross_entropy(Fold(task.rows, task.metric, warm=task.warm), tuned)[-1])


def hold_out(rows: TrainingRows, seed: int) -> list[tuple[Ints, Ints]]:
    """One split into training and held-out rows; by class where every class has two rows or more."""
    counts = np.bincount(rows.labels, minlength=rows.n_classes)
    stratified = counts.min() >= 2 and len(rows.labels) * HELD_OUT >= rows.n_classes
    splitter = StratifiedShuffleSplit if stratified else ShuffleSplit
    return list(splitter(1, test_size=HELD_OUT, random_state=seed).split(np.empty((len(rows.labels), 1)), rows.labels))


def _fit_one(task: Task, learner: Learner, method: Method, start: Start | None) -> Fitted:
    """One method without a guard."""
    history, plain = History(), method.loss == "cross_entropy"
    starts = learner.refits or plain or method.start != SCRATCH
    task.progress.start((learner.steps + 1) * len(task.splits) * (2 if starts and not plain and not learner.refits else 1) + 1)
    if start is None and starts:
        start = fit_start(task, learner, method.offsets != "none", history)
    learner = start.learner if start else learner
    if learner.refits and start:
        folds = start.folds if plain else []
        model = learner.fit(Fold(task.rows, task.metric, history=history), method, start.final)
    else:
        before = start.folds if start else None
        folds = before if plain and before else _fit_splits(task, learner, method, before, history)
        (model,) = folds
    logits = task.held_out_logits(folds) if folds else None
    if method.offsets == "none":
        model = model.with_offsets(np.zeros(task.rows.n_classes))
    elif method.offsets == "tuned" and learner.refits:
        model = model.with_offsets(_final_offsets(task, learner, logits, model))
    return Fitted(model, method, learner.strength, _temperature(task, logits, model), [], history)


def _choose(task: Task, learner: Learner, candidates: Sequence[Method], start: Start | None) -> Fitted:
    """The candidate that the guard trusts, trained on all rows."""
    history, n_trained = History(), 1 + sum(method.loss != "cross_entropy" for method in candidates)
    task.progress.start((learner.steps + 1) * len(task.splits) * n_trained + 1)
    start = start or fit_start(task, learner, any(method.offsets != "none" for method in candidates), history)
    learner, tried = start.learner, dict[str, _Candidate]()
    for method in candidates:
        before = tried[method.start].models if method.start in tried else start.folds
        tried[method.name] = _try(task, learner, method, before, history)
    held_out = task.held_out
    guard = Guard(held_out.labels, held_out.weight, held_out.n_classes, task.metric)
    predictions = {name: candidate.predicted for name, candidate in tried.items()}
    chosen, reasons = guard.choose(predictions)
    winner = tried[chosen]
    model = start.final if learner.refits else winner.models[0]
    if learner.refits:
        for method in _path(winner.method, tried):
            model = learner.fit(Fold(task.rows, task.metric, history=history), method, model)
        if winner.tuned:
            model = model.with_offsets(np.mean(winner.tuned, 0))
    if winner.method.offsets == "none":
        model = model.with_offsets(np.zeros(task.rows.n_classes))
    table, temperature = guard.table(predictions, reasons), _temperature(task, winner.logits, model)
    return Fitted(model, winner.method, learner.strength, temperature, table, history)


def _try(task: Task, learner: Learner, method: Method, start: list[Any], history: History) -> _Candidate:
    models = start if method.loss == "cross_entropy" else _fit_splits(task, learner, method, start, history)
    logits, tuned = task.held_out_logits(models), list[Floats]()
    offsets = np.zeros_like(logits)
    # learners that do not refit tune their offsets on the held-out rows, which then cannot judge them
    if method.offsets == "tuned" or (method.leak and not learner.refits):
        tuned = _tune(task, learner, logits)
        for part, own in zip(_offset_parts(task, learner), tuned, strict=True):
            offsets[part] = own
    elif method.offsets != "none":
        offsets = np.repeat([model.offsets for model in models], [len(test) for _, test in task.splits], axis=0)
    return _Candidate(method, models, logits, offsets, tuned)


def _fit_splits(task: Task, learner: Learner, method: Method, start: list[Any] | None, history: History) -> list[Any]:
    """The method trained on every split, from the models ``start``."""
    return _over_splits(task, learner, partial(learner.fit, method=method), method.title, history, start)


def _over_splits(
    task: Task, learner: Learner, fit: Callable[..., Any], stage: str, history: History | None, start: list[Any] | None = None
) -> list[Any]:
    """``fit`` of every split, and of the model that it starts from; in parallel if fits are cheap."""
    starts, results = start or [None] * len(task.splits), []
    if not learner.refits:
        for (train, test), before in zip(task.splits, starts, strict=True):
            parts = task.rows.take(train), task.metric, task.rows.take(test), task.warm
            results.append(fit(Fold(*parts, history, task.progress), start=before))
        return results
    cut = zip(task.splits, starts, strict=True)
    jobs = (delayed(_on_split)(learner, fit, task.rows, train, task.metric, before) for (train, _), before in cut)
    for result in Parallel(n_jobs=task.n_jobs, return_as="generator")(jobs):
        results.append(result)
        task.progress.step(stage, None)
    return results


def _on_split(learner: Learner, fit: Callable[..., Any], rows: TrainingRows, train: Ints, metric: Metric, start: Any) -> Any:
    with learner.session():
        return fit(Fold(rows.take(train), metric), start=start)


def _candidates(learner: Learner, choice: Choice) -> Sequence[Method]:
    """All of them; without the steps in between, where a learner does not go from one candidate to the next."""
    between = set() if learner.refits else {method.start for method in choice.candidates} - {CROSS_ENTROPY}
    return [method for method in choice.candidates if method.name not in between]


def _path(method: Method, tried: dict[str, _Candidate]) -> list[Method]:
    """The candidates from cross-entropy to this one, each of which starts where the one before ended."""
    path = [method]
    while path[0].start in tried and path[0].start != CROSS_ENTROPY:
        path.insert(0, tried[path[0].start].method)
    return path


def _offset_parts(task: Task, learner: Learner) -> list[Ints]:
    """Parts of the held-out rows: each is decided with offsets that were tuned on the others."""
    labels = task.held_out.labels
    if learner.refits:
        return np.split(np.arange(len(labels)), np.cumsum([len(test) for _, test in task.splits])[:-1])
    n_folds = min(OFFSET_FOLDS, int(np.sort(np.bincount(labels, minlength=2))[-2]))
    if n_folds < 2:
        return []
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=task.seed)
    return [part for _, part in folds.split(np.empty((len(labels), 1)), labels)]


def _tune(task: Task, learner: Learner, logits: Floats) -> list[Floats]:
    """Offsets of every part. Their mean is steadier than the best of all rows would be."""
    held_out = task.held_out
    return cross_fit_offsets(logits, held_out.labels, task.metric, held_out.weight, _offset_parts(task, learner))


def _final_offsets(task: Task, learner: Learner, logits: Floats | None, model: Any) -> Floats:
    if logits is not None:
        return np.mean(_tune(task, learner, logits), 0)
    rows = task.rows
    return fit_offsets(model.logits(rows.features), rows.labels, task.metric, rows.weight)


def _temperature(task: Task, logits: Floats | None, model: Any) -> float:
    """From held-out scores, or from those of the training rows where there are none."""
    rows = task.rows
    if logits is None:
        return fit_temperature(model.logits(rows.features), rows.labels, rows.training_weight)
    return fit_temperature(logits, task.held_out.labels, task.held_out.training_weight)
