"""The result of a comparison: scores of every contender on every split, and the data for tables and figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit._table import Table
from metricfit._typing import Floats, Ints
from metricfit.comparison._contenders import CONSTANT_NAME, REFERENCE, TRIVIAL, Contender
from metricfit.comparison._features import Effect
from metricfit.comparison._limits import Kept, Limits, find_limited_verdict
from metricfit.comparison._run import HeldOutPrediction, Outcome
from metricfit.comparison._splits import Plan
from metricfit.comparison._statistics import (
    Difference,
    Estimate,
    Scores,
    bounds_of,
    differences,
    estimate_of_splits,
    estimate_of_test,
    resample_scores,
)
from metricfit.comparison._verdict import Verdict, find_verdict, highest_of, list_warnings
from metricfit.comparison._words import MetricWords, quote
from metricfit.decisions import hard_confusion
from metricfit.methods import Choice, Method
from metricfit.metrics import Metric

NOT_COMPARED = Difference(0.0, -math.inf, math.inf, 1.0)


@dataclass(frozen=True)
class Result:
    """One contender: its score on each split, their mean, the paired differences, and the time of a fit.

    Intervals of differences are corrected for the number of comparisons, as p-values after Holm are: an interval excludes
    zero exactly if its p-value is below 0.05. With too few scores estimates have no interval (``estimate.known`` is false),
    and p-values are 1.
    """

    contender: Contender
    scores: list[float]
    estimate: Estimate
    difference: Difference  # to the reference
    behind_best: Difference  # to the best contender
    above_constant: Difference  # to the constant answer; that of the reference is planned, and needs no correction
    seconds: float  # median over the splits
    held_out: HeldOutPrediction  # of the first repeat
    offsets: Floats  # (splits of the first repeat, k)
    temperatures: Floats
    history: Table  # of the first split
    chosen: dict[str, int]  # candidate: number of splits on which it was chosen
    importance: Floats | None = None  # (splits of the first repeat, columns)
    above_subject: Difference = NOT_COMPARED  # to the subject of the comparison, if there is one
    kept: Kept | None = None  # with limits

    @property
    def method(self) -> Method | Choice:
        return self.contender.method

    @property
    def is_able(self) -> bool:
        """Whether it can keep the limits on most splits; false without limits."""
        return self.kept is not None and self.kept.is_usual

    @property
    def trained_for_metric(self) -> bool:
        """Whether the method, or its choice on most splits, trains for the metric."""
        if isinstance(self.method, Method):
            return self.method.trains_metric
        for_metric = {candidate.name for candidate in self.method.candidates if candidate.trains_metric}
        plain = sum(times for name, times in self.chosen.items() if name not in for_metric)
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
    evaluation: str  # how rows were held out, in words
    results: dict[str, Result]
    statistics: Scores  # of all contenders, for intervals of further differences
    notes: tuple[str, ...] = ()  # what was decided for the user, in sentences
    warnings: tuple[str, ...] = ()  # what may mislead, in sentences
    positive: Any = None  # the positive class, for metrics that have one
    order: tuple[str, ...] = ()  # of the classes, for metrics that depend on it
    effects: tuple[Effect, ...] = ()  # of the linear reference, the strongest first
    is_test_set: bool = False  # whether the held-out rows are a test set; then intervals are from a bootstrap over its rows
    margin: float = 0.01  # a contender within this distance of the best is close to it; in units of the metric
    subject: str | None = None  # the contender that the comparison is about, as the model of ``metricfit fit``
    limits: Limits | None = None  # that decisions have to keep

    def about(self, name: str) -> Comparison:
        """The comparison seen from one contender, which is fitted: the verdict and the report are about it."""
        if name not in self.results:
            raise ValueError(f"`name` should be a contender, one of {', '.join(map(repr, self.results))}; got {name!r}.")
        found = differences(self.statistics, list(self.results), name)
        results = {one: replace(result, above_subject=found[one]) for one, result in self.results.items()}
        comparison = replace(self, subject=name, results=results)
        return replace(comparison, warnings=list_warnings(comparison))

    @cached_property
    def metric_words(self) -> MetricWords:
        return MetricWords(self.metric, self.measure)

    @property
    def reference(self) -> Result:
        """What everything is compared with: the linear model with a tuned threshold."""
        return self.results[REFERENCE]

    @property
    def best(self) -> Result:
        """The contender with the best mean; of equals the simplest."""
        return highest_of(list(self.results.values()))

    @property
    def models(self) -> list[Result]:
        """All contenders except for the constant answer, from simple to complex."""
        return [result for result in self.results.values() if result.contender.model != TRIVIAL]

    @cached_property
    def main(self) -> Result:
        """The contender that the headline is about: the subject, or else the recommended model, or else the best model."""
        name = self.verdict.recommended if self.subject is None else self.subject
        return highest_of(self.models) if name is None or name == CONSTANT_NAME else self.results[name]

    @cached_property
    def choice(self) -> Result:
        """The contender that the report shows in detail: the main one, or the next best where that is the reference."""
        if self.subject is not None or self.main is not self.reference:
            return self.main
        others = [result for result in self.models if result is not self.reference]
        return highest_of(others or [self.reference])

    def confusion(self, result: Result) -> Floats:
        """The confusion matrix (k, k) of the held-out rows, whose rows are true classes."""
        return hard_confusion(result.held_out.predicted, self.labels, np.ones(len(self.labels)), len(self.classes))

    @property
    def positive_index(self) -> int | None:
        """The index of the positive class of two; None for metrics that have none."""
        if self.positive is None or len(self.classes) != 2:
            return None
        return self.classes.tolist().index(self.positive)

    @property
    def constant_name(self) -> str:
        """The key of the constant answer in ``results``."""
        return CONSTANT_NAME

    @property
    def constant(self) -> Result:
        return self.results[CONSTANT_NAME]

    @property
    def constant_answer(self) -> Any:
        """The label that the constant answer gives, on most splits."""
        chosen = self.constant.chosen
        return self.classes.tolist()[int(max(chosen, key=lambda index: chosen[index]))]

    @property
    def constant_title(self) -> str:
        """The constant answer in words: "always 'good'"; "mostly 'good'" if it is not the same on all splits."""
        return f"{'always' if len(self.constant.chosen) == 1 else 'mostly'} {quote(self.constant_answer)}"

    @cached_property
    def verdict(self) -> Verdict:
        """Which contender to use, and for the linear model whether training for the metric helps."""
        return find_verdict(self) if self.limits is None else find_limited_verdict(self, self.limits)

    @property
    def constant_in_words(self) -> str:
        """The constant answer as something to do: "always answering 'good'"."""
        one = len(self.constant.chosen) == 1
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
                    **_behind_best(result),
                    "title": result.contender.title,
                    "scores": result.scores,
                    "chosen": self._chosen(result),
                    "importance": self._importance(result),
                    **({} if result.kept is None else result.kept.as_json()),
                }
                for row, result in zip(self.table, self.results.values(), strict=True)
            ],
            **({} if self.limits is None else {"limits": self.limits.as_json(self.metric_words)}),
            "effects": [asdict(effect) for effect in self.effects],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "best": verdict.best,
            "recommended": verdict.recommended,
            "subject": self.subject,
            "margin": self.margin,
            "status": verdict.status,
            "headline": verdict.headline,
            "answer": verdict.answer,
            "verdict": verdict.sentence,
        }

    def to_frame(self) -> Any:
        """``table`` as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("`to_frame` needs pandas: pip install pandas. `table` is a list of dictionaries.") from error
        return pd.DataFrame(self.table)

    def _repr_html_(self) -> str:
        """The verdict and the table, for notebooks."""
        verdict = "<br>".join(map(escape, self.verdict.sentence.split("\n")))
        said = "".join(f"<p>{escape(line)}</p>" for line in (*self.notes, *(f"Warning: {one}" for one in self.warnings)))
        return f"<p><b>{escape(self.verdict.headline)}</b></p><p>{verdict}</p>{self._printed()._repr_html_()}{said}"

    def _printed(self) -> Table:
        return Table({key: "-" if value is None else value for key, value in row.items()} for row in self.table)

    def __repr__(self) -> str:
        warnings = (f"Warning: {line}" for line in self.warnings)
        return "\n".join([f"{self._printed()}\n", *self.notes, *warnings, self.verdict.sentence])

    def _chosen(self, result: Result) -> dict[str, int]:
        """How often each candidate was chosen; of the constant answer how often each label was."""
        if result.contender.model != TRIVIAL:
            return result.chosen
        return {str(self.classes[int(index)]): times for index, times in result.chosen.items()}

    def _importance(self, result: Result) -> dict[str, float] | None:
        if result.importance is None:
            return None
        return dict(zip(self.columns, np.mean(result.importance, 0).tolist(), strict=True))


