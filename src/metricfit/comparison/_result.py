"""What a comparison found: scores of every method on every split, and all that a table or a page is drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit._table import Table
from metricfit.comparison._statistics import Estimate
from metricfit.comparison._verdict import Standing, Verdict, verdict_on
from metricfit.methods import BASELINE, CROSS_ENTROPY, Choice, Method
from metricfit.metrics import Metric

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class HeldOutPrediction:
    """What a method says of every row when it has not seen it: (n, k) scores to decide by and calibrated probabilities."""

    scores: Floats
    probability: Floats

    @property
    def predicted(self) -> Ints:
        return self.scores.argmax(1)


@dataclass(frozen=True)
class MethodResult:
    """One method: a score per split, their mean, the difference to the baseline on the same splits, and what it cost."""

    method: Method | Choice
    scores: list[float]
    estimate: Estimate
    difference: Estimate
    p_holm: float
    seconds: float  # median over the splits
    held_out: HeldOutPrediction  # of the first repetition
    offsets: Floats  # (splits of the first repetition, k)
    temperatures: Floats
    history: Table  # of the first split
    chosen: dict[str, int]  # what was taken on how many splits

    @property
    def trained_for_metric(self) -> bool:
        """Whether it was, on most splits: a method that chooses may have chosen not to."""
        if isinstance(self.method, Method):
            return self.method.trains_metric
        candidates = ((self.method.candidate(name), times) for name, times in self.chosen.items())
        plain = sum(times for candidate, times in candidates if candidate is None or not candidate.trains_metric)
        return 2 * plain < sum(self.chosen.values())


@dataclass(frozen=True)
class Comparison:
    """Printed, it is a table and a sentence; ``results`` has the rest."""

    metric: str
    measure: Metric
    classes: NDArray[Any]
    labels: Ints
    n_columns: int
    n_splits: int
    n_repeats: int
    seed: int
    results: dict[str, MethodResult]

    @property
    def verdict(self) -> Verdict:
        """Whether training for the metric is worth it here."""
        standings = [
            Standing(
                result.method.title,
                result.trained_for_metric,
                result.estimate.mean,
                result.difference,
                result.p_holm,
                is_choice=isinstance(result.method, Choice),
                is_plain=result.method.name == CROSS_ENTROPY,
            )
            for result in self.results.values()
            if result.method.name != BASELINE
        ]
        return verdict_on(self.metric, standings, self.results[BASELINE].estimate.mean)

    @property
    def choice(self) -> MethodResult:
        """The method to look at closely: one that chooses by itself, or else the best of those compared with the baseline."""
        choosing = [result for result in self.results.values() if isinstance(result.method, Choice)]
        others = [result for name, result in self.results.items() if name != BASELINE]
        return (choosing or sorted(others, key=lambda result: -result.estimate.mean) or [self.results[BASELINE]])[0]

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
            "n_splits": self.n_splits,
            "n_repeats": self.n_repeats,
            "seed": self.seed,
            "baseline": BASELINE,
            "methods": [
                {
                    **{key: _finite(value) for key, value in row.items()},
                    "title": result.method.title,
                    "scores": result.scores,
                    "chosen": result.chosen,
                }
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
