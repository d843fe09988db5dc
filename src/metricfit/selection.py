"""Train one method, or choose among several, for any learner.

1. The learner trains cross-entropy on every split: where methods start. Held-out cross-entropy chooses its setting.
2. Every candidate decides the rows that its model has not seen. It is trained on the same splits.
3. For linear models the guard (:mod:`metricfit.decisions`) compares the decisions and chooses. For all others the tuned
   offsets stand. A choice of the user's own is guarded for networks too.
4. The chosen method is trained on all rows; of networks and boosted trees, the mean of the splits' models predicts. It is
   calibrated on held-out scores.

Where labels are wrong, networks are chosen by the accuracy of held-out rows instead, and no cross-entropy is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from metricfit import metrics
from metricfit._typing import Floats, Ints
from metricfit.decisions import Guard, cross_fit_offsets, fit_offsets, fit_smooth_offsets, fit_temperature
from metricfit.learners import (
    History,
    Learner,
    MeanModel,
    MetricLearner,
    Task,
    Trained,
)
from metricfit.methods import AUTO, BASELINE, CROSS_ENTROPY, SCRATCH, Choice, Method

__all__ = ["Fitted", "fit_method", "mean_of_fits", "starts_at_cross_entropy"]

OffsetSearch = Callable[..., Floats]  # of scores, labels, metric and weights
MARGIN_ROWS = 500  # held-out rows that are enough to choose a margin by


@dataclass(frozen=True)
class Fitted:
    """A model, the method that trained it, and how it was chosen."""

    model: Any
    method: Method
    C: float
    temperature: float
    candidates: list[dict[str, Any]]
    history: History
    notes: tuple[str, ...] = ()  # what held-out rows chose, in sentences


@dataclass(frozen=True)
class _Candidate:
    """A method's models of all splits, with scores (n, k) and decisions of the rows that each held out."""

    method: Method
    models: Sequence[Any]
    logits: Floats
    predicted: Ints
    tuned: list[Floats]  # the offsets of each part of the held-out rows, where they were tuned


def fit_method(task: Task, learner: Learner, method: Method | Choice, start: Trained | None = None) -> Fitted:
    """Train one method, or choose among several. ``start`` is a cross-entropy model that you have already."""
    if isinstance(method, Choice) and not task.splits:  # no rows to choose by
        method = next((one for one in method.candidates if one.name == BASELINE), method.candidates[0])
    task = learner.read(task)
    with learner.session():
        if isinstance(method, Choice) and method.by_accuracy:
            fitted = _choose_by_accuracy(task, learner, method)
        elif not isinstance(learner, MetricLearner) or (not learner.refits and _is_plain(method)):
            fitted = _decide(task, learner, method, start)
        elif isinstance(method, Choice):
            fitted = _choose(task, learner, _candidates(learner, method), start)
        else:
            fitted = _fit_one(task, learner, method, start)
    held_out = {row["candidate"]: row["metric"] for row in fitted.candidates}
    task.progress.step("done", held_out.get(fitted.method.name))
    return fitted


def mean_of_fits(fits: Sequence[Fitted]) -> Fitted:
    """The mean of models that were fitted to parts of the rows; of one, the fit itself.

    The method is the most frequent one, temperature and C are geometric means, and tables say which part a row is about.
    """
    if len(fits) == 1:
        return fits[0]
    names = Counter(one.method.name for one in fits)
    method = next(one.method for one in fits if one.method.name == names.most_common(1)[0][0])
    temperature, C = (  # noqa: N806 - scikit-learn's name
        float(np.exp(np.mean([np.log(getattr(one, name)) for one in fits]))) for name in ("temperature", "C")
    )
    candidates, history = (
        [{"fold": fold, **row} for fold, one in enumerate(fits) for row in getattr(one, name)]
        for name in ("candidates", "history")
    )
    notes = dict.fromkeys(note for one in fits for note in one.notes)
    return Fitted(MeanModel.of([one.model for one in fits]), method, C, temperature, candidates, history, tuple(notes))


