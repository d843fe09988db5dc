"""The result of a comparison: scores of every contender on every split, and the data for tables and figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit._table import Table
from metricfit._typing import Floats, Ints
from metricfit.comparison._contenders import LINEAR, REFERENCE, TRIVIAL, Contender
from metricfit.comparison._effects import Effect
from metricfit.comparison._outcome import HeldOutPrediction
from metricfit.comparison._statistics import Estimate
from metricfit.comparison._verdict import Place, Standing, Verdict, method_verdict, model_verdict
from metricfit.methods import BASELINE, CROSS_ENTROPY, Choice, Method
from metricfit.metrics import Metric


@dataclass(frozen=True)
class Result:
    """One contender: its score on each split, their mean, the paired differences, and the time of a fit."""

    contender: Contender
    scores: list[float]
    estimate: Estimate
    difference: Estimate  # to the reference
    p_holm: float
    behind_best: Estimate  # to the best contender
    p_behind: float  # after Holm
    seconds: float  # median over the splits
    held_out: HeldOutPrediction  # of the first repeat
    offsets: Floats  # (splits of the first repeat, k)
    temperatures: Floats
    history: Table  # of the first split
    chosen: dict[str, int]  # candidate: number of splits on which it was chosen
    importance: Floats | None = None  # (splits of the first repeat, columns)

    @property
    def method(self) -> Method | Choice:
        return self.contender.method

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
    """The results of all contenders, from simple to complex; it prints as a table and the verdict."""

    metric: str
    measure: Metric
    classes: NDArray[Any]
    labels: Ints
    columns: list[str]
    n_splits: int
    n_repeats: int
    seed: int
    results: dict[str, Result]
    notes: tuple[str, ...] = ()  # what was decided for the user, in sentences
    warnings: tuple[str, ...] = ()  # what may mislead, in sentences
    evaluation: str = ""  # how rows were held out, in words
    positive: Any = None  # the positive class, for metrics that have one
    order: tuple[str, ...] = ()  # of the classes, for metrics that depend on it
    effects: tuple[Effect, ...] = ()  # of the linear reference, the strongest first

    @property
    def reference(self) -> Result:
        """What everything is compared with: the linear model with a tuned threshold."""
        return self.results[REFERENCE]

    @property
    def best(self) -> Result:
        """The contender with the best mean; of equals the simplest."""
        return max(self.results.values(), key=lambda result: result.estimate.mean)

    @property
    def choice(self) -> Result:
        """The contender that the report shows in detail: the best one, and beside the reference never that itself."""
        others = [result for name, result in self.results.items() if name != REFERENCE and result.contender.model != TRIVIAL]
        return max(others or [self.reference], key=lambda result: result.estimate.mean)

    @property
    def verdict(self) -> Verdict:
        """Which model, and for the linear model whether training for the metric helps."""
        places = [
            Place(name, result.estimate.mean, result.difference, result.behind_best, result.p_behind, result.seconds)
            for name, result in self.results.items()
        ]
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
            if result.contender.model == LINEAR and result.method.name != BASELINE
        ]
        answer, about_method = method_verdict(self.metric, standings, self.reference.estimate.mean)
        return Verdict(answer, *model_verdict(places, REFERENCE), about_method)

    @property
    def table(self) -> Table:
        """One row per contender, from simple to complex."""
        return Table(
            {
                "model": result.contender.model,
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
        verdict = self.verdict
        return {
            "metric": self.metric,
            "rows": len(self.labels),
            "columns": len(self.columns),
            "classes": {str(label): int((self.labels == index).sum()) for index, label in enumerate(self.classes)},
            "n_splits": self.n_splits,
            "n_repeats": self.n_repeats,
            "seed": self.seed,
            "reference": REFERENCE,
            "results": [
                {
                    **{key: _finite(value) for key, value in row.items()},
                    "title": result.contender.title,
                    "scores": result.scores,
                    "chosen": result.chosen,
                    "importance": self._importance(result),
                }
                for row, result in zip(self.table, self.results.values(), strict=True)
            ],
            "notes": list(self.notes),
            "best": verdict.best,
            "simplest": verdict.simplest,
            "answer": verdict.answer,
            "verdict": verdict.sentence,
        }

    def __repr__(self) -> str:
        return "\n".join([f"{self.table}\n", *self.notes, self.verdict.sentence])

    def _importance(self, result: Result) -> dict[str, float] | None:
        if result.importance is None:
            return None
        return dict(zip(self.columns, np.mean(result.importance, 0).tolist(), strict=True))


def _finite(value: Any) -> Any:
    """None for an infinite number, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
