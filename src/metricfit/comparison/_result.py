"""What a comparison found: scores of every method on every split, and all that a table or a page is drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit.comparison._methods import BASELINE, CHOICE, Method
from metricfit.comparison._statistics import Estimate
from metricfit.comparison._verdict import Standing, Verdict, verdict_on
from metricfit.estimators._table import Table
from metricfit.metrics import Metric

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class HeldOut:
    """What a method says of every row when it has not seen it: (n, k) scores to decide by and calibrated probabilities."""

    scores: Floats
    probability: Floats

    @property
    def predicted(self) -> Ints:
        return self.scores.argmax(1)


@dataclass(frozen=True)
class MethodResult:
    """One method: a score per split, their mean, the difference to the baseline on the same splits, and what it cost."""

    method: Method
    scores: list[float]
    estimate: Estimate
    difference: Estimate
    p_holm: float
    seconds: float  # median over the splits
    held_out: HeldOut  # of the first repetition
    offsets: Floats  # (splits of the first repetition, k)
    temperatures: Floats
    history: Table  # of the first split
    chosen: dict[str, int]  # what was taken on how many splits

    @property
    def trained_for_metric(self) -> bool:
        """Whether it was, on most splits: a method that chooses may have chosen not to."""
        plain = sum(times for name, times in self.chosen.items() if name in ("cross_entropy", "offset"))
        return self.method.for_metric and 2 * plain < sum(self.chosen.values())


@dataclass(frozen=True)
class Comparison:
    """Printed, it is a table and a sentence; ``results`` has the rest."""

    metric: str
    measure: Metric
    classes: NDArray[Any]
    labels: Ints
    n_columns: int
    folds: int
    repeats: int
    seed: int
    results: dict[str, MethodResult]

    @property
    def verdict(self) -> Verdict:
        """Whether training for the metric is worth it here."""
        standings = [
            Standing(
                result.method.name,
                result.trained_for_metric,
                result.estimate.mean,
                result.difference,
                result.p_holm,
                is_choice=result.method.strategy == CHOICE,
                is_plain=result.method.strategy == "cross_entropy",
            )
            for result in self.results.values()
            if result.method.strategy != BASELINE
        ]
        return verdict_on(self.metric, standings, self.results[BASELINE].estimate.mean)

    @property
    def table(self) -> Table:
        """One row per method, in the order in which they were run."""
        return Table(
            {
                "method": result.method.name,
                "mean": result.estimate.mean,
                "low": result.estimate.low,
                "high": result.estimate.high,
                "difference": result.difference.mean,
                "difference_low": result.difference.low,
                "difference_high": result.difference.high,
                "p": result.difference.p,
                "p_holm": result.p_holm,
                "seconds": result.seconds,
            }
            for result in self.results.values()
        )

    def as_json(self) -> dict[str, Any]:
        """Everything but rows and curves, as plain data."""
        return {
            "metric": self.metric,
            "rows": len(self.labels),
            "columns": self.n_columns,
            "classes": {str(label): int((self.labels == place).sum()) for place, label in enumerate(self.classes)},
            "folds": self.folds,
            "repeats": self.repeats,
            "seed": self.seed,
            "baseline": self.results[BASELINE].method.name,
            "methods": [
                {**{key: _finite(value) for key, value in row.items()}, "scores": result.scores, "chosen": result.chosen}
                for row, result in zip(self.table, self.results.values(), strict=True)
            ],
            "answer": self.verdict.answer,
            "verdict": self.verdict.sentence,
        }

    def __repr__(self) -> str:
        return f"{self.table}\n\n{self.verdict.sentence}"


def _finite(value: Any) -> Any:
    """JSON knows no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