def starts_at_cross_entropy(learner: Learner, method: Method | Choice) -> bool:
    """Whether a fit needs the learner trained by cross-entropy."""
    if isinstance(method, Choice):
        return not method.by_accuracy
    return not isinstance(learner, MetricLearner) or learner.refits or _is_plain(method) or method.start != SCRATCH


def _is_plain(method: Method | Choice) -> bool:
    """Whether a network is trained by cross-entropy alone, as in the automatic choice: fine-tuning gains nothing there."""
    return method.name == AUTO if isinstance(method, Choice) else method.loss == "cross_entropy"


def _decide(task: Task, learner: Learner, method: Method | Choice, start: Trained | None) -> Fitted:
    """Decide for a learner of cross-entropy alone: take tuned offsets if they are a candidate, and report the others."""
    task.progress.start(learner.count_steps(task) + 1)
    start = start or learner.train(task)
    candidates = method.candidates if isinstance(method, Choice) else (method,)
    usable = [candidate for candidate in candidates if candidate.loss == "cross_entropy"]
    if not usable:
        raise ValueError(f"`method` {method.name!r} has no candidate for the model {learner.name!r}: none is cross-entropy.")
    wanted = "none" if task.metric.counts_hits else "tuned"  # offsets do not help accuracy (docs/guide/classifier.md)
    chosen = next((candidate for candidate in usable if candidate.offsets == wanted), usable[0])
    decided = {}
    if start.logits is not None:
        chosen_first = sorted(usable, key=lambda candidate: candidate is not chosen)
        decided = {one.name: _judge(task, one, start.logits, one.offsets == "tuned") for one in chosen_first}
    model = _with_mean_offsets(start.model, decided[chosen.name].tuned if decided else [])
    table = _list_candidates(task, start, chosen, decided) if isinstance(method, Choice) else []
    temperature = _temperature(task, start.logits, model)
    return Fitted(model, chosen, start.learner.C, temperature, table, start.history, start.notes)


def _list_candidates(task: Task, start: Trained, chosen: Method, decided: dict[str, _Candidate]) -> list[dict[str, Any]]:
    """The held-out metric of the chosen method, of the other methods, and of the members of an ensemble with that method."""
    guard, predictions = _guard(task), {name: one.predicted for name, one in decided.items()}
    for member in start.members:
        one = _judge(task, chosen, member.logits, chosen.offsets == "tuned")
        predictions[f"{member.learner.name}, {chosen.name}"] = one.predicted
    stands = guard.value(predictions[chosen.name])
    reasons = {name: f"{guard.value(predicted) - stands:+.4f}, for information" for name, predicted in predictions.items()}
    return guard.table(predictions, {**reasons, chosen.name: f"chosen: {start.learner.name} stands"})


def _fit_one(task: Task, learner: MetricLearner, method: Method, start: Trained | None) -> Fitted:
    """One method without a guard."""
    history, plain = History(), method.loss == "cross_entropy"
    starts = starts_at_cross_entropy(learner, method)
    n_trained = len(task.splits) * (2 if starts and not plain and not learner.refits else 1)
    n_trained += len(method.margins) * len(_margin_splits(task))
    task.progress.start((task.steps_of(learner) + 1) * n_trained + 1)
    if start is None and starts:
        start = learner.train(task)
        history += start.history
    learner = start.learner if start else learner
    margins, notes = list[dict[str, Any]](), tuple[str, ...]()
    if method.margins:
        method, margins = _choose_margin(task, learner, method, start)
        notes = (f"{method.title}: margin {method.margin:g}, chosen by held-out rows.",) * bool(margins)
    if learner.refits and start:
        folds = start.folds if plain else []
        model = learner.fit(task.all_rows(history), method, start.model)
    else:
        folds = _fit_splits(task, learner, method, start.folds if start else None, history)
        model = MeanModel.of(folds)
    logits, tuned = task.held_out_logits(folds) if folds else None, list[Floats]()
    if method.offsets == "tuned" and logits is not None:
        tuned = _tune(task, logits, _offset_search(learner))
    elif method.offsets == "tuned":
        rows = task.rows.spread()
        tuned = [fit_offsets(rows.logits(model), rows.labels, task.metric, rows.weight)]
    if method.offsets != "trained":
        model = _with_mean_offsets(model, tuned)
    return Fitted(model, method, learner.C, _temperature(task, logits, model), margins, history, notes)