def _behind_best(result: Result) -> dict[str, float | None]:
    """The difference to the best contender, for JSON."""
    own = result.behind_best
    ends = {"behind_best": _finite(own.mean), "behind_best_low": _finite(own.low), "behind_best_high": _finite(own.high)}
    return {**ends, "p_behind": own.p_holm if own.known else None}


def _row(result: Result) -> dict[str, Any]:
    own, other = result.estimate, result.difference
    return {
        "model": result.contender.model,
        "method": result.method.name,
        "mean": _finite(own.mean),
        "low": _finite(own.low),
        "high": _finite(own.high),
        **({} if result.kept is None else result.kept.row()),
        "difference": _finite(other.mean),
        "difference_low": _finite(other.low),
        "difference_high": _finite(other.high),
        "p": other.p if other.known else None,
        "p_holm": other.p_holm if other.known else None,
        "seconds": result.seconds,
    }


def _finite(value: float) -> float | None:
    """None for a number that is not known, which JSON does not have."""
    return value if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """A label as JSON has it."""
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def collect_results(
    runs: Sequence[Mapping[str, Outcome]],
    plan: Plan,
    contenders: Sequence[Contender],
    statistics: Scores,
    limits: Limits | None,
    labels: Ints,
) -> dict[str, Result]:
    """The results of all contenders. ``runs`` has the outcomes of every split; limits are judged by ``labels``."""
    names = [one.name for one in contenders]
    scores = {name: [run[name].score for run in runs] for name in names}
    best = max(names, key=lambda name: float(np.mean(scores[name])))  # of equals the simplest
    against, behind = differences(statistics, names, REFERENCE), differences(statistics, names, best)
    above = differences(statistics, names, CONSTANT_NAME, planned=REFERENCE)
    results = {}
    for one in contenders:
        name, outcomes = one.name, [run[one.name] for run in runs]
        first_repeat = outcomes[: plan.n_splits]
        columns = [outcome.importance for outcome in first_repeat if outcome.importance is not None]
        results[name] = Result(
            contender=one,
            scores=scores[name],
            estimate=statistics.estimate(name),
            difference=against[name],
            behind_best=behind[name],
            above_constant=above[name],
            seconds=float(np.median([outcome.seconds for outcome in outcomes])),
            held_out=HeldOutPrediction(
                _join_rows(plan, [outcome.held_out.scores for outcome in first_repeat]),
                _join_rows(plan, [outcome.held_out.probability for outcome in first_repeat]),
            ),
            offsets=np.stack([outcome.offsets for outcome in first_repeat]),
            temperatures=np.array([outcome.temperature for outcome in first_repeat]),
            history=outcomes[0].history,
            chosen=dict(Counter(outcome.chosen for outcome in outcomes)),
            importance=np.stack(columns) if columns else None,
            kept=None if limits is None else _kept(limits, plan, outcomes, labels),
        )
    return results


