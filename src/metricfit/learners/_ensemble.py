"""An ensemble: several learners on the same splits, and a logistic head on their out-of-fold log-probabilities (stacking)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from metricfit.learners._learner import Learner, Task, Trained
from metricfit.learners._linear import LinearLearner
from metricfit.learners._models import EnsembleModel, head_inputs

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
        parts = task.held_out_parts
        everything = np.arange(len(head_rows.labels))
        splits = [(np.setdiff1d(everything, part, assume_unique=True), part) for part in parts]
        head_task = Task(head_rows, task.metric, splits, task.n_jobs)
        head = LinearLearner(HEAD_CS).train(head_task)
        forms = tuple(member.learner.reads for member in members)
        names = tuple(member.learner.name for member in members)
        model = EnsembleModel(tuple(member.model for member in members), names, forms, head.model)
        return Trained(self, model, logits=head.logits, members=tuple(members))

    def count_steps(self, task: Task) -> int:
        return sum(member.count_steps(task) for member in self.members)

    def forms(self) -> set[str]:
        return set().union(*(member.forms() for member in self.members))