def _choose_margin(
    task: Task, learner: MetricLearner, method: Method, start: Trained | None
) -> tuple[Method, list[dict[str, Any]]]:
    """The method with the best margin on held-out rows, and a table of all margins. Without splits it is the first."""
    if not task.splits:
        return _with_margin(method, method.margins[0]), []
    some, predictions = replace(task, splits=_margin_splits(task)), dict[float, Ints]()
    starts = start.folds[: len(some.splits)] if start else None
    for margin in method.margins:
        models = _fit_splits(some, learner, _with_margin(method, margin), starts, History())
        predictions[margin] = some.held_out_logits(models).argmax(1)
    guard = _guard(some)
    values = {margin: guard.value(predicted) for margin, predicted in predictions.items()}
    best = max(values, key=lambda margin: values[margin])  # the first in a tie
    names = {margin: method.name if margin == best else f"{method.name}, margin {margin:g}" for margin in values}
    reasons = {names[margin]: f"{value - values[best]:+.4f} against margin {best:g}" for margin, value in values.items()}
    reasons[method.name] = f"chosen: margin {best:g} is the best on held-out rows"
    return _with_margin(method, best), guard.table({names[margin]: one for margin, one in predictions.items()}, reasons)


def _with_margin(method: Method, margin: float) -> Method:
    return replace(method, margin=margin, margins=())


def _margin_splits(task: Task) -> Sequence[tuple[Ints, Ints]]:
    """As many splits as it takes to hold out enough rows. One split does if there are many rows, as in EXACT's search."""
    before = np.cumsum([0, *(len(test) for _, test in task.splits)])[:-1]
    return [split for split, n_rows in zip(task.splits, before, strict=True) if n_rows < MARGIN_ROWS]


def _choose(task: Task, learner: MetricLearner, candidates: list[Method], start: Trained | None) -> Fitted:
    """The candidate that the guard trusts, trained on all rows."""
    n_trained = 1 + sum(method.loss != "cross_entropy" for method in candidates)
    task.progress.start((task.steps_of(learner) + 1) * len(task.splits) * n_trained + 1)
    start = start or learner.train(task)
    learner, tried, history = start.learner, dict[str, _Candidate](), History(start.history)
    for method in candidates:
        before = tried[method.start].models if method.start in tried else start.folds
        plain = start.logits if method.loss == "cross_entropy" else None
        tried[method.name] = _try(task, learner, method, before, plain, history)
    guard = _guard(task)
    predictions = {name: candidate.predicted for name, candidate in tried.items()}
    chosen, reasons = guard.choose(predictions)
    winner = tried[chosen]
    model = start.model if learner.refits else MeanModel.of(winner.models)
    if learner.refits:
        for method in _path(winner.method, tried):
            model = learner.fit(task.all_rows(history), method, model)
    if winner.tuned or winner.method.offsets == "none":
        model = _with_mean_offsets(model, winner.tuned)
    table, temperature = guard.table(predictions, reasons), _temperature(task, winner.logits, model)
    return Fitted(model, winner.method, learner.C, temperature, table, history)


def _choose_by_accuracy(task: Task, learner: Learner, choice: Choice) -> Fitted:
    """The most accurate candidate on held-out rows, with offsets for the metric.

    Wrong labels are in the held-out rows too. They lower the accuracy of all candidates alike, while cross-entropy would be
    that of the wrong labels.
    """
    assert isinstance(learner, MetricLearner)
    task.progress.start((task.steps_of(learner) + 1) * len(task.splits) * len(choice.candidates) + 1)
    for_accuracy, history, decided = replace(task, metric=metrics.get("accuracy")), History(), dict[str, _Candidate]()
    for method in choice.candidates:
        models = _fit_splits(for_accuracy, learner, method, None, history)
        decided[method.name] = _judge(task, method, task.held_out_logits(models), not task.metric.counts_hits, models)
    accuracy = {name: _guard(for_accuracy).value(one.logits.argmax(1)) for name, one in decided.items()}
    chosen = max(accuracy, key=lambda name: accuracy[name])  # in a tie the first, which is the plainest
    reasons = {name: f"{value - accuracy[chosen]:+.4f} of accuracy against {chosen}" for name, value in accuracy.items()}
    reasons[chosen] = "chosen: the best accuracy of held-out rows"
    table = _guard(task).table({name: one.predicted for name, one in decided.items()}, reasons)
    table = [{**row, "accuracy": accuracy[row["candidate"]]} for row in table]
    winner = decided[chosen]
    model = _with_mean_offsets(MeanModel.of(winner.models), winner.tuned)
    return Fitted(model, winner.method, learner.C, _temperature(task, winner.logits, model), table, history)


