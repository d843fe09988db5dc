"""What every learner offers, and the task that it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metricfit._progress import Progress
from metricfit.learners._rows import Floats, Ints, TrainingRows
from metricfit.methods import Method
from metricfit.metrics import Metric

Split = tuple[Ints, Ints]  # training and test rows
History = list[dict[str, Any]]  # one row per step of a descent or per epoch


class Model(Protocol):
    """A trained model: scores in logit units, and one offset per class for the decision."""

    @property
    def offsets(self) -> Floats: ...

    def logits(self, features: Any) -> Floats:
        """Scores (n, k) without the offsets."""

    def with_offsets(self, offsets: Floats) -> Model: ...


@dataclass(frozen=True)
class Task:
    """What a fit is given: rows, the metric, and which rows each split holds out."""

    rows: TrainingRows
    metric: Metric
    splits: Sequence[Split]
    n_jobs: int | None = None
    progress: Progress = field(default_factory=Progress)

    @cached_property
    def held_out(self) -> TrainingRows:
        """The test rows of all splits, one split after the other."""
        return self.rows.take(np.concatenate([test for _, test in self.splits]))

    def held_out_logits(self, models: Sequence[Model]) -> Floats:
        """The scores of the held-out rows, each by the model that has not seen it."""
        scored = zip(models, self.splits, strict=True)
        return np.concatenate([model.logits(self.rows.features[test]) for model, (_, test) in scored])


@dataclass(frozen=True)
class Start:
    """Models of cross-entropy, where methods start: one per split, and the one of all rows."""

    folds: list[Any]
    final: Any
    strength: float = float("nan")  # the inverse penalty C, for models that have one


class Learner(ABC):
    """Trains models of one kind on the splits of one task."""

    refits: bool  # whether the model that is kept is trained again on all rows
    chains: bool  # whether a candidate may start from another candidate, because a fit is cheap
    shares_start: bool  # whether several methods may start from the same models
    steps: int  # of progress, per training

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def session(self) -> AbstractContextManager[Any]:
        """What a whole fit runs in: threads, random numbers."""

    @abstractmethod
    def needs_start(self, method: Method) -> bool:
        """Whether the method starts from a trained model."""

    @abstractmethod
    def fit_start(self, tuned: bool, history: History) -> Start:
        """Train for cross-entropy; ``tuned`` says that offsets will be tuned afterwards."""

    @abstractmethod
    def fit_folds(self, method: Method, start: Sequence[Any] | None, history: History) -> list[Any]:
        """Train the method on the training rows of every split."""

    def fit_final(self, method: Method, start: Any, history: History) -> Any:
        """Train the method on all rows; only learners that refit can."""
        raise NotImplementedError(f"{type(self).__name__} keeps the model of its split.")

    @abstractmethod
    def tunes_offsets(self, method: Method) -> bool:
        """Whether the offsets of the method's models are tuned on held-out rows, which then cannot judge them."""

    @abstractmethod
    def offset_parts(self) -> list[NDArray[np.int64]]:
        """Parts of the held-out rows: each is judged with offsets that were tuned on the others."""


def add_step(
    history: History, stage: str, surrogate: float, metric: float, gradient_norm: float, width: float | None = None
) -> None:
    """One more row of a history: a step of a descent, or an epoch."""
    shown = {} if width is None else {"width": width}
    row = {"step": len(history) + 1, "stage": stage, "surrogate": surrogate, "metric": metric}
    history.append({**row, **shown, "gradient_norm": gradient_norm})
