"""Fit one method, or several of which one is chosen, over shards: the recipe of :mod:`metricfit.selection` for linear models.

Models of all folds, and the one of all rows, are trained side by side, so that a pass over the rows serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from metricfit._typing import Floats, Ints
from metricfit.decisions import metric_values
from metricfit.learners import History, LinearModel
from metricfit.learners._descent import descend
from metricfit.methods import BASELINE, CROSS_ENTROPY, SCRATCH, Choice, Method
from metricfit.metrics import Metric
from metricfit.selection import Fitted
from metricfit.shards._cross_entropy import CrossEntropyPath
from metricfit.shards._objective import ShardObjective, is_sum_of_rows
from metricfit.shards._questions import ALL_ROWS, Answers
from metricfit.shards._rows import Batch, Passes
from metricfit.shards._scores import EveryScorer, HeldOutLoss, HeldOutScorer, Scorer, Scratch
from metricfit.shards._together import Ask, solve_together

Models = dict[int, LinearModel]  # by fold


@dataclass
class Recipe:
    """``support[f]`` are the rows of every class outside of fold f, and the last entry those of all rows."""

    passes: Passes
    scratch: Scratch
    metric: Metric
    class_weight: Floats
    support: Ints
    n_features: int
    strengths: Sequence[float]
    seed: int = 0  # of random weights
    strength: float = float("nan")
    history: History = field(default_factory=History)

    @property
    def folds(self) -> list[int]:
        return list(range(len(self.support) - 1))

    def fit(self, method: Method | Choice) -> Fitted:
        if isinstance(method, Choice) and not self.folds:  # no rows to choose by
            method = method.candidate(BASELINE) or method.candidates[0]
        candidates = method.candidates if isinstance(method, Choice) else (method,)
        for one in candidates:
            if not is_sum_of_rows(one, len(self.class_weight)):
                raise ValueError(
                    f"`method` {one.name!r} is not trained on several files: it is no sum over rows here. "
                    "Pass method='auto', 'direct', 'threshold' or 'cross_entropy'."
                )
        models = self._train_cross_entropy(any(one.loss != CROSS_ENTROPY for one in candidates))
        return self._choose(method, models) if isinstance(method, Choice) else self._fit_one(method, models)

    def _fit_one(self, method: Method, models: Models) -> Fitted:
        """One method without a guard."""
        plain = method.loss == CROSS_ENTROPY
        model = (models if plain else self._descend(method, models, [ALL_ROWS]))[ALL_ROWS]
        held_out = CROSS_ENTROPY if self.folds and plain else ""
        if method.offsets == "none":
            model = model.with_offsets(np.zeros_like(model.offsets))
        elif method.offsets == "tuned":
            model = self._with_tuned_offsets(model, held_out)
        temperature = self.scratch.fit_temperature(held_out or self._score(model), self.class_weight)
        return Fitted(model, method, self.strength, temperature, [], self.history)

    def _choose(self, choice: Choice, models: Models) -> Fitted:
        """The candidate that the guard trusts."""
        tried: dict[str, Models] = {}
        decisions: dict[str, tuple[str, Floats]] = {}  # file of held-out scores, offsets by fold
        tuned: dict[str, Floats] = {}
        for method in choice.candidates:
            if method.loss == CROSS_ENTROPY:
                tried[method.name], file = models, CROSS_ENTROPY
            else:
                start = tried.get(method.start, models)
                tried[method.name], file = self._descend(method, start, [*self.folds, ALL_ROWS]), method.name
                held_out = self.passes.each(HeldOutScorer([tried[method.name][fold] for fold in self.folds]), method.title)
                self.scratch.write([file], held_out)
            if method.offsets == "tuned":
                tuned[method.name] = self._tune(file)
                decisions[method.name] = file, tuned[method.name]
            else:
                trained = np.stack([tried[method.name][fold].offsets for fold in self.folds])
                decisions[method.name] = file, trained * (method.offsets != "none")
        guard, predictions = self.scratch.guard(decisions, self.metric)
        chosen, reasons = guard.choose(predictions)
        winner = next(method for method in choice.candidates if method.name == chosen)
        model = tried[chosen][ALL_ROWS]
        if winner.offsets in ("none", "tuned"):
            model = model.with_offsets(
                np.mean(tuned[chosen], 0) if winner.offsets == "tuned" else np.zeros_like(model.offsets)
            )
        self.history[:] = self._history_of(winner, choice)
        temperature = self.scratch.fit_temperature(decisions[chosen][0], self.class_weight)
        return Fitted(model, winner, self.strength, temperature, guard.table(predictions, reasons), self.history)

    def _train_cross_entropy(self, all_scores: bool) -> Models:
        """Models of the inverse penalty with the least held-out cross-entropy, and files of their scores."""
        strengths = self.strengths if self.folds else self.strengths[len(self.strengths) // 2 :][:1]
        solvers = [
            CrossEntropyPath(fold, self.class_weight, self._weight(fold), self.n_features, strengths)
            for fold in [*self.folds, ALL_ROWS]
        ]
        paths = solve_together(solvers, self._answer("cross-entropy"))
        best = 0
        if len(strengths) > 1:
            settings = list(zip(*paths[:-1], strict=True))
            best = int(np.argmin(self.passes.total(HeldOutLoss(settings, self.class_weight), "held-out cross-entropy")))
        self.strength = strengths[best]
        models = {fold: path[best] for fold, path in zip([*self.folds, ALL_ROWS], paths, strict=True)}
        names, scorer = self._scorer(models, all_scores)
        self.scratch.write(names, self.passes.each(scorer, "scores"))
        return models

    def _scorer(self, models: Models, all_scores: bool) -> tuple[list[str], Callable[[Batch], Floats]]:
        """Files of scores, and what computes them."""
        if not self.folds:
            return [_file(ALL_ROWS)], Scorer([models[ALL_ROWS]])
        if all_scores:
            return [*map(_file, models), CROSS_ENTROPY], EveryScorer(list(models.values()), len(self.folds))
        return [CROSS_ENTROPY], HeldOutScorer([models[fold] for fold in self.folds])

    def _descend(self, method: Method, start: Models, folds: Sequence[int]) -> Models:
        """The method trained from the models ``start``. At cross-entropy, offsets start at the best of the training rows."""
        if method.start == SCRATCH:
            start = dict.fromkeys(folds, LinearModel.random(self.n_features, len(self.class_weight), self.seed))
        elif method.start == CROSS_ENTROPY and method.offsets == "trained":
            start = {
                fold: start[fold].with_offsets(self.scratch.fit_offsets(_file(fold), self.metric, fold)) for fold in folds
            }
        solvers = [partial(self._solve, method, start[fold], fold) for fold in folds]
        return dict(zip(folds, solve_together(solvers, self._answer(method.title)), strict=True))

    def _solve(self, method: Method, model: LinearModel, fold: int, ask: Ask) -> LinearModel:
        penalty = 1.0 / (self.strength * self._weight(fold)) * (method.leak or 1.0)
        own = float(method.smoothing_for(len(self.class_weight)).width)
        for width in method.widths or (own,):
            support = self.support[fold].astype(np.float64)
            objective = ShardObjective(ask, fold, method, self.metric, self.class_weight, support, width)
            record = partial(self._record, method, objective) if fold == ALL_ROWS else None
            model = descend(objective, penalty, model, record, trains_offsets=method.offsets == "trained")
        return model

    def _record(
        self, method: Method, objective: ShardObjective, model: LinearModel, surrogate: float, gradient_norm: float
    ) -> None:
        stage = f"leak {method.leak:g}" if method.leak else f"width {objective.width:g}"
        value = float(metric_values(self.metric, objective.decided))
        row: dict[str, Any] = {"step": len(self.history) + 1, "stage": stage, "surrogate": surrogate, "metric": value}
        self.history.append({**row, "width": objective.width, "gradient_norm": gradient_norm})

    def _history_of(self, winner: Method, choice: Choice) -> History:
        """The steps of the methods on the way to the winner alone; the others were trained to be compared."""
        by_name, path = {method.name: method for method in choice.candidates}, [winner]
        while path[0].start in by_name and path[0].start != CROSS_ENTROPY:
            path.insert(0, by_name[path[0].start])
        stages = {f"leak {method.leak:g}" for method in path if method.loss != CROSS_ENTROPY}
        kept = [row for row in self.history if row["stage"] in stages]
        return [{**row, "step": step} for step, row in enumerate(kept, 1)]

    def _with_tuned_offsets(self, model: LinearModel, held_out: str) -> LinearModel:
        """The mean of the offsets of all folds; without folds those of the training rows."""
        if held_out:
            return model.with_offsets(np.mean(self._tune(held_out), 0))
        return model.with_offsets(self.scratch.fit_offsets(self._score(model), self.metric, ALL_ROWS))

    def _tune(self, file: str) -> Floats:
        """For every fold the offsets that do best on the held-out scores of the others, (f, k)."""
        return np.stack([self.scratch.fit_offsets(file, self.metric, fold) for fold in self.folds])

    def _score(self, model: LinearModel) -> str:
        """A file with the scores of all rows by a model that was trained on them."""
        self.scratch.write([_file(ALL_ROWS)], self.passes.each(Scorer([model]), "scores"))
        return _file(ALL_ROWS)

    def _weight(self, fold: int) -> float:
        return float(self.class_weight @ self.support[fold])

    def _answer(self, stage: str) -> Callable[[list[Any]], list[Any]]:
        return lambda questions: self.passes.total(Answers(questions), stage)


def _file(fold: int) -> str:
    return "all" if fold == ALL_ROWS else f"fold-{fold}"
