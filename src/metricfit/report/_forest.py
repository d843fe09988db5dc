"""The main figure: the paired difference of every contender to the reference, with its interval.

The verdict rests on these differences. Scores of the same splits rise and fall together, so that intervals of the scores
overlap even where one contender is better on every split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from metricfit.comparison import BETTER, CHANCE, TRIVIAL, UNKNOWN, WORSE, Comparison, Result
from metricfit.report._lines import contender_colours, marks, model_colours
from metricfit.report._svg import Strip, axis, span
from metricfit.report._words import MetricWords, interval, score

STRETCH = 4.0  # a contender that would stretch the scale of the others more than this lies outside it
IN_WORDS = {BETTER: "better", WORSE: "worse", CHANCE: "may be chance", UNKNOWN: "not tested"}


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
    metric = MetricWords.of(comparison)
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
        strip.grid(strong=0.0)
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
