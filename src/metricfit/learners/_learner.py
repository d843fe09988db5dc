"""What every learner offers: it trains one method on one fold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from metricfit._progress import Progress
from metricfit._typing import Floats
from metricfit.learners._rows import TrainingRows
from metricfit.methods import Method
from metricfit.metrics import Metric

History = list[dict[str, Any]]  # one row per step of a descent or per epoch


class Model(Protocol):
    """A trained model: scores in logit units, and one offset per class for the decision."""

    @property
    def offsets(self) -> Floats: ...

    def logits(self, features: Any) -> Floats:
        """Scores (n, k) without the offsets."""

    def with_offsets(self, offsets: Floats) -> Any: ...


@dataclass(frozen=True)
class Fold:
    """What one training is given."""

    rows: TrainingRows
    metric: Metric
    held_out: TrainingRows | None = None  # for learners that stop early
    warm: Any = None  # a model of an earlier fit to go on from
    history: History | None = None  # where steps are recorded, if anywhere
    progress: Progress = field(default_factory=Progress)

    def record(self, stage: str, surrogate: float, metric: float, gradient_norm: float, width: float | None = None) -> None:
        """Add a row to the history."""
        if self.history is None:
            return
        shown = {} if width is None else {"width": width}
        row = {"step": len(self.history) + 1, "stage": stage, "surrogate": surrogate, "metric": metric}
        self.history.append({**row, **shown, "gradient_norm": gradient_norm})


class Learner(ABC):
    """Trains models of one kind. It holds options only; :mod:`metricfit.selection` has the rows."""

    refits: bool  # whether fits are cheap: candidates start from each other, and the one to keep is trained on all rows
    steps: int = 0  # of progress within one training

    @abstractmethod
    def session(self) -> AbstractContextManager[Any]:
        """What a fit runs in: threads, random numbers."""

    @abstractmethod
    def fit_cross_entropy(self, fold: Fold, tuned: bool) -> Sequence[Model]:
        """Cross-entropy, where methods start: one model per setting, for example per penalty.

        ``tuned`` says that offsets will be tuned afterwards.
        """

    @abstractmethod
    def fit(self, fold: Fold, method: Method, start: Any) -> Any:
        """Train a method from the model ``start``, or from scratch where it is None."""

    def with_setting(self, place: int | None) -> Self:
        """With the setting at this place alone; None takes the one in the middle."""
        return self

    @property
    def strength(self) -> float:
        """The inverse penalty C, for models that have one."""
        return float("nan")