def _try(task: Task, learner: MetricLearner, method: Method, start: Any, plain: Floats | None, history: History) -> _Candidate:
    """Train the method from the models ``start``. ``plain`` are the held-out scores if the method is cross-entropy."""
    models = start if plain is not None else _fit_splits(task, learner, method, start, history)
    logits = task.held_out_logits(models) if plain is None else plain
    # a learner that does not refit tunes offsets on the held-out rows, so these have to be cross-fitted
    tunes = method.offsets == "tuned" or bool(method.leak and not learner.refits)
    return _judge(task, method, logits, tunes, models, _offset_search(learner))


def _judge(
    task: Task,
    method: Method,
    logits: Any,
    tunes: bool,
    models: Sequence[Any] = (),
    search: OffsetSearch = fit_smooth_offsets,
) -> _Candidate:
    """The decisions of held-out rows: each part uses the offsets that were tuned on the other parts, or those of its model."""
    tuned, offsets = _tune(task, logits, search) if tunes else [], np.zeros_like(logits)
    if tunes:
        for part, own in zip(task.judging_parts(), tuned, strict=True):
            offsets[part] = own
    elif models and method.offsets != "none":
        offsets = np.repeat([model.offsets for model in models], [len(test) for test in task.test_rows], axis=0)
    return _Candidate(method, models, logits, (logits + offsets).argmax(1), tuned)


def _fit_splits(task: Task, learner: MetricLearner, method: Method, start: Any | None, history: History) -> list[Any]:
    """The method trained on every split, from the models ``start``."""
    return task.over_splits(learner, partial(learner.fit, method=method), method.title, history, start)


def _candidates(learner: MetricLearner, choice: Choice) -> list[Method]:
    """All candidates. Intermediate ones are left out if the learner does not start one candidate from another."""
    between = set() if learner.refits else {method.start for method in choice.candidates} - {CROSS_ENTROPY}
    return [method for method in choice.candidates if method.name not in between]


def _path(method: Method, tried: dict[str, _Candidate]) -> list[Method]:
    """The chain of candidates from cross-entropy to this one, each started from the one before."""
    path = [method]
    while path[0].start in tried and path[0].start != CROSS_ENTROPY:
        path.insert(0, tried[path[0].start].method)
    return path


def _guard(task: Task) -> Guard:
    held_out = task.held_out
    return Guard(held_out.labels, held_out.weight, held_out.n_classes, task.metric)


def _tune(task: Task, logits: Floats, fit: OffsetSearch) -> list[Floats]:
    """Offsets of every part. Their mean varies less than offsets tuned on all rows at once."""
    held_out = task.held_out
    return cross_fit_offsets(logits, held_out.labels, task.metric, held_out.weight, task.judging_parts(), fit)


def _offset_search(learner: MetricLearner) -> OffsetSearch:
    """Linear models tune offsets for the metric itself, other learners for the metric under noise."""
    return fit_offsets if learner.refits else fit_smooth_offsets


def _with_mean_offsets(model: Any, tuned: Sequence[Floats]) -> Any:
    return model.with_offsets(np.mean(tuned or [np.zeros_like(model.offsets)], 0))


def _temperature(task: Task, logits: Floats | None, model: Any) -> float:
    """The temperature of held-out scores, or without splits of the training rows."""
    if logits is None:
        rows = task.rows.spread()
        return fit_temperature(rows.logits(model), rows.labels, rows.training_weight)
    return fit_temperature(logits, task.held_out.labels, task.held_out.training_weight)
