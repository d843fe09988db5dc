"""An ensemble: several learners on the same splits, and a logistic head on their out-of-fold log-probabilities (stacking)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from metricfit._typing import Ints
from metricfit.learners._learner import Learner, Task, Trained
from metricfit.learners._linear import LinearLearner
from metricfit.learners._models import EnsembleModel, head_inputs

HEAD_FOLDS = 5  # of the held-out rows of a single split
HEAD_CS = tuple(10.0**power for power in range(-3, 3))


@dataclass(frozen=True)
class EnsembleLearner(Learner):
    """Members are trained as they would be alone. The head's penalty is chosen by held-out cross-entropy."""

    members: tuple[Learner, ...]
    name: str = field(default="ensemble", kw_only=True)

    def read(self, task: Task) -> Task:
        return task  # its members read different forms

    def train(self, task: Task) -> Trained:
        members = []
        for member in self.members:
            with member.session():
                members.append(member.train(member.read(task)))
        return self.join(task, members)

    def join(self, task: Task, members: Sequence[Trained]) -> Trained:
        """The ensemble of members that were trained on the task's splits."""
        logits = [member.logits for member in members if member.logits is not None]
        head_rows = replace(task.held_out, features=head_inputs(logits))
        parts = _head_parts(task)
        everything, order = np.arange(len(head_rows.labels)), np.concatenate(parts)
        splits = [(np.setdiff1d(everything, part, assume_unique=True), part) for part in parts]
        head_task = Task(head_rows, task.metric, splits, task.n_jobs)
        head = LinearLearner(HEAD_CS).train(head_task)
        assert head.logits is not None
        out_of_fold = np.empty_like(head.logits)
        out_of_fold[order] = head.logits
        forms = tuple(member.learner.reads for member in members)
        names = tuple(member.learner.name for member in members)
        model = EnsembleModel(tuple(member.model for member in members), names, forms, head.model)
        return Trained(self, model, logits=out_of_fold, members=tuple(members))

    def count_steps(self, task: Task) -> int:
        return sum(member.count_steps(task) for member in self.members)

    def forms(self) -> set[str]:
        return set().union(*(member.forms() for member in self.members))


def _head_parts(task: Task) -> list[Ints]:
    """Parts of the held-out rows that judge the head: those of the splits, or folds of the rows of a single split."""
    if len(task.splits) > 1:
        return task.held_out_parts
    labels = task.held_out.labels
    n_folds = min(HEAD_FOLDS, int(np.sort(np.bincount(labels, minlength=2))[-2]))
    if n_folds < 2:
        raise ValueError(
            "`cv` should hold out two rows or more of at least two classes for an ensemble. Try cv=5, or pass a single model."
        )
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=task.seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        return [test for _, test in folds.split(labels, labels)]
