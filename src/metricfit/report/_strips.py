"""Figures that are also tables, with a strip in every row: differences to the reference, effects, importance, class sizes.

The main figure has the paired difference of every contender to the reference, on which the verdict rests. Scores of the same
splits rise and fall together, so that intervals of the scores overlap even where one contender is better on every split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from metricfit._typing import Floats
from metricfit.comparison import BETTER, CHANCE, TRIVIAL, UNKNOWN, WORSE, Comparison, Result
from metricfit.report._svg import Strip, axis, span
from metricfit.report._words import PageWords, contender_colours, interval, marks, model_colours, score

if TYPE_CHECKING:
    from metricfit.estimators import MetricClassifier
    from metricfit.profile import ColumnProfile, TableProfile  # which reads files, as a page need not

STRETCH = 4.0  # a contender that would stretch the scale of the others more than this lies outside it
IN_WORDS = {BETTER: "better", WORSE: "worse", CHANCE: "may be chance", UNKNOWN: "not tested"}
MAX_EFFECTS = 15
MAX_COLUMNS = 15  # of the figure and the table of importance
MAX_OPEN = 30  # columns without a note
MAX_NOTED = 60
MAX_FOLDED = 500  # of the rest; the others are only counted
MAX_CLASSES = 12


@dataclass(frozen=True)
class Row:
    """One contender of the figure."""

    name: str
    result: Result
    colour: int
    marks: list[str]
    evidence: str  # of the difference, or "" for the reference
    words: str  # the same in words
    strip: Markup
    outside: bool
    first_of_model: bool

    @property
    def hollow(self) -> bool:
        """Whether a difference is not shown."""
        return self.evidence in (CHANCE, UNKNOWN)


@dataclass(frozen=True)
class Forest:
    """The rows from simple to complex, and their common scale."""

    rows: list[Row]
    axis: Markup
    colours: dict[str, int]
    has_outside: bool
    has_intervals: bool


def forest(comparison: Comparison) -> Forest:
    results, colours, words = comparison.results, contender_colours(comparison), marks(comparison)
    metric = PageWords.of(comparison)
    low, high = _scale(comparison)
    rows: list[Row] = []
    for name, result in results.items():
        own, colour = result.difference, colours[name]
        is_reference = result is comparison.reference
        kind = "" if is_reference else own.evidence
        outside = not low <= own.mean <= high
        about = f"{name}: {metric.score(result.estimate.mean)}"
        tip = f"{about}; {metric.difference} {score(own.mean, True)}, {interval(own.low, own.high, True)}"
        strip = Strip(low, high, f"{about}, the reference" if is_reference else tip)
        strip.grid()
        if outside:
            strip.beyond(colour, right=own.mean > high)
            strip.words(
                "95%" if own.mean > high else "5%", "outside the scale", "tick label end" if own.mean > high else "tick label"
            )
        else:
            if math.isfinite(own.low) and math.isfinite(own.high) and not is_reference:
                strip.whisker(own.low, own.high, colour)
            strip.dot(own.mean, colour, hollow=kind in (CHANCE, UNKNOWN))
        new = not rows or rows[-1].result.contender.model != result.contender.model
        rows.append(Row(name, result, colour, words[name], kind, IN_WORDS.get(kind, ""), strip.svg(), outside, new))
    has_intervals = any(math.isfinite(row.result.difference.high) for row in rows if row.evidence)
    return Forest(rows, axis(low, high), _legend(comparison), any(row.outside for row in rows), has_intervals)


def _legend(comparison: Comparison) -> dict[str, int]:
    """The models and their colours, and the contender whose colour differs from that of its model."""
    by_model = model_colours(comparison)
    own = {
        name: colour
        for name, colour in contender_colours(comparison).items()
        if colour != by_model[comparison.results[name].contender.model]
    }
    return by_model | own


def _scale(comparison: Comparison) -> tuple[float, float]:
    """From the lowest to the highest end of an interval, and zero.

    The constant answer does not count, nor do contenders that are far from the nearer half.
    """
    results = [result for result in comparison.results.values() if result.contender.model != TRIVIAL]
    near = sorted(results, key=lambda result: abs(result.difference.mean))
    for count in range(len(near) // 2 + 1, len(near)):
        if abs(near[count].difference.mean) > STRETCH * _reach(near[:count]):
            near = near[:count]
            break
    return span([0.0, *_ends(near)], 0.06)


def _ends(results: Sequence[Result]) -> list[float]:
    ends = [end for result in results for end in (result.difference.low, result.difference.mean, result.difference.high)]
    return [end for end in ends if math.isfinite(end)]


def _reach(results: Sequence[Result]) -> float:
    return max(abs(end) for end in [0.0, *_ends(results)])


@dataclass(frozen=True)
class Bar:
    """A row of a figure: a feature or a column, its class where there are several, mean and deviation over the splits."""

    name: str
    label: str
    strip: Markup
    mean: float
    deviation: float

    @property
    def factor(self) -> str:
        """What an effect multiplies the odds by."""
        return f"{math.exp(min(self.mean, 50.0)):.3g}"


@dataclass(frozen=True)
class Effects:
    """The strongest effects; ``label`` is the class of all, or None."""

    label: str | None
    rows: list[Bar]
    axis: Markup
    n_more: int


@dataclass(frozen=True)
class Importance:
    """Columns by their importance to one model, and a row of "mean ± deviation" for each column, a cell for every model."""

    name: str
    rows: list[Bar]
    axis: Markup
    heads: list[str]
    table: list[tuple[str, list[str]]]
    n_more: int
    largest_of_more: float


def effects(comparison: Comparison) -> Effects | None:
    """The strongest effects of the linear model; None if there are none."""
    found = comparison.effects[:MAX_EFFECTS]
    if not found:
        return None
    rows, scale = _bars([(one.feature, one.label, one.mean, one.deviation) for one in found])
    labels = {one.label for one in found}
    only = labels.pop() if len(labels) == 1 else None
    return Effects(only, rows, scale, len(comparison.effects) - len(found))


def importance(comparison: Comparison, model: MetricClassifier | None) -> Importance | None:
    """Columns by their importance to one model: the given one, or else the choice. The table has all models."""
    explained = {result.contender.model: result for result in comparison.results.values() if result.importance is not None}
    if not explained:
        return None
    wanted = ["" if model is None else model.learner_, comparison.choice.contender.model, *explained]
    first = explained[next(name for name in wanted if name in explained)]
    shown = [first, *(result for result in explained.values() if result is not first)]
    by_model = [column_importances(result) for result in shown]
    means, deviations = by_model[0]
    order = np.argsort(-means, kind="stable").tolist()
    top, rest = order[:MAX_COLUMNS], order[MAX_COLUMNS:]
    columns = [(comparison.columns[index], "", float(means[index]), float(deviations[index])) for index in top]
    rows, scale = _bars(columns, contender_colours(comparison)[first.contender.name])
    cells = [[f"{score(mean[index], True)} ± {score(spread[index])}" for mean, spread in by_model] for index in top]
    return Importance(
        first.contender.name,
        rows,
        scale,
        [result.contender.name for result in shown],
        list(zip((row.name for row in rows), cells, strict=True)),
        len(rest),
        float(means[rest[0]]) if rest else 0.0,
    )


def _bars(values: Sequence[tuple[str, str, float, float]], colour: int | None = None) -> tuple[list[Bar], Markup]:
    """Rows of name, class, mean and deviation, and their scale: dots in a colour, or bars towards a class or away from it."""
    ends = [end for _, _, mean, deviation in values for end in (mean - deviation, mean + deviation)]
    low, high = span([0.0, *ends], 0.06)
    rows = []
    for name, label, mean, deviation in values:
        towards = f" towards {label}" if label else ""
        strip = Strip(low, high, f"{name}: {score(mean, True)}{towards}, standard deviation {score(deviation)}")
        strip.grid()
        if colour is None:
            strip.bar(mean, "towards" if mean > 0.0 else "away")
        strip.whisker(mean - deviation, mean + deviation, 6 if colour is None else colour)
        if colour is not None:
            strip.dot(mean, colour, radius=5.0)
        rows.append(Bar(name, label, strip.svg(), mean, deviation))
    return rows, axis(low, high)


def column_importances(result: Result) -> tuple[Floats, Floats]:
    """What the metric loses if a column is shuffled, for every column: mean and standard deviation over the splits."""
    assert result.importance is not None
    return result.importance.mean(0), result.importance.std(0, ddof=min(1, len(result.importance) - 1))


@dataclass(frozen=True)
class ClassSize:
    label: str
    rows: int
    share: float
    strip: Markup


def class_sizes(comparison: Comparison) -> list[ClassSize]:
    """The classes in their order, or the largest first if there are many."""
    counts = comparison.class_counts
    many = len(counts) > MAX_CLASSES
    order = np.argsort(-counts, kind="stable") if many else np.arange(len(counts))
    sizes = []
    for index in order.tolist():
        label, share = str(comparison.classes[index]), counts[index] / counts.sum()
        strip = Strip(0.0, float(counts.max()), f"{label}: {counts[index]:,} rows, {share:.1%}")
        strip.bar(float(counts[index]), "size", 12.0)
        sizes.append(ClassSize(label, int(counts[index]), float(share), strip.svg()))
    return sizes


def open_and_folded(profile: TableProfile) -> tuple[list[ColumnProfile], list[ColumnProfile]]:
    """Columns that stand in the open, and the rest. Of a wide table: those with a note, then the first of the others."""
    if len(profile.columns) <= MAX_OPEN:
        return list(profile.columns), []
    noted = [column for column in profile.columns if column.note]
    others = [column for column in profile.columns if not column.note]
    return [*noted[:MAX_NOTED], *others[:MAX_OPEN]], [*noted[MAX_NOTED:], *others[MAX_OPEN:]]
