"""What pushes the linear model towards a class, and what every model uses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from metricfit.comparison import Comparison, Result
from metricfit.report._lines import contender_colours
from metricfit.report._svg import Strip, axis, span
from metricfit.report._words import score

if TYPE_CHECKING:
    from metricfit.estimators import MetricClassifier

MAX_EFFECTS = 15
MAX_COLUMNS = 15  # of the figure and the table of importance


@dataclass(frozen=True)
class ColumnImportance:
    """What the metric loses if a column is shuffled: mean and standard deviation over the splits."""

    column: str
    mean: float
    deviation: float


@dataclass(frozen=True)
class Bar:
    """A row of a figure: a name, its class where there are several, and a number."""

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
    """Columns by their importance to one model, and the numbers of all models."""

    name: str
    rows: list[Bar]
    axis: Markup
    heads: list[str]
    table: list[tuple[str, list[ColumnImportance]]]
    n_more: int
    largest_of_more: float


def effects(comparison: Comparison) -> Effects | None:
    """The strongest effects of the linear model; None if there are none."""
    found = comparison.effects[:MAX_EFFECTS]
    if not found:
        return None
    low, high = span([0.0, *(end for one in found for end in (one.mean - one.deviation, one.mean + one.deviation))], 0.06)
    rows = []
    for one in found:
        tip = f"{one.feature}: {score(one.mean, True)} towards {one.label}, standard deviation {score(one.deviation)}"
        strip = Strip(low, high, tip)
        strip.grid(strong=0.0)
        strip.bar(0.0, one.mean, "towards" if one.mean > 0.0 else "away")
        strip.whisker(one.mean - one.deviation, one.mean + one.deviation, 6)
        rows.append(Bar(one.feature, one.label, strip.svg(), one.mean, one.deviation))
    labels = {one.label for one in found}
    only = labels.pop() if len(labels) == 1 else None
    return Effects(only, rows, axis(low, high), len(comparison.effects) - len(found))


def importance(comparison: Comparison, model: MetricClassifier | None) -> Importance | None:
    """Columns by their importance to one model: the given one, or else the choice. The table has all models."""
    explained = {result.contender.model: result for result in comparison.results.values() if result.importance is not None}
    if not explained:
        return None
    wanted = ["" if model is None else model.learner_, comparison.choice.contender.model, *explained]
    first = explained[next(name for name in wanted if name in explained)]
    others = [result for result in explained.values() if result is not first]
    by_model = [column_importances(comparison, result) for result in (first, *others)]
    order = sorted(range(len(comparison.columns)), key=lambda index: -by_model[0][index].mean)
    top, rest = order[:MAX_COLUMNS], order[MAX_COLUMNS:]
    shown = [by_model[0][index] for index in top]
    low, high = span([0.0, *(end for one in shown for end in (one.mean - one.deviation, one.mean + one.deviation))], 0.06)
    colour = contender_colours(comparison)[first.contender.name]
    return Importance(
        first.contender.name,
        _importance_rows(shown, low, high, colour),
        axis(low, high),
        [result.contender.name for result in (first, *others)],
        [(comparison.columns[index], [columns[index] for columns in by_model]) for index in top],
        len(rest),
        by_model[0][rest[0]].mean if rest else 0.0,
    )


def _importance_rows(columns: Sequence[ColumnImportance], low: float, high: float, colour: int) -> list[Bar]:
    rows = []
    for one in columns:
        tip = f"{one.column}: {score(one.mean, True)}, standard deviation {score(one.deviation)}"
        strip = Strip(low, high, tip)
        strip.grid(strong=0.0)
        strip.whisker(one.mean - one.deviation, one.mean + one.deviation, colour)
        strip.dot(one.mean, colour, radius=5.0)
        rows.append(Bar(one.column, "", strip.svg(), one.mean, one.deviation))
    return rows


def column_importances(comparison: Comparison, result: Result) -> list[ColumnImportance]:
    """Every column of the table, in its order; none if importance was not computed."""
    if result.importance is None:
        return []
    means, deviations = result.importance.mean(0), result.importance.std(0, ddof=min(1, len(result.importance) - 1))
    return [ColumnImportance(*values) for values in zip(comparison.columns, means.tolist(), deviations.tolist(), strict=True)]
