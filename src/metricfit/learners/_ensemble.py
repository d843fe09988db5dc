"""An ensemble: several learners on the same splits, and a logistic head on their out-of-fold log-probabilities (stacking)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax

from metricfit._description import check
from metricfit._typing import Floats
from metricfit.learners._learner import Learner
from metricfit.learners._linear import LinearLearner
from metricfit.learners._linear_model import LinearModel
from metricfit.learners._rows import Forms
from metricfit.learners._task import Task, Trained

if TYPE_CHECKING:
    from metricfit.learners._restore import Restorer

HEAD_CS = tuple(10.0**power for power in range(-3, 3))
LEAST_LOG = float(np.log(1e-4))  # log-probability that a head reads: trees say 0 and 1 too easily


@dataclass(frozen=True)
class EnsembleLearner(Learner):
    """Members are trained as they would be alone. The head's penalty is chosen by held-out cross-entropy."""

    members: tuple[Learner, ...]
    name: str = field(default="ensemble", kw_only=True)

    def train(self, task: Task) -> Trained:
        members = []
        for member in self.members:
            with member.session():
                members.append(member.train(task.in_form(member.reads)))
        return self.join(task, members)

    def join(self, task: Task, members: Sequence[Trained]) -> Trained:
        """The ensemble of members that were trained on the task's splits."""
        logits = [member.logits for member in members if member.logits is not None]
        head_rows = replace(task.held_out, features=_head_inputs(logits))
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


@dataclass(frozen=True)
class EnsembleModel:
    """The members' models, the form of rows that each reads, and the head."""

    members: tuple[Any, ...]
    names: tuple[str, ...]
    forms: tuple[str, ...]
    head: LinearModel

    @property
    def offsets(self) -> Floats:
        return self.head.offsets

    def logits(self, features: Any) -> Floats:
        parts = zip(self.members, self.forms, strict=True)
        return self.head.logits(_head_inputs([member.logits(_in_form(features, form)) for member, form in parts]))

    def with_offsets(self, offsets: Floats) -> EnsembleModel:
        return replace(self, head=self.head.with_offsets(offsets))

    def to_plain(self) -> dict[str, Any]:
        members = [model.to_plain() for model in self.members]
        described = {"names": list(self.names), "forms": list(self.forms)}
        return {"kind": "ensemble", **described, "members": members, "head": self.head.to_plain()}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> EnsembleModel:
        names, forms, members = plain["names"], plain["forms"], plain["members"]
        check(len(names) == len(forms) == len(members), "the names of its members do not fit")
        models = [
            to.member(index, len(members), form).model(one)
            for index, (form, one) in enumerate(zip(forms, members, strict=True))
        ]
        n_scores = len(members) * (1 if to.n_classes == 2 else to.n_classes)
        head = LinearModel.from_plain(plain["head"], replace(to, n_inputs={"": n_scores}, form=""))
        return cls(tuple(models), tuple(names), tuple(forms), head)


def _in_form(features: Any, form: str) -> Any:
    return features.read(form) if isinstance(features, Forms) else features


def _head_inputs(logits: Sequence[Floats]) -> Floats:
    """What the head reads: each member's log-probabilities less their mean; for two classes one difference per member."""
    columns = []
    for scores in logits:
        log_p = np.maximum(log_softmax(scores, 1), LEAST_LOG)
        columns.append(log_p[:, 1:] - log_p[:, :1] if log_p.shape[1] == 2 else log_p - log_p.mean(1, keepdims=True))
    return np.concatenate(columns, 1)
