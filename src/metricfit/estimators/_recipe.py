"""How a linear model is fitted for a metric: candidates, held-out predictions, a guarded choice, one refit.

1. Logistic regression for several penalties in every fold; the penalty with the least held-out cross-entropy is taken.
2. Offsets that do best on the held-out scores: what people use now, and what has to be beaten.
3. From there "leaky" training (``_surrogates``), first held closely by cross-entropy, then loosely, in the same folds.
4. The guard (``_guard``) decides from held-out predictions; the winner is fitted to all rows.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from metricfit._progress import Progress
from metricfit.estimators._guard import Judge
from metricfit.estimators._linear import NEVER, Linear, Record, Rows, descend, fit_cross_entropy, fit_hinge, penalty_of
from metricfit.estimators._offsets import best_offsets, hard_matrix, metric_of
from metricfit.estimators._surrogates import Surrogate, best_temperature, direct, leaky, mean_cross_entropy
from metricfit.metrics import Metric
from metricfit.smoothing import Normal, Smoothing, Softmax, SoftSet

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Split = tuple[Ints, Ints]

STRATEGIES = ("auto", "cross_entropy", "offset", "hinge", "expected", "leaky", "direct", "anneal")
ALPHAS = (1.0, 0.1)  # how closely cross-entropy holds the leaky candidates, one after the other
DIRECT_WIDTHS = (3.0, 1.5, 0.7, 0.35, 0.2, 0.1)  # of normalised scores
ANNEAL_TEMPERATURES = (0.2, 0.16, 0.128, 0.1024, 0.0819, 0.0655, 0.0524)  # EAST: T0 = 0.2, rate 0.8
INTEGRAL = torch.float32  # of normal noise and more than two classes: far finer than a descent looks, at a tenth of the price
DIRECT_PENALTY = 1e-6  # per row: normalised scores leave the size of the weights open

History = list[dict[str, Any]]
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Task:
    """Everything a fit is told."""

    rows: Rows
    metric: Metric
    smoothing: Smoothing
    strengths: Sequence[float]
    splits: Sequence[Split]
    n_jobs: int | None = None
    direct_smoothing: Smoothing = field(default_factory=Normal)
    progress: Progress = field(default_factory=Progress)
    start: Linear | None = None

    @cached_property
    def held_out(self) -> Rows:
        """The test rows of all folds, one fold after the other."""
        return self.rows.take(np.concatenate([test for _, test in self.splits]))

    @property
    def precision(self) -> torch.dtype:
        return torch.float64 if self.rows.n_classes == 2 else INTEGRAL

    @cached_property
    def cross_entropy(self) -> tuple[Linear, list[Linear], float]:
        """Logistic regression on all rows and on those of every fold, and its C: where all strategies start."""
        return _cross_entropy(self)

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.held_out.labels, self.held_out.weight, self.rows.n_classes, self.metric)

    def over_folds(self, fit: Callable[[Rows, int], _Result], stage: str, value: float | None = None) -> list[_Result]:
        """Call ``fit`` with the training rows of every fold and its number, in parallel if asked to."""
        jobs = (delayed(_alone)(fit, self.rows, train, fold) for fold, (train, _) in enumerate(self.splits))
        results = []
        for result in Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs):
            results.append(result)
            self.progress.step(stage, value)
        return results

    def scored(self, models: Sequence[Linear]) -> HeldOut:
        """What the folds' models make of the rows they have not seen."""
        tests = [(model, test) for model, (_, test) in zip(models, self.splits, strict=True)]
        return HeldOut(
            np.concatenate([model.logits(self.rows.features[test]) for model, test in tests]),
            np.concatenate([np.tile(model.offsets, (len(test), 1)) for model, test in tests]),
        )


@dataclass(frozen=True)
class HeldOut:
    """Scores of rows by models that have not seen them, and the offsets of the model that scored each, (n, k) both."""

    logits: Floats
    offsets: Floats

    @property
    def predicted(self) -> Ints:
        return (self.logits + self.offsets).argmax(1)


