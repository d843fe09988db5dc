"""Two classes: precision and recall at every threshold, and what a review of the most probable cases finds.

All from held-out rows. A case is flagged where the calibrated probability of the class is at least the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from metricfit._printable import shorten
from metricfit._typing import Floats, Ints
from metricfit.comparison import Comparison, Result
from metricfit.decisions import binomial_interval, hard_confusion, metric_values
from metricfit.report._confusion import base_of
from metricfit.report._figures import Legend, chosen_threshold
from metricfit.report._svg import Chart
from metricfit.report._words import Line, class_of_interest, compared_lines, rows

Bools = NDArray[np.bool_]

PLAIN = 0.5  # what a classifier without a tuned threshold uses
# fmt: off
LADDER = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
# fmt: on
NOTABLE = 0.03  # of the positives or of all rows: thresholds that change less are left out
MOST_POINTS = 300  # of a curve
MAX_LETTERS = 30  # of a class in a figure
REVIEWED = (0.05, 0.1, 0.2, 0.5)  # shares of all rows, in the description of the figure


@dataclass(frozen=True)
class Ranking:
    """Rows by falling probability: at each distinct probability how many are flagged, and how many of these are positive."""

    flagged: Ints
    found: Ints

    @property
    def precision(self) -> Floats:
        return self.found / self.flagged

    @property
    def recall(self) -> Floats:
        return self.found / self.found[-1]

    @property
    def share(self) -> Floats:
        """Of all rows: how many are flagged."""
        return self.flagged / self.flagged[-1]

    def thinned(self) -> Ranking:
        """At most ``MOST_POINTS`` points, evenly along the rows and the positives."""
        if len(self.flagged) <= MOST_POINTS:
            return self
        steps = np.linspace(0.0, 1.0, MOST_POINTS // 2)
        kept = np.unique(np.concatenate([np.searchsorted(self.share, steps), np.searchsorted(self.recall, steps)]))
        return Ranking(self.flagged[kept], self.found[kept])


def rank(probability: Floats, positive: Bools) -> Ranking:
    """
    >>> rank(np.array([0.9, 0.2, 0.7, 0.7]), np.array([True, False, True, False]))
    Ranking(flagged=array([1, 3, 4]), found=array([1, 2, 2]))
    """
    order = np.argsort(-probability, kind="stable")
    last_of_equals = np.flatnonzero(np.diff(probability[order], append=-np.inf))
    return Ranking(last_of_equals + 1, positive[order].cumsum()[last_of_equals])


@dataclass(frozen=True)
class OperatingPoint:
    """What one threshold does to the held-out rows."""

    threshold: float
    flagged: int
    found: int
    n_rows: int
    n_positive: int
    score: float  # the metric
    is_chosen: bool = False

    @property
    def precision(self) -> float | None:
        return self.found / self.flagged if self.flagged else None

    @property
    def recall(self) -> float:
        return self.found / self.n_positive

    @property
    def share(self) -> float:
        return self.flagged / self.n_rows

    @property
    def lift(self) -> float | None:
        """How many times as many positives as among as many rows at random."""
        return None if self.precision is None else self.precision * self.n_rows / self.n_positive

    @property
    def precision_interval(self) -> tuple[Any, Any] | None:
        return binomial_interval(self.found, self.flagged) if self.flagged else None

    @property
    def recall_interval(self) -> tuple[Any, Any]:
        return binomial_interval(self.found, self.n_positive)


def chosen_point(comparison: Comparison, result: Result, label: int) -> OperatingPoint:
    """What the contender decided. Every fold has its own threshold; the mean of them is given."""
    return _point(comparison, result.held_out.predicted == label, label, chosen_threshold(result, label), is_chosen=True)


def point_at(comparison: Comparison, result: Result, label: int, threshold: float) -> OperatingPoint:
    """What another threshold would have done."""
    return _point(comparison, result.held_out.probability[:, label] >= threshold, label, threshold)


def _point(comparison: Comparison, flagged: Bools, label: int, threshold: float, is_chosen: bool = False) -> OperatingPoint:
    positive, n_rows = comparison.labels == label, len(comparison.labels)
    matrix = hard_confusion(np.where(flagged, label, 1 - label), comparison.labels, np.ones(n_rows), 2)
    score = float(metric_values(comparison.measure, matrix))
    found = int((flagged & positive).sum())
    return OperatingPoint(threshold, int(flagged.sum()), found, n_rows, int(positive.sum()), score, is_chosen)


def threshold_rows(comparison: Comparison, result: Result, label: int) -> list[OperatingPoint]:
    """The table of thresholds: round ones that make a difference, one half, and the chosen one."""
    rows: list[OperatingPoint] = []
    for threshold in LADDER:
        one = point_at(comparison, result, label, threshold)
        if threshold == PLAIN or (0 < one.flagged < one.n_rows and (not rows or _differ(one, rows[-1]))):
            rows.append(one)
    return sorted([*rows, chosen_point(comparison, result, label)], key=lambda one: one.threshold)


def _differ(one: OperatingPoint, other: OperatingPoint) -> bool:
    return max(abs(one.share - other.share), abs(one.recall - other.recall)) >= NOTABLE


@dataclass(frozen=True)
class OperatingPoints:
    """One contender's ranking of the held-out rows by the probability of a class, and points on it."""

    result: Result
    label: str
    ranking: Ranking
    chosen: OperatingPoint
    plain: OperatingPoint
    rows: list[OperatingPoint]


