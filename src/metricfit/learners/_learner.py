"""The interface of learners: a task with splits goes in, a model with out-of-fold scores comes out.

All learners train cross-entropy on every split, and some train any method from there.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from metricfit._parallel import parallel, runs_here
from metricfit._progress import Progress
from metricfit._threads import single_threaded
from metricfit._typing import Floats, Ints
from metricfit.decisions import cross_entropy, known_rows
from metricfit.learners._models import MeanModel
from metricfit.learners._rows import MATRIX, TrainingRows, count_folds, most_scored_rows, spread_rows, stratified_folds
from metricfit.methods import CROSS_ENTROPY, Method
from metricfit.metrics import Metric

JUDGING_FOLDS = 5  # of the held-out rows of a single split
History = list[dict[str, Any]]  # one row per step of a descent or per epoch


@dataclass(frozen=True)
class Fold:
    """The input of one training."""

    rows: TrainingRows
    metric: Metric
    held_out: TrainingRows | None = None  # for learners that stop early
    warm: Any = None  # a model of an earlier fit to go on from
    history: History | None = None  # where steps are recorded, if anywhere
    progress: Progress = field(default_factory=Progress)
    index: int = 0  # of the split among the splits

    def record(self, stage: str, surrogate: float, metric: float, gradient_norm: float, width: float | None = None) -> None:
        """Add a row to the history."""
        if self.history is None:
            return
        shown = {} if width is None else {"width": width}
        row = {"step": len(self.history) + 1, "stage": stage, "surrogate": surrogate, "metric": metric}
        self.history.append({**row, **shown, "gradient_norm": gradient_norm})


class LeftOutError(Exception):
    """A member that an ensemble with a time limit goes on without; the message is the reason."""


class OutOfTimeError(LeftOutError):
    """A training would not end in time."""

    def __init__(self) -> None:
        super().__init__("it would not have finished in time")


@dataclass(frozen=True)
class Deadline:
    """When a training has to end, by ``time.monotonic``."""

    end: float
    begin: float = field(default_factory=lambda: time.monotonic())

    @property
    def left(self) -> float:
        """Seconds."""
        return self.end - time.monotonic()

    def check(self, done: float) -> None:
        """Give up if the rest will not end in time, at the speed of the share of the training that is ``done``."""
        if self.begin + (time.monotonic() - self.begin) / done > self.end:
            raise OutOfTimeError


@dataclass(frozen=True)
class Task:
    """The input of a fit: rows, metric and splits."""

    rows: TrainingRows
    metric: Metric
    splits: Sequence[tuple[Ints, Ints]]  # training and test rows
    n_jobs: int | None = None
    warm: Any = None  # a model of an earlier fit
    seed: int = 0
    progress: Progress = field(default_factory=Progress)
    keeps_splits: bool = False  # they are the user's and may separate groups or times, so out-of-bag scores would leak
    deadline: Deadline | None = None
    resplit: Callable[[int], Sequence[tuple[Ints, Ints]]] | None = None  # other splits by a seed, unless the user gave some

    def all_rows(self, history: History | None = None) -> Fold:
        """All rows, to train on."""
        return Fold(self.rows, self.metric, warm=self.warm, history=history)

    @cached_property
    def _sent(self) -> Task:
        """The task for other processes: always the same object, so that a cluster receives it once."""
        return replace(self, progress=Progress(), splits=(), deadline=None, resplit=None)

    @cached_property
    def test_rows(self) -> list[Ints]:
        """The test rows of each split, thinned evenly if there are very many."""
        most = most_scored_rows(self.rows.n_classes) // max(1, len(self.splits))
        return [test[spread_rows(len(test), most)] if len(test) > most else test for _, test in self.splits]

    @cached_property
    def held_out_index(self) -> Ints:
        """The test rows of all splits, one split after the other."""
        return np.concatenate(self.test_rows)

    @cached_property
    def held_out(self) -> TrainingRows:
        """The held-out rows without features, to judge out-of-fold scores."""
        return replace(self.rows, features=np.empty((len(self.rows.labels), 0))).take(self.held_out_index).in_full()

    @property
    def held_out_parts(self) -> list[Ints]:
        """The positions of each split's test rows among the held-out rows."""
        ends = np.cumsum([len(test) for test in self.test_rows])
        return np.split(np.arange(ends[-1]), ends[:-1])

    def judging_parts(self) -> list[Ints]:
        """Parts of the held-out rows, each decided by what the others say: those of the splits, or folds of a single split."""
        if len(self.splits) > 1:
            return self.held_out_parts
        labels = self.held_out.labels
        n_folds = count_folds(JUDGING_FOLDS, labels)
        return [part for _, part in stratified_folds(labels, n_folds, self.seed)] if n_folds else []

    def held_out_logits(self, models: Sequence[Any]) -> Floats:
        """The scores of the held-out rows, each by the model that has not seen it."""
        return self.held_out_paths([[model] for model in models])[0]

    def held_out_paths(self, paths: Sequence[Sequence[Any]]) -> list[Floats]:
        """The scores of the held-out rows for every setting; ``paths`` has the models of all settings, split by split."""
        parts = []
        for path, test in zip(paths, self.test_rows, strict=True):
            rows = self.rows.take(test)
            parts.append([rows.logits(model) for model in path])
        return [np.concatenate(setting) for setting in zip(*parts, strict=True)]

    def check_time(self, done: float) -> None:
        """Give up a training that would pass the deadline."""
        if self.deadline is not None:
            self.deadline.check(done)

    def steps_of(self, learner: Learner) -> int:
        """Progress steps within one training, or zero if trainings run in parallel."""
        alone = not learner.runs_in_parallel or runs_here(self.n_jobs)
        return learner.steps if alone else 0

    def over_splits(
        self,
        learner: Learner,
        fit: Callable[..., Any],
        stage: str,
        history: History | None = None,
        starts: Sequence[Any] | None = None,
    ) -> list[Any]:
        """``fit(fold)`` of every split, or ``fit(fold, start=...)``.

        Splits run in parallel unless the learner reports steps, or blocks of rows run in parallel instead.
        """
        alone = bool(self.steps_of(learner)) or self.rows.in_blocks
        given = enumerate(zip(self.splits, starts or [None] * len(self.splits), strict=True))
        items = ((learner, fit, *split, start, index) for index, (split, start) in given)
        found = parallel(_on_split, self if alone else self._sent, items, 1 if alone else self.n_jobs)
        results = []
        for result, steps in found:
            results.append(result)
            self.check_time(len(results) / len(self.splits))
            if history is not None:
                history += [{**row, "step": len(history) + index} for index, row in enumerate(steps, 1)]
            if not self.steps_of(learner):
                self.progress.step(stage, None)
        return results


