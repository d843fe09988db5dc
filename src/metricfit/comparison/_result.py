"""The result of a comparison: scores of every contender on every split, and the data for tables and figures."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit._table import Table
from metricfit._typing import Floats, Ints
from metricfit.comparison._contenders import CONSTANT_NAME, LINEAR, REFERENCE, TRIVIAL, Contender
from metricfit.comparison._effects import Effect
from metricfit.comparison._hint import describe_hint
from metricfit.comparison._outcome import HeldOutPrediction
from metricfit.comparison._statistics import Estimate
from metricfit.comparison._verdict import (
    Place,
    Standing,
    Verdict,
    method_verdict,
    model_verdict,
    nothing_beats_constant,
    too_few_rows,
    too_few_scores,
)
from metricfit.comparison._words import quote
from metricfit.methods import BASELINE, CROSS_ENTROPY, Choice, Method
from metricfit.metrics import Metric


@dataclass(frozen=True)
class Result:
    """One contender: its score on each split, their mean, the paired differences, and the time of a fit.

    With too few scores estimates have no interval (``estimate.known`` is false), and p-values are 1.
    """

    contender: Contender
    scores: list[float]
    estimate: Estimate
    difference: Estimate  # to the reference
    p_holm: float
    behind_best: Estimate  # to the best contender
    p_behind: float  # after Holm
    above_constant: Estimate  # to the constant answer
    p_above: float  # after Holm; that of the reference, which is planned, as it is
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
    labels: Ints  # of the held-out rows of the first repeat, in the order of ``held_out`` of the results
    n_rows: int  # of the table; without the rows of a test set
    class_counts: Ints  # (k,), of these rows
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
    is_test_set: bool = False  # whether the held-out rows are a test set; then intervals are from a bootstrap over its rows

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
    def constant_name(self) -> str:
        """The key of the constant answer in ``results``."""
        return CONSTANT_NAME

    @property
    def constant_answer(self) -> Any:
        """The label that the constant answer gives, on most splits; None if it was not compared."""
        if CONSTANT_NAME not in self.results:
            return None
        chosen = self.results[CONSTANT_NAME].chosen
        return self.classes.tolist()[int(max(chosen, key=lambda place: chosen[place]))]

    @property
    def constant_title(self) -> str:
        """The constant answer in words: "always 'good'"; "mostly 'good'" if it is not the same on all splits."""
        chosen = self.results[CONSTANT_NAME].chosen
        return f"{'always' if len(chosen) == 1 else 'mostly'} {quote(self.constant_answer)}"

    @property
    def verdict(self) -> Verdict:
        """Which model, and for the linear model whether training for the metric helps."""
        places = [_place(result) for result in self.results.values()]
        if not self.reference.estimate.known:
            if self.is_test_set:
                return too_few_rows(len(self.labels), places, REFERENCE)
            return too_few_scores(len(self.reference.scores), places, REFERENCE)
        nothing = nothing_beats_constant(places, self._constant_in_words())
        if nothing is not None:
            return nothing
        linear = [one for one in self.results.values() if one.contender.model == LINEAR and one.method.name != BASELINE]
        answer, about_method = method_verdict(self.metric, [_standing(one) for one in linear], self.reference.estimate.mean)
        return Verdict(answer, *model_verdict(places, REFERENCE), about_method)

    @property
    def hint(self) -> str:
        """What a study of other tables says about a table like this one; empty if it says nothing, or without a verdict."""
        return "" if self.verdict.about_method == "" else describe_hint(self)

    def _constant_in_words(self) -> str:
        if CONSTANT_NAME not in self.results:
            return ""
        one = len(self.results[CONSTANT_NAME].chosen) == 1
        return f"always answering {'' if one else 'one class, mostly '}{quote(self.constant_answer)}"

    @property
    def table(self) -> Table:
        """One row per contender, from simple to complex; None stands for intervals and p-values that are not known."""
        return Table(_row(result) for result in self.results.values())

    def as_json(self) -> dict[str, Any]:
        """Everything except rows and curves, as plain data."""
        verdict = self.verdict
        return {
            "metric": self.metric,
            "rows": self.n_rows,
            "columns": len(self.columns),
            "classes": {str(label): int(count) for label, count in zip(self.classes, self.class_counts, strict=True)},
            "positive": _plain(self.positive),
            "order": list(self.order),
            "evaluation": self.evaluation,
            "n_splits": self.n_splits,
            "n_repeats": self.n_repeats,
            "seed": self.seed,
            "reference": REFERENCE,
            "constant_answer": _plain(self.constant_answer),
            "results": [
                {
                    **row,
                    "title": result.contender.title,
                    "scores": result.scores,
                    "chosen": self._chosen(result),
                    "importance": self._importance(result),
                }
                for row, result in zip(self.table, self.results.values(), strict=True)
            ],
            "effects": [asdict(effect) for effect in self.effects],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "best": verdict.best,
            "simplest": verdict.simplest,
            "answer": verdict.answer,
            "verdict": verdict.sentence,
            "hint": self.hint,
        }

    def __repr__(self) -> str:
        table = Table({key: "-" if value is None else value for key, value in row.items()} for row in self.table)
        warnings = (f"Warning: {line}" for line in self.warnings)
        return "\n".join([f"{table}\n", *self.notes, *warnings, *filter(None, [self.verdict.sentence, self.hint])])

    def _chosen(self, result: Result) -> dict[str, int]:
        """How often each candidate was chosen; of the constant answer how often each label was."""
        if result.contender.model != TRIVIAL:
            return result.chosen
        return {str(self.classes[int(place)]): times for place, times in result.chosen.items()}

    def _importance(self, result: Result) -> dict[str, float] | None:
        if result.importance is None:
            return None
        return dict(zip(self.columns, np.mean(result.importance, 0).tolist(), strict=True))


def _place(result: Result) -> Place:
    return Place(
        result.contender.name,
        result.estimate.mean,
        result.seconds,
        result.difference,
        result.p_holm,
        result.behind_best,
        result.p_behind,
        result.above_constant,
        result.p_above,
        is_constant=result.contender.model == TRIVIAL,
    )


def _standing(result: Result) -> Standing:
    return Standing(
        result.method.title,
        result.trained_for_metric,
        result.estimate.mean,
        result.difference,
        result.p_holm,
        is_choice=isinstance(result.method, Choice),
        is_plain=result.method.name == CROSS_ENTROPY,
    )


def _row(result: Result) -> dict[str, Any]:
    own, other = result.estimate, result.difference
    return {
        "model": result.contender.model,
        "method": result.method.name,
        "mean": _finite(own.mean),
        "low": _finite(own.low),
        "high": _finite(own.high),
        "difference": _finite(other.mean),
        "difference_low": _finite(other.low),
        "difference_high": _finite(other.high),
        "p": other.p if other.known else None,
        "p_holm": result.p_holm if other.known else None,
        "seconds": result.seconds,
    }


def _finite(value: float) -> float | None:
    """None for a number that is not known, which JSON does not have."""
    return value if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """A label as JSON has it."""
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
