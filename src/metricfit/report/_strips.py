"""Figures that are also tables, with a strip in every row: differences to the reference, effects, importance, class sizes.

The main figure has the paired difference of every contender to the reference, on which the verdict rests. Scores of the same
splits rise and fall together, so that intervals of the scores overlap even where one contender is better on every split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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


def forest(comparison: Comparison) -> dict[str, Any]:
    """The main figure: the rows from simple to complex, and their common scale."""
    results, colours, words = comparison.results, contender_colours(comparison), marks(comparison)
    metric = PageWords.of(comparison)
    low, high = _scale(comparison)
    rows: list[dict[str, Any]] = []
    for name, result in results.items():
        own, colour = result.difference, colours[name]
        is_reference = result is comparison.reference
        kind = "" if is_reference else own.evidence
        hollow, outside = kind in (CHANCE, UNKNOWN), not low <= own.mean <= high
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
            strip.dot(own.mean, colour, hollow=hollow)
        rows.append(
            {
                "name": name,
                "result": result,
                "colour": colour,
                "marks": words[name],
                "evidence": kind,  # of the difference, or "" for the reference
                "words": IN_WORDS.get(kind, ""),
                "hollow": hollow,
                "strip": strip.svg(),
                "outside": outside,
                "first_of_model": not rows or rows[-1]["result"].contender.model != result.contender.model,
            }
        )
    return {
        "rows": rows,
        "axis": axis(low, high),
        "colours": _legend(comparison),
        "has_outside": any(row["outside"] for row in rows),
        "has_intervals": any(math.isfinite(row["result"].difference.high) for row in rows if row["evidence"]),
    }


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


def effects(comparison: Comparison) -> dict[str, Any] | None:
    """The strongest effects of the linear model, and the class that all of them are about, if it is one; None without any."""
    found = comparison.effects[:MAX_EFFECTS]
    if not found:
        return None
    rows, scale = _bars([(one.feature, one.label, one.mean, one.deviation) for one in found])
    labels = {one.label for one in found}
    label, n_more = labels.pop() if len(labels) == 1 else None, len(comparison.effects) - len(found)
    return {"label": label, "rows": rows, "axis": scale, "n_more": n_more}


def importance(comparison: Comparison, model: MetricClassifier | None) -> dict[str, Any] | None:
    """Columns by their importance to one model, the given one or else the choice; and a table of all models."""
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
    return {
        "name": first.contender.name,
        "rows": rows,
        "axis": scale,
        "heads": [result.contender.name for result in shown],
        "table": list(zip((row["name"] for row in rows), cells, strict=True)),
        "n_more": len(rest),
        "largest_of_more": float(means[rest[0]]) if rest else 0.0,
    }


def _bars(values: Sequence[tuple[str, str, float, float]], colour: int | None = None) -> tuple[list[dict[str, Any]], Markup]:
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
        factor = f"{math.exp(min(mean, 50.0)):.3g}"  # what an effect multiplies the odds by
        rows.append({"name": name, "label": label, "strip": strip.svg(), "mean": mean, "factor": factor})
    return rows, axis(low, high)


def column_importances(result: Result) -> tuple[Floats, Floats]:
    """What the metric loses if a column is shuffled, for every column: mean and standard deviation over the splits."""
    assert result.importance is not None
    return result.importance.mean(0), result.importance.std(0, ddof=min(1, len(result.importance) - 1))


def class_sizes(comparison: Comparison) -> list[dict[str, Any]]:
    """The classes in their order, or the largest first if there are many."""
    counts = comparison.class_counts
    many = len(counts) > MAX_CLASSES
    order = np.argsort(-counts, kind="stable") if many else np.arange(len(counts))
    sizes = []
    for index in order.tolist():
        label, share = str(comparison.classes[index]), counts[index] / counts.sum()
        strip = Strip(0.0, float(counts.max()), f"{label}: {counts[index]:,} rows, {share:.1%}")
        strip.bar(float(counts[index]), "size", 12.0)
        sizes.append({"label": label, "rows": int(counts[index]), "share": float(share), "strip": strip.svg()})
    return sizes


def open_and_folded(profile: TableProfile) -> tuple[list[ColumnProfile], list[ColumnProfile]]:
    """Columns that stand in the open, and the rest. Of a wide table: those with a note, then the first of the others."""
    if len(profile.columns) <= MAX_OPEN:
        return list(profile.columns), []
    noted = [column for column in profile.columns if column.note]
    others = [column for column in profile.columns if not column.note]
    return [*noted[:MAX_NOTED], *others[:MAX_OPEN]], [*noted[MAX_NOTED:], *others[MAX_OPEN:]]