@dataclass(frozen=True)
class Fitted:
    """A model, and how it came about."""

    model: Any  # with ``offsets`` (k,) and ``logits(features)`` (n, k)
    chosen: str
    strength: float
    temperature: float
    candidates: list[dict[str, Any]]
    history: History


def fit_linear(task: Task, strategy: str) -> Fitted:
    """Fit by one strategy, or by several under guard."""
    guarded = strategy == "auto" and bool(task.splits)
    task.progress.start(len(task.splits) * (2 if guarded else 1) + 1)
    with single_threaded():
        fitted = _guarded(task) if guarded else _alone_by(task, "offset" if strategy == "auto" else strategy)
    task.progress.step("done", None)
    return fitted


def _guarded(task: Task) -> Fitted:
    rows = task.rows
    base, folds, strength = task.cross_entropy
    plain = task.scored(folds)
    offsets = _fold_offsets(task, plain)
    candidates = {
        "cross_entropy": plain,
        "offset": task.scored([model.with_offsets(own) for model, own in zip(folds, offsets, strict=True)]),
    }
    silent = replace(task, progress=Progress())  # a bar does not travel to other processes

    def chain(train: Rows, fold: int) -> list[Linear]:
        return list(_leaky_chain(train, silent, folds[fold], strength, ALPHAS))

    chains = task.over_folds(chain, "training for the metric", task.judge.value(candidates["offset"].predicted))
    for place, alpha in enumerate(ALPHAS):
        candidates[f"leaky({alpha:g})"] = task.scored([models[place] for models in chains])
    predictions = {name: scores.predicted for name, scores in candidates.items()}
    chosen, reasons = task.judge.choose(predictions)
    history: History = []
    if chosen == "cross_entropy":
        model = base
    elif chosen == "offset":
        model = base.with_offsets(np.mean(offsets, 0))
    else:
        until = [f"leaky({alpha:g})" for alpha in ALPHAS].index(chosen)
        *_, model = _leaky_chain(rows, task, base, strength, ALPHAS[: until + 1], history)
    table = task.judge.table(predictions, reasons)
    return Fitted(model, chosen, strength, _temperature(task, candidates[chosen].logits), table, history)


def _alone_by(task: Task, strategy: str) -> Fitted:
    """One strategy without a guard."""
    rows, history = task.rows, History()
    base, folds, strength = task.cross_entropy
    model = base
    if strategy == "offset":
        offsets = np.mean(_fold_offsets(task, task.scored(folds)), 0) if folds else _training_offsets(rows, base, task.metric)
        model = base.with_offsets(offsets)
    elif strategy == "leaky":
        *_, model = _leaky_chain(rows, task, base, strength, ALPHAS[-1:], history)
    elif strategy == "hinge":
        model = fit_hinge(rows, strength)
    elif strategy != "cross_entropy":
        model = base.with_offsets(_training_offsets(rows, base, task.metric))
        for width, surrogate, penalty in _narrowing(task, strategy, strength):
            model = descend(rows, surrogate, penalty, model, _recorder(task, history, f"width {width:g}", width))
    if model.weight is base.weight and folds:
        temperature = _temperature(task, task.scored(folds).logits)
    else:
        temperature = best_temperature(rows.target(task.metric), model.logits(rows.features))
    return Fitted(model, strategy, strength, temperature, [], history)


def _narrowing(task: Task, strategy: str, strength: float) -> Iterator[tuple[float, Surrogate, float]]:
    """Width, surrogate and penalty of one descent after the other, each from where the one before ended."""
    target, penalty = task.rows.target(task.metric), penalty_of(task.rows, strength)
    if strategy == "direct":
        for width in DIRECT_WIDTHS:
            yield width, direct(target, task.direct_smoothing, width, dtype=task.precision), DIRECT_PENALTY
    elif strategy == "anneal":
        for width in ANNEAL_TEMPERATURES:
            yield width, direct(target, SoftSet(), width, normalize=False), penalty
    else:
        yield 1.0, direct(target, Softmax(), 1.0, normalize=False), penalty


