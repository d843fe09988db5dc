"""Two figures for whoever sets the threshold: precision by recall, and what a review of the most probable cases finds."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from metricfit.comparison import Comparison
from metricfit.report._figures import Legend
from metricfit.report._gain import base_of
from metricfit.report._operating import Operating, OperatingPoint, operating
from metricfit.report._shown import Shown, choice_line, reference_line
from metricfit.report._svg import Chart
from metricfit.report._words import rows, shorten

MAX_LETTERS = 30  # of a class in a figure
REVIEWED = (0.05, 0.1, 0.2, 0.5)  # shares of all rows, in the description of the figure


@dataclass(frozen=True)
class Review:
    """Points and figures of the contender that the headline is about; another has a line too. Counts are per ``base``."""

    name: str
    about: Operating
    base: int
    precision_recall: Markup
    gains: Markup
    legend: Legend


def review(comparison: Comparison) -> Review | None:
    """None for more than two classes."""
    both = {line.name: line for line in (reference_line(comparison), choice_line(comparison))}.values()
    lines = sorted(both, key=lambda line: line.result is comparison.main)  # it is drawn last, on top
    drawn = [(line, found) for line in lines if (found := operating(comparison, line.result)) is not None]
    if not drawn:
        return None
    choice, about = drawn[-1]
    base = base_of([about.chosen.n_positive, about.chosen.n_rows - about.chosen.n_positive])
    legend: Legend = [(line.colour, False, f"{line.name}: as it decides") for line, _ in drawn]
    legend.append((choice.colour, True, f"{choice.name}, at 0.5"))
    return Review(choice.name, about, base, _precision_recall(drawn), _gains(drawn, base), legend)


def _precision_recall(drawn: list[tuple[Shown, Operating]]) -> Markup:
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
            chart.point(point.recall, point.precision, line.colour, tip, 6.0, hollow)
    return chart.svg()


def _gains(drawn: list[tuple[Shown, Operating]], base: int) -> Markup:
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
        chart.point(base * point.share, point.recall, line.colour, tip, 6.0, hollow)
    return chart.svg()


def _in_words(point: OperatingPoint) -> str:
    precision = "nothing is flagged" if point.precision is None else f"precision {point.precision:.3f}"
    return f"{precision}, recall {point.recall:.3f}"
