"""The interface of learners: all train cross-entropy on every split, and some train any method from there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from metricfit._threads import single_threaded
from metricfit.decisions import cross_entropy, known_rows
from metricfit.learners._mean_model import MeanModel
from metricfit.learners._rows import MATRIX
from metricfit.learners._task import Fold, History, Task, Trained
from metricfit.methods import CROSS_ENTROPY, Method


@dataclass(frozen=True, kw_only=True)
class Learner(ABC):
    """Trains models of one kind. It holds options only; the task has the rows."""

    name: str  # in tables and files
    notes: tuple[str, ...] = ()  # decisions that the user should know of, in sentences
    reads: ClassVar[str] = MATRIX  # the form of the rows that it takes
    stops_early: ClassVar[bool] = False  # whether it needs the held-out rows of a split to stop
    steps: ClassVar[int] = 0  # of progress within one training

    @property
    def runs_in_parallel(self) -> bool:
        """Whether splits may be trained in several processes; those of a user's module have all threads instead."""
        return True

    def session(self, index: int = 0) -> AbstractContextManager[Any]:
        """The context of a fit: threads and random numbers, which depend on the index of a split."""
        return single_threaded()

    @abstractmethod
    def train(self, task: Task) -> Trained:
        """Train cross-entropy. It does not depend on the task's metric."""

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
    def fit(self, fold: Fold, method: Method, start: Any) -> Any:
        """Train a method from the model ``start``, or from scratch where it is None."""

    def with_setting(self, index: int | None) -> Self:
        """With the settings up to this one; None takes the one in the middle."""
        return self

    def train(self, task: Task) -> Trained:
        """Train every setting, and keep the one with the least held-out cross-entropy."""
        if not task.splits:
            learner = self.with_setting(None)
            return Trained(learner, learner.fit_cross_entropy(_all_rows(task))[-1])
        history = History()
        paths = task.over_splits(self, partial(_fit_path, self), CROSS_ENTROPY, history)
        settings = [task.held_out_logits(models) for models in zip(*paths, strict=True)]
        labels, weight = task.held_out.labels, task.held_out.training_weight
        losses = [cross_entropy(*known_rows(logits, labels, weight)) for logits in settings] if len(settings) > 1 else [0.0]
        best = int(np.argmin(losses))
        folds, learner = [path[best] for path in paths], self.with_setting(best)
        model = learner.fit_cross_entropy(_all_rows(task))[-1] if self.refits else MeanModel.of(folds)
        return Trained(learner, model, folds, settings[best], history)


def _fit_path(learner: MetricLearner, fold: Fold, start: Any) -> Sequence[Any]:
    return learner.fit_cross_entropy(fold)


def _all_rows(task: Task) -> Fold:
    return Fold(task.rows, task.metric, warm=task.warm)
