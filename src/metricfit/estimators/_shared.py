"""Several models, methods and metrics on the same rows: every model is trained once, and what can be shared is."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from metricfit.estimators._classifier import MetricClassifier
from metricfit.learners import EnsembleLearner, History, Learner, Task, TimedEnsembleLearner, Trained
from metricfit.methods import MethodLike
from metricfit.metrics import Metric, MetricLike, Resolved
from metricfit.selection import Fitted, fit_method, starts_at_cross_entropy


@dataclass(frozen=True)
class FitSpec:
    """What to fit: options of ``MetricClassifier``."""

    model: Any
    method: MethodLike
    metric: MetricLike | Resolved
    time_limit: float | None = None


class _Training(NamedTuple):
    """A learner that was trained by cross-entropy, its seconds, and the metric in its history."""

    trained: Trained
    seconds: float
    metric: Metric


class SharedFits:
    """Fits of a classifier to the same rows. Preprocessing is shared, and so are models trained by cross-entropy.

    ``specs`` are those to come: preprocessing is fitted once, for the forms of the table that their models read.
    """

    def __init__(self, classifier: MetricClassifier, X: Any, y: Any, specs: Iterable[FitSpec]) -> None:  # noqa: N803
        begin = time.monotonic()
        self._classifier, self._trainings = classifier, dict[tuple[Learner, int, int], _Training]()
        self._table = classifier._read(X, y, None)
        self._parts = classifier._parts(self._table)
        forms = set[str]().union(*(self._prepare(spec)[1].forms() for spec in specs))
        self._rows = list(classifier._fit_forms(self._table, self._parts, forms))
        self._reading = time.monotonic() - begin

    def fit(self, spec: FitSpec) -> tuple[MetricClassifier, float]:
        """The fitted classifier, and the seconds that it would take alone."""
        (one, learner), fitted, before = self._prepare(spec), list[Fitted](), 0.0
        method, begin = one._method(), time.monotonic()
        for index, (part, rows) in enumerate(zip(self._parts, self._rows, strict=True)):
            task, shared = one._task(self._table.take(part), learner, rows), None
            task = replace(task, deadline=one._deadline(begin - self._reading, len(self._parts) - index))
            if starts_at_cross_entropy(learner, method):
                start = time.monotonic()
                shared, seconds, metric = self._train(task, learner, index)
                before += seconds - (time.monotonic() - start)
                shared = shared if metric is task.metric else replace(shared, history=History())  # that is of another metric
            fitted.append(fit_method(task, learner, method, shared))
        one._keep_parts(fitted, learner, self._table, self._parts)
        return one, self._reading + before + time.monotonic() - begin

    def _prepare(self, spec: FitSpec) -> tuple[MetricClassifier, Learner]:
        options = {field.name: getattr(spec, field.name) for field in fields(spec)}
        one = copy.copy(self._classifier).set_params(**options)
        one._find_metric(self._table.labels, self._table.order)
        return one, one._learner(self._table, self._parts)

    def _train(self, task: Task, learner: Learner, part: int) -> _Training:
        """The learner trained by cross-entropy; the seconds of its members are counted in.

        A network alone has other splits than one in an ensemble. In one table, as many splits are the same splits.
        """
        known = learner, len(task.splits), part
        if known in self._trainings:
            return self._trainings[known]
        before, members = 0.0, list[Trained]()
        if isinstance(learner, EnsembleLearner) and not isinstance(learner, TimedEnsembleLearner):  # that one is on the clock
            for member in learner.members:
                trained, seconds, _ = self._train(task, member, part)
                members.append(trained)
                before += seconds
        begin = time.monotonic()
        with learner.session():
            if isinstance(learner, EnsembleLearner) and members:
                trained = learner.join(task, members)
            else:
                trained = learner.train(learner.read(task))
        self._trainings[known] = _Training(trained, before + time.monotonic() - begin, task.metric)
        return self._trainings[known]
