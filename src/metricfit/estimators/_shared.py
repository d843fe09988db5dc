"""Several models, methods and metrics on the same rows: every model is trained once, and what can be shared is."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from typing import Any

from metricfit.estimators._classifier import MetricClassifier
from metricfit.learners import EnsembleLearner, Learner, MetricLearner, Task, Trained
from metricfit.methods import MethodLike
from metricfit.metrics import MetricLike
from metricfit.metrics._resolve import Resolved
from metricfit.selection import fit_method


@dataclass(frozen=True)
class Wanted:
    """What to fit: options of ``MetricClassifier``."""

    model: Any
    method: MethodLike
    metric: MetricLike | Resolved


@dataclass
class SharedFits:
    """Fits of a classifier to the same rows. Preprocessing is shared, and so are models trained by cross-entropy."""

    classifier: MetricClassifier
    data: Any
    y: Any
    wanted: list[Wanted]
    _trained: dict[Learner, tuple[Trained, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        begin = time.perf_counter()
        self._table = self.classifier._read(self.data, self.y, None)
        forms = set[str]().union(*(self._with(wanted)[1].forms() for wanted in self.wanted))
        self._rows = self.classifier._fit_forms(self._table, forms)
        self._reading = time.perf_counter() - begin

    def fit(self, wanted: Wanted) -> tuple[MetricClassifier, float]:
        """The fitted classifier, and the seconds that it would take alone."""
        one, learner = self._with(wanted)
        task = one._task(self._table, learner, self._rows)
        shared, seconds = self._train(task, learner) if _is_shared(learner) else (None, 0.0)
        begin = time.perf_counter()
        one._keep(fit_method(task, learner, one._method(), shared), learner)
        return one, self._reading + seconds + time.perf_counter() - begin

    def _with(self, wanted: Wanted) -> tuple[MetricClassifier, Learner]:
        one = copy.copy(self.classifier).set_params(model=wanted.model, method=wanted.method, metric=wanted.metric)
        one._find_metric(self._table)
        return one, one._learner(self._table)

    def _train(self, task: Task, learner: Learner) -> tuple[Trained, float]:
        """The learner trained by cross-entropy, and its seconds; those of its members are counted in."""
        if learner in self._trained:
            return self._trained[learner]
        before, members = 0.0, list[Trained]()
        if isinstance(learner, EnsembleLearner):
            for member in learner.members:
                trained, seconds = self._train(task, member)
                members.append(trained)
                before += seconds
        begin = time.perf_counter()
        with learner.session():
            if isinstance(learner, EnsembleLearner):
                trained = learner.join(task, members)
            else:
                trained = learner.train(task.in_form(learner.reads))
        self._trained[learner] = trained, before + time.perf_counter() - begin
        return self._trained[learner]


def _is_shared(learner: Learner) -> bool:
    """Whether training does not depend on metric and method: that of networks stops by the metric."""
    members = learner.members if isinstance(learner, EnsembleLearner) else (learner,)
    return all(not isinstance(member, MetricLearner) or member.refits for member in members)
