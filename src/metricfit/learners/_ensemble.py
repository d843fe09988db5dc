"""Ensembles: several learners on the same splits, and a logistic head on their out-of-fold log-probabilities (stacking).

With a time limit there are more members, which are trained again on other splits. ``benchmarks/time_limit.py`` has the study
behind these members and their weights.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from metricfit._typing import Floats, Ints
from metricfit.learners._learner import Deadline, Learner, LeftOutError, OutOfTimeError, Task, Trained
from metricfit.learners._linear import LinearLearner
from metricfit.learners._models import EnsembleModel, MeanModel, head_inputs, log_of_mean, mix

HEAD_CS = tuple(10.0**power for power in range(-3, 3))
RESERVE = 0.1  # of the time, for the heads, the decision and calibration
MOST_TIMES = 8  # that a member is trained
SELECTIONS = 25  # of the greedy search for weights


@dataclass(frozen=True)
class EnsembleLearner(Learner):
    """Members are trained as they would be alone. The head's penalty is chosen by held-out cross-entropy."""

    members: tuple[Learner, ...]
    name: str = field(default="ensemble", kw_only=True)

    def read(self, task: Task) -> Task:
        return task  # its members read different forms

    def train(self, task: Task) -> Trained:
        return self.join(task, [_train(member, task).result for member in self.members])

    def join(self, task: Task, members: Sequence[Trained]) -> Trained:
        """The ensemble of members that were trained on the task's splits."""
        logits = [member.logits for member in members if member.logits is not None]
        head_rows = replace(task.held_out, features=head_inputs(logits))
        if not (parts := task.judging_parts()):
            raise ValueError(
                "`cv` should hold out two rows or more of at least two classes for an ensemble. Try cv=5, or pass a single "
                "model."
            )
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


@dataclass(frozen=True)
class TimedEnsembleLearner(EnsembleLearner):
    """Trains its members one after the other, then again on other splits, until the task's deadline is near.

    A member that would not end in time is left out as a whole, and so are later ones of its kind. Two heads weigh the members,
    and the mean of both predicts: the logistic head of :class:`EnsembleLearner`, and weights by greedy selection (Caruana et
    al., 2004).
    """

    def train(self, task: Task) -> Trained:
        assert task.deadline is not None
        length = task.deadline.end - task.deadline.begin
        first, *others = self.members
        trained = [_train(first, replace(task, deadline=None))]  # whatever the time is, there is a model
        work = replace(task, deadline=Deadline(task.deadline.end - RESERVE * length))
        left_out, reasons = dict[str, LeftOutError](), dict[type[Learner], LeftOutError]()
        for learner in others:
            try:
                if type(learner) in reasons:
                    raise reasons[type(learner)]
                trained.append(_train(learner, work))
            except LeftOutError as reason:
                left_out[learner.name] = reasons[type(learner)] = reason
        if work.resplit is not None and len(task.held_out_index) == len(task.rows.labels):
            _train_again(work, trained)
        times = ", ".join(f"{one.result.learner.name} x {one.times}" for one in trained)
        notes = [f"time_limit: the members were trained on {len(task.splits)} splits each: {times}."]
        notes += [f"time_limit: {name} is left out: {reason}." for name, reason in left_out.items()]
        joined = self._join_twice(task, [one.result for one in trained])
        return replace(joined, members=(), notes=tuple(notes))  # to judge each of them would take time

    def _join_twice(self, task: Task, members: Sequence[Trained]) -> Trained:
        """The ensemble with the mean of both heads."""
        joined, held_out = self.join(task, members), task.held_out
        logits = [member.logits for member in members if member.logits is not None]
        probabilities = np.stack([np.exp(log_softmax(one, 1)) for one in logits])
        own, mixed, found = np.arange(len(held_out.labels)), np.empty_like(logits[0]), list[Floats]()
        right = probabilities[:, own, held_out.labels]
        assert joined.logits is not None
        for part in task.held_out_parts:  # weighed as the other rows choose
            others = np.delete(own, part) if len(part) < len(own) else part
            found.append(greedy_weights(right[:, others], held_out.training_weight[others]))
            mixed[part] = mix(joined.logits[part], [one[part] for one in logits], found[-1])
        return replace(joined, model=replace(joined.model, weights=np.mean(found, 0)), logits=mixed)


class _Member(NamedTuple):
    """A member that was trained so many times, and the seconds of the last time."""

    result: Trained
    seconds: float
    times: int = 1


def _train(learner: Learner, task: Task, seconds: float = 0.0) -> _Member:
    """The trained learner. Raises OutOfTimeError if it would not end before a deadline; it took so many seconds before."""
    if task.deadline is not None:
        if task.deadline.left <= seconds:
            raise OutOfTimeError
        task = replace(task, deadline=Deadline(task.deadline.end))
    begin = time.monotonic()
    with learner.session():
        return _Member(learner.train(learner.read(task)), time.monotonic() - begin)


def _train_again(task: Task, members: list[_Member]) -> None:
    """Train the members on other splits while there is time, each at most so often, and take their means."""
    assert task.resplit is not None
    for repeat in range(1, MOST_TIMES):
        again = replace(task, splits=task.resplit(repeat))
        for index, (before, seconds, times) in enumerate(members):
            if not before.learner.repeats:
                continue
            learner = replace(before.learner, seed=before.learner.seed + repeat)
            try:
                found = _train(learner, again, seconds)
            except OutOfTimeError:
                continue  # another one may be faster
            members[index] = _Member(_mean(before, times, found.result, _order(task, again)), found.seconds, times + 1)


def _order(task: Task, again: Task) -> Ints:
    """Where the held-out rows of ``task`` are among those of ``again``."""
    where = np.empty(len(task.rows.labels), np.int64)
    where[again.held_out_index] = np.arange(len(where))
    return where[task.held_out_index]


def _mean(before: Trained, times: int, found: Trained, order: Ints) -> Trained:
    """The member with one more model: the mean of their probabilities, of held-out rows too."""
    assert before.logits is not None
    assert found.logits is not None
    total = times * np.exp(log_softmax(before.logits, 1)) + np.exp(log_softmax(found.logits[order], 1))
    models = before.model.models if times > 1 else (before.model,)
    return replace(before, model=MeanModel.of([*models, found.model]), logits=log_of_mean(total, times + 1))


def greedy_weights(right: Floats, weight: Floats) -> Floats:
    """Weights of members by the probabilities (m, n) that they give the true classes: each step adds the best member.

    >>> greedy_weights(np.array([[0.9, 0.1], [0.1, 0.9], [0.2, 0.2]]), np.ones(2)).round(1)
    array([0.5, 0.5, 0. ])
    """
    total, counts = np.zeros(right.shape[1]), np.zeros(len(right))
    for step in range(1, SELECTIONS + 1):
        losses = -(np.log(np.maximum((total + right) / step, 1e-9)) @ weight)
        best = int(np.argmin(losses))
        total, counts[best] = total + right[best], counts[best] + 1.0
    return counts / counts.sum()
