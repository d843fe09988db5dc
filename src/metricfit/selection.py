"""Fit one method, or several of which a guard chooses one: for any learner.

1. The learner trains cross-entropy on every split: where methods start.
2. Every candidate is trained on the same splits, and decides the rows that its model has not seen.
3. The guard (:mod:`metricfit.decisions`) compares these decisions and chooses.
4. The chosen method is trained on all rows, and calibrated on held-out scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit import methods
from metricfit.decisions import Guard, cross_fit_offsets, fit_offsets, fit_temperature
from metricfit.learners import Learner, Start
from metricfit.learners._learner import History
from metricfit.learners._linear import known_rows
from metricfit.methods import BASELINE, CROSS_ENTROPY, Choice, Method

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Fitted:
    """A model, the method that trained it, and how it was chosen."""

    model: Any
    method: Method
    strength: float
    temperature: float
    candidates: list[dict[str, Any]] = field(default_factory=list)
    history: History = field(default_factory=list)


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


def fit_method(learner: Learner, method: Method | Choice, start: Start | None = None) -> Fitted:
    """Train one method, or choose among several; ``start`` is given where it was trained before."""
    task = learner.task
    if isinstance(method, Choice) and not task.splits:  # no rows to choose by
        baseline = methods.get(BASELINE)
        assert isinstance(baseline, Method)
        method = method.candidate(BASELINE) or baseline
    with learner.session():
        if isinstance(method, Choice):
            candidates = _candidates(learner, method)
            task.progress.start(learner.steps * (1 + sum(candidate.trains_metric for candidate in candidates)) + 1)
            fitted = _choose(learner, candidates, start)
        else:
            task.progress.start(learner.steps * (2 if _continues(learner, method) else 1) + 1)
            fitted = _fit_one(learner, method, start)
    held_out = {row["candidate"]: row["metric"] for row in fitted.candidates}
    task.progress.step("done", held_out.get(fitted.method.name))
    return fitted


def _fit_one(learner: Learner, method: Method, start: Start | None) -> Fitted:
    """One method without a guard."""
    task, history = learner.task, History()
    if start is None and learner.needs_start(method):
        start = learner.fit_start(method.offsets != "none", history)
    plain = method.loss == "cross_entropy"
    if learner.refits:
        assert start is not None
        folds = start.folds if plain else []
        model = learner.fit_final(method, start.final, history)
    else:
        folds = start.folds if plain and start else learner.fit_folds(method, start.folds if start else None, history)
        (model,) = folds
    logits = task.held_out_logits(folds) if folds else None
    if method.offsets == "none":
        model = model.with_offsets(np.zeros(task.rows.n_classes))
    elif learner.refits and learner.tunes_offsets(method):
        model = model.with_offsets(_tune(learner, logits, model))
    strength = start.strength if start else float("nan")
    return Fitted(model, method, strength, _temperature(learner, logits, model), [], history)


def _choose(learner: Learner, candidates: Sequence[Method], start: Start | None) -> Fitted:
    """The candidate that the guard trusts, trained on all rows."""
    task, history = learner.task, History()
    start = start or learner.fit_start(any(method.offsets != "none" for method in candidates), history)
    tried: dict[str, _Candidate] = {}
    for method in candidates:
        before = tried[method.start].models if method.start in tried else start.folds
        tried[method.name] = _try(learner, method, before, history)
    held_out = task.held_out
    guard = Guard(held_out.labels, held_out.weight, held_out.n_classes, task.metric)
    predictions = {name: candidate.predicted for name, candidate in tried.items()}
    chosen, reasons = guard.choose(predictions)
    winner = tried[chosen]
    if learner.refits:
        model = start.final
        for method in _path(winner.method, tried):
            model = learner.fit_final(method, model, history)
        if winner.tuned:
            model = model.with_offsets(np.mean(winner.tuned, 0))
    else:
        (model,) = winner.models
    if winner.method.offsets == "none":
        model = model.with_offsets(np.zeros(task.rows.n_classes))
    table = guard.table(predictions, reasons)
    return Fitted(model, winner.method, start.strength, _temperature(learner, winner.logits, model), table, history)


def _try(learner: Learner, method: Method, start: Sequence[Any], history: History) -> _Candidate:
    task = learner.task
    plain = method.loss == "cross_entropy"
    models = list(start) if plain else learner.fit_folds(method, start, history)
    logits, tuned = task.held_out_logits(models), []
    offsets = np.zeros_like(logits)
    if method.offsets != "none" and learner.tunes_offsets(method):
        parts, held_out = learner.offset_parts(), task.held_out
        tuned = cross_fit_offsets(logits, held_out.labels, task.metric, held_out.weight, parts)
        for part, own in zip(parts, tuned, strict=True):
            offsets[part] = own
    elif method.offsets != "none":
        sizes = [len(test) for _, test in task.splits]
        offsets = np.repeat([model.offsets for model in models], sizes, axis=0)
    return _Candidate(method, models, logits, offsets, tuned)


def _candidates(learner: Learner, choice: Choice) -> tuple[Method, ...]:
    """All of them; without the steps in between, where a learner does not go from one candidate to the next."""
    if learner.chains:
        return choice.candidates
    between = {method.start for method in choice.candidates} - {CROSS_ENTROPY}
    return tuple(method for method in choice.candidates if method.name not in between)


def _path(method: Method, tried: dict[str, _Candidate]) -> list[Method]:
    """The candidates from cross-entropy to this one, each of which starts where the one before ended."""
    path = [method]
    while path[0].start in tried and path[0].start != CROSS_ENTROPY:
        path.insert(0, tried[path[0].start].method)
    return path


def _continues(learner: Learner, method: Method) -> bool:
    """Whether the method is a second training after that of its start."""
    return not learner.refits and method.loss != "cross_entropy" and learner.needs_start(method)


def _tune(learner: Learner, logits: Floats | None, model: Any) -> Floats:
    """The mean of the offsets of all parts, which is steadier than the best of all rows; without splits, the best of these."""
    task = learner.task
    if logits is None:
        rows = task.rows
        return fit_offsets(model.logits(rows.features), rows.labels, task.metric, rows.weight)
    held_out = task.held_out
    return np.mean(cross_fit_offsets(logits, held_out.labels, task.metric, held_out.weight, learner.offset_parts()), 0)


def _temperature(learner: Learner, logits: Floats | None, model: Any) -> float:
    """From held-out scores, or from those of the training rows where there are none."""
    if logits is None:
        rows = learner.task.rows
        return fit_temperature(model.logits(rows.features), rows.labels, rows.training_weight)
    held_out = learner.task.held_out
    known = known_rows(logits, held_out.labels)
    return fit_temperature(logits[known], held_out.labels[known], held_out.training_weight[known])