def _cross_entropy(task: Task) -> tuple[Linear, list[Linear], float]:
    """The C is the one with the least held-out cross-entropy."""
    rows, strengths = task.rows, sorted(task.strengths)
    if not task.splits:
        strength = strengths[len(strengths) // 2]
        return fit_cross_entropy(rows, [strength], task.start)[0], [], strength
    paths = task.over_folds(lambda train, fold: fit_cross_entropy(train, strengths), "logistic regression")
    losses = []
    for models in zip(*paths, strict=True):
        logits = task.scored(models).logits
        seen = _seen(task, logits)
        losses.append(mean_cross_entropy(task.held_out.take(seen).target(task.metric), logits[seen]))
    best = int(np.argmin(losses))
    return fit_cross_entropy(rows, strengths[: best + 1], task.start)[-1], [path[best] for path in paths], strengths[best]


def _fold_offsets(task: Task, scores: HeldOut) -> list[Floats]:
    """For every fold the offsets that do best on the others. Their mean is steadier than the best of all rows would be."""
    held_out, every = task.held_out, np.arange(len(task.held_out.labels))
    offsets, start = [], 0
    for _, test in task.splits:
        others = np.delete(every, slice(start, start + len(test))) if len(task.splits) > 1 else every
        offsets.append(best_offsets(scores.logits[others], held_out.labels[others], task.metric, held_out.weight[others]))
        start += len(test)
    return offsets


def _leaky_chain(
    rows: Rows, task: Task, base: Linear, strength: float, alphas: Sequence[float], history: History | None = None
) -> Iterator[Linear]:
    """Ever less held by cross-entropy, each from where the one before ended."""
    model, target = base.with_offsets(_training_offsets(rows, base, task.metric)), rows.target(task.metric)
    for alpha in alphas:
        surrogate = leaky(target, task.smoothing, alpha, task.precision)
        record = _recorder(task, history, f"alpha {alpha:g}", float(task.smoothing.width))
        model = descend(rows, surrogate, alpha * penalty_of(rows, strength), model, record)
        yield model


def _recorder(task: Task, history: History | None, stage: str, width: float) -> Record | None:
    """Writes down surrogate and metric after every step, for a model of all rows."""
    if history is None:
        return None
    rows = task.rows

    def record(model: Linear, surrogate: float, gradient_norm: float) -> None:
        matrix = hard_matrix((model.logits(rows.features) + model.offsets).argmax(1), rows.labels, rows.weight, rows.n_classes)
        row = {
            "step": len(history) + 1,
            "stage": stage,
            "surrogate": surrogate,
            "metric": float(metric_of(task.metric, matrix)),
            "width": width,
            "gradient_norm": gradient_norm,
        }
        history.append(row)

    return record


def _training_offsets(rows: Rows, model: Linear, metric: Metric) -> Floats:
    return best_offsets(model.logits(rows.features), rows.labels, metric, rows.weight)


def _temperature(task: Task, logits: Floats) -> float:
    seen = _seen(task, logits)
    return best_temperature(task.held_out.take(seen).target(task.metric), logits[seen])


def _seen(task: Task, logits: Floats) -> Ints:
    """Rows of classes that the model which scored them knows: what it says about the others is no question of calibration."""
    return np.flatnonzero(logits[np.arange(len(logits)), task.held_out.labels] > 0.5 * NEVER)


def _alone(fit: Callable[[Rows, int], _Result], rows: Rows, train: Ints, fold: int) -> _Result:
    with single_threaded():
        return fit(rows.take(train), fold)


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """One thread for all libraries: sums in the same order, and so the same bits, whatever runs beside."""
    with _Limit.lock:
        if _Limit.users == 0:
            _Limit.before, _Limit.limits = torch.get_num_threads(), threadpool_limits(1)
            torch.set_num_threads(1)
        _Limit.users += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.users -= 1
            if _Limit.users == 0:
                _Limit.limits.restore_original_limits()
                torch.set_num_threads(_Limit.before)


class _Limit:
    """How many fits run on one thread now, and what to go back to after the last."""

    lock, users, before = threading.Lock(), 0, 1
    limits: Any = None
