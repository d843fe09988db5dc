"""The result of a comparison: scores of every method on every split, and the data for tables and figures."""

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
    """Out-of-fold predictions of a method: scores (n, k), whose argmax is the label, and calibrated probabilities (n, k)."""

    scores: Floats
    probability: Floats

    @property
    def predicted(self) -> Ints:
        return self.scores.argmax(1)


@dataclass(frozen=True)
class MethodResult:
    """One method: its score on each split, their mean, the paired difference to the baseline, and the time of a fit."""

    method: Method | Choice
    scores: list[float]
    estimate: Estimate
    difference: Estimate
    p_holm: float
    seconds: float  # median over the splits
    held_out: HeldOutPrediction  # of the first repeat
    offsets: Floats  # (splits of the first repeat, k)
    temperatures: Floats
    history: Table  # of the first split
    chosen: dict[str, int]  # candidate: number of splits on which it was chosen

    @property
    def trained_for_metric(self) -> bool:
        """Whether the method, or its choice on most splits, trains for the metric."""
        if isinstance(self.method, Method):
            return self.method.trains_metric
        candidates = ((self.method.candidate(name), times) for name, times in self.chosen.items())
        plain = sum(times for candidate, times in candidates if candidate is None or not candidate.trains_metric)
        return 2 * plain < sum(self.chosen.values())


@dataclass(frozen=True)
class Comparison:
    """The results of all methods; it prints as a table and the verdict."""

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
        """Whether training for the metric helps on these data."""
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
        """The method that the report shows in detail: the automatic choice, or else the best one except the baseline."""
        choosing = [result for result in self.results.values() if isinstance(result.method, Choice)]
        others = [result for name, result in self.results.items() if name != BASELINE]
        return (choosing or sorted(others, key=lambda result: -result.estimate.mean) or [self.results[BASELINE]])[0]

    @property
    def table(self) -> Table:
        """One row per method, in the order of the runs."""
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
        """Everything except rows and curves, as plain data."""
        return {
            "metric": self.metric,
            "rows": len(self.labels),
            "columns": self.n_columns,
            "classes": {str(label): int((self.labels == index).sum()) for index, label in enumerate(self.classes)},
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
    """None for an infinite number, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