def operating_points(comparison: Comparison, result: Result) -> OperatingPoints | None:
    """None for more than two classes, or if the held-out rows are all of one class."""
    label = class_of_interest(comparison)
    positive = comparison.labels == label
    if len(comparison.classes) != 2 or positive.all() or not positive.any():
        return None
    return OperatingPoints(
        result,
        str(comparison.classes[label]),
        rank(result.held_out.probability[:, label], positive),
        chosen_point(comparison, result, label),
        point_at(comparison, result, label, PLAIN),
        threshold_rows(comparison, result, label),
    )


def review(comparison: Comparison) -> dict[str, Any] | None:
    """Points and figures of the contender that the headline is about; another has a line too. None for more classes."""
    lines = sorted(compared_lines(comparison), key=lambda line: line.result is comparison.main)  # it is drawn last, on top
    drawn = [(line, found) for line in lines if (found := operating_points(comparison, line.result)) is not None]
    if not drawn:
        return None
    choice, about = drawn[-1]
    base = base_of([about.chosen.n_positive, about.chosen.n_rows - about.chosen.n_positive])
    legend: Legend = [(line.colour, False, f"{line.name}: as it decides") for line, _ in drawn]
    legend.append((choice.colour, True, f"{choice.name}, at 0.5"))
    return {
        "name": choice.name,
        "about": about,
        "base": base,
        "precision_recall": _precision_recall(drawn),
        "gains": _gains(drawn, base),
        "legend": legend,
    }


def _precision_recall(drawn: list[tuple[Line, OperatingPoints]]) -> Markup:
    choice, about = drawn[-1]
    chosen, plain, label = about.chosen, about.plain, shorten(about.label, MAX_LETTERS)
    chart = Chart(
        f"Precision by recall of {label}",
        x=(0.0, 1.0),
        y=(0.0, 1.0),
        x_label=f"recall: share of “{label}” found",
        y_label="precision",
        description=f"{choice.name}: {_in_words(chosen)}; with a threshold of one half {_in_words(plain)}.",
    )
    rate = chosen.n_positive / chosen.n_rows
    chart.segment((0.0, rate), (1.0, rate), "grid strong")
    for line, found in drawn:
        ranking = found.ranking.thinned()
        chart.line(ranking.recall.tolist(), ranking.precision.tolist(), line.colour)
    if chosen.precision is not None and chosen.precision_interval is not None:
        chart.cross(chosen.recall, chosen.precision, chosen.recall_interval, chosen.precision_interval, choice.colour)
    points = [(choice, plain, True), *((line, found.chosen, False) for line, found in drawn)]
    for line, point, hollow in points:
        if point.precision is not None:
            tip = f"{line.name}, threshold {point.threshold:.3f}: {_in_words(point)}"
            chart.point(point.recall, point.precision, line.colour, tip, hollow=hollow)
    return chart.svg()


def _gains(drawn: list[tuple[Line, OperatingPoints]], base: int) -> Markup:
    choice, about = drawn[-1]
    label, recall = shorten(about.label, MAX_LETTERS), about.ranking.recall
    found_at = [(share, float(recall[about.ranking.share <= share].max(initial=0.0))) for share in REVIEWED]
    steps = ", ".join(f"{found:.0%} of them in the first {rows(base * share)}" for share, found in found_at)
    chart = Chart(
        f"Share of {label} found by the number of cases reviewed",
        x=(0.0, float(base)),
        y=(0.0, 1.0),
        x_label=f"cases reviewed of {base:,}, the most probable first",
        y_label=f"share of “{label}” found",
        description=f"{choice.name} finds {steps} of {base:,} cases.",
    )
    chart.segment((0.0, 0.0), (float(base), 1.0), "grid strong")
    for line, found in drawn:
        ranking = found.ranking.thinned()
        chart.line([0.0, *(base * ranking.share).tolist()], [0.0, *ranking.recall.tolist()], line.colour)
    for line, point, hollow in [(choice, about.plain, True), *((line, found.chosen, False) for line, found in drawn)]:
        tip = f"{line.name}, threshold {point.threshold:.3f}: {rows(base * point.share)} reviewed, {point.recall:.1%} found"
        chart.point(base * point.share, point.recall, line.colour, tip, hollow=hollow)
    return chart.svg()


def _in_words(point: OperatingPoint) -> str:
    precision = "nothing is flagged" if point.precision is None else f"precision {point.precision:.3f}"
    return f"{precision}, recall {point.recall:.3f}"
