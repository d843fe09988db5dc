"""The input and the output of learners: a task with splits, and a model with out-of-fold scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from metricfit._parallel import parallel, runs_here
from metricfit._progress import Progress
from metricfit._typing import Floats, Ints
from metricfit.learners._rows import TrainingRows, most_scored_rows, spread_rows
from metricfit.metrics import Metric

if TYPE_CHECKING:
    from metricfit.learners._learner import Learner

History = list[dict[str, Any]]  # one row per step of a descent or per epoch


class Model(Protocol):
    """A trained model: scores in logit units, and one offset per class for the decision."""

    @property
    def offsets(self) -> Floats: ...

    def logits(self, features: Any) -> Floats:
        """Scores (n, k) without the offsets."""

    def with_offsets(self, offsets: Floats) -> Any: ...

    def to_plain(self) -> dict[str, Any]:
        """A description for files: JSON values and arrays."""


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

    @cached_property
    def _sent(self) -> Task:
        """The task for other processes: always the same object, so that a cluster receives it once."""
        return replace(self, progress=Progress(), splits=())

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

    def held_out_logits(self, models: Sequence[Any]) -> Floats:
        """The scores of the held-out rows, each by the model that has not seen it."""
        scored = zip(models, self.test_rows, strict=True)
        return np.concatenate([self.rows.take(test).logits(model) for model, test in scored])

    def in_form(self, name: str) -> Task:
        """With the rows in the form that a learner reads."""
        return replace(self, rows=self.rows.in_form(name))

    def steps_of(self, learner: Learner) -> int:
        """Progress steps within one training, or zero if trainings run in parallel."""
        alone = not learner.runs_in_parallel or runs_here(self.n_jobs)
        return learner.steps if alone else 0

    def runs_alone(self, learner: Learner) -> bool:
        """Whether splits are trained one after the other: the learner reports steps, or blocks run in parallel instead."""
        return bool(self.steps_of(learner)) or self.rows.in_blocks

    def over_splits(
        self,
        learner: Learner,
        fit: Callable[..., Any],
        stage: str,
        history: History | None = None,
        starts: Sequence[Any] | None = None,
    ) -> list[Any]:
        """``fit(fold, start)`` of every split, in parallel unless :meth:`runs_alone`."""
        alone = self.runs_alone(learner)
        given = enumerate(zip(self.splits, starts or [None] * len(self.splits), strict=True))
        items = ((learner, fit, *split, start, index) for index, (split, start) in given)
        found = parallel(_on_split, self if alone else self._sent, items, 1 if alone else self.n_jobs)
        results = []
        for result, steps in found:
            results.append(result)
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
    with learner.session(index):
        return fit(Fold(task.rows.take(train), task.metric, held_out, *own), start), steps


@dataclass(frozen=True)
class Trained:
    """A learner trained by cross-entropy: the model of all rows, and out-of-fold scores."""

    learner: Any  # with the setting that was chosen
    model: Any
    folds: Sequence[Any] = ()  # one model per split, where methods for the metric start
    logits: Floats | None = None  # (n, k), of the held-out rows; None without splits
    history: History = field(default_factory=History)  # of networks
    members: tuple[Trained, ...] = ()  # of an ensemble