def _kept(limits: Limits, plan: Plan, outcomes: Sequence[Outcome], labels: Ints) -> Kept:
    """How a contender kept the limits. Rows of the first repeat give the interval, because later repeats have them again."""
    first = zip(outcomes[: plan.n_splits], plan.splits[: plan.n_splits], strict=True)
    decided = [(labels[test], one.held_out.predicted) for one, (_, test) in first if not one.refusal]
    empty = np.empty(0, np.int64)
    return Kept(
        tuple(None if one.refusal else all(check["kept"] for check in one.checks) for one in outcomes),
        tuple(one.refusal for one in outcomes),
        limits.check(*map(np.concatenate, zip((empty, empty), *decided, strict=True))),
    )


def score_statistics(
    runs: Sequence[Mapping[str, Outcome]], plan: Plan, measure: Metric, labels: Ints, n_classes: int, seed: int
) -> Scores:
    """Statistics over splits, or over the rows of a test set. Test rows are rows of ``labels``."""
    bounds = bounds_of(measure)
    if not plan.is_test_set:
        scores = {name: np.array([run[name].score for run in runs]) for name in runs[0]}
        return Scores(scores, partial(estimate_of_splits, test_share=plan.test_share), bounds)
    predicted = {name: one.held_out.predicted for name, one in runs[0].items()}
    resampled = resample_scores(measure, predicted, labels, n_classes, seed)
    for name, one in runs[0].items():
        if one.refusal:  # it decides nothing, whatever the rows
            resampled[name] = np.full_like(resampled[name], one.score)
    scores = {name: np.append(one.score, resampled[name]) for name, one in runs[0].items()}
    return Scores(scores, partial(estimate_of_test, n_rows=len(labels)), bounds)


def _join_rows(plan: Plan, parts: Sequence[Floats]) -> Floats:
    """The test rows of the first repeat, in the order of the table."""
    order = np.argsort(np.concatenate([test for _, test in plan.splits[: plan.n_splits]]), kind="stable")
    return np.concatenate(parts)[order]