def _on_split(
    task: Task, learner: Learner, fit: Callable[..., Any], train: Ints, test: Ints, start: Any, index: int
) -> tuple[Any, History]:
    """The result of one split, and its steps."""
    steps, held_out = History(), task.rows.take(test) if learner.stops_early else None
    own = (task.warm, steps, task.progress, index) if learner.steps else ()
    given = {} if start is None else {"start": start}
    with learner.session(index):
        return fit(Fold(task.rows.take(train), task.metric, held_out, *own), **given), steps


@dataclass(frozen=True)
class Trained:
    """A learner trained by cross-entropy: the model of all rows, and out-of-fold scores."""

    learner: Any  # with the setting that was chosen
    model: Any
    folds: Sequence[Any] = ()  # one model per split, where methods for the metric start
    logits: Floats | None = None  # (n, k), of the held-out rows; None without splits
    history: History = field(default_factory=History)  # of networks
    members: tuple[Trained, ...] = ()  # of an ensemble
    notes: tuple[str, ...] = ()  # what the training decided, in sentences


@dataclass(frozen=True, kw_only=True)
class Learner(ABC):
    """Trains models of one kind. It holds options only; the task has the rows."""

    name: str  # in tables and files
    notes: tuple[str, ...] = ()  # decisions that the user should know of, in sentences
    reads: ClassVar[str] = MATRIX  # the form of the rows that it takes
    stops_early: ClassVar[bool] = False  # whether it needs the held-out rows of a split to stop
    steps: ClassVar[int] = 0  # of progress within one training
    repeats: ClassVar[bool] = False  # whether other splits and another seed give another model, so that the mean is better

    @property
    def runs_in_parallel(self) -> bool:
        """Whether splits may be trained in several processes; those of a user's module have all threads instead."""
        return True

    def session(self, index: int = 0) -> AbstractContextManager[Any]:
        """The context of a fit: threads and random numbers, which depend on the index of a split."""
        return single_threaded()

    def read(self, task: Task) -> Task:
        """The task with the rows in the form that the learner takes."""
        return replace(task, rows=task.rows.in_form(self.reads))

    @abstractmethod
    def train(self, task: Task) -> Trained:
        """Train cross-entropy on a task that was :meth:`read`. It does not depend on the task's metric."""

    def count_steps(self, task: Task) -> int:
        """The steps of progress that :meth:`train` reports."""
        return (task.steps_of(self) + 1) * len(task.splits)

    def forms(self) -> set[str]:
        """The forms of rows that it takes."""
        return {self.reads}

    @property
    def C(self) -> float:  # noqa: N802 - scikit-learn's name
        """The inverse penalty C, for models that have one."""
        return float("nan")


class MetricLearner(Learner):
    """Trains every method: it goes on from cross-entropy, one fold at a time."""

    # whether fits are cheap: candidates start from each other, and the chosen one is trained on all rows.
    # Otherwise each starts at cross-entropy, and the mean of the splits' models predicts
    refits: ClassVar[bool]
    n_members: int  # how many splits a learner that does not refit is trained on

    @abstractmethod
    def fit_cross_entropy(self, fold: Fold) -> Sequence[Any]:
        """One model per setting, for example per penalty."""

    @abstractmethod
    def fit(self, fold: Fold, method: Method, start: Any = None) -> Any:
        """Train a method from the model ``start``, or from scratch where it is None."""

    def with_setting(self, index: int | None) -> Self:
        """With the settings up to this one; None takes the one in the middle."""
        return self

    def train(self, task: Task) -> Trained:
        """Train every setting, and keep the one with the least held-out cross-entropy."""
        if not task.splits:
            learner = self.with_setting(None)
            return Trained(learner, learner.fit_cross_entropy(task.all_rows())[-1])
        history = History()
        paths = task.over_splits(self, self.fit_cross_entropy, CROSS_ENTROPY, history)
        settings = task.held_out_paths(paths)
        labels, weight = task.held_out.labels, task.held_out.training_weight
        losses = [cross_entropy(*known_rows(logits, labels, weight)) for logits in settings] if len(settings) > 1 else [0.0]
        best = int(np.argmin(losses))
        folds, learner = [path[best] for path in paths], self.with_setting(best)
        model = learner.fit_cross_entropy(task.all_rows())[-1] if self.refits else MeanModel.of(folds)
        return Trained(learner, model, folds, settings[best], history)
