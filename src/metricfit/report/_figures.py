"""The figures of the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from metricfit.comparison import Comparison
from metricfit.comparison._contenders import TRIVIAL
from metricfit.report import _curves as curves
from metricfit.report._shown import choice_line, marks, model_colours, plain_line, reference_line
from metricfit.report._svg import TOP, Chart, span

MAX_LINES = 8  # classes in the offset figure
ROW_HEIGHT = 36  # of a contender or a column: a name and below it a whisker
MAX_LETTERS = 44  # of a name in a figure
GAP = "\u2002"  # SVG joins plain spaces
Legend = list[tuple[int, bool, str]]  # colour, hollow, name


def comparison_figure(comparison: Comparison) -> Markup:
    """Mean and interval of every contender; a dashed line marks the reference.

    A constant answer is usually far below the others. It does not stretch the scale.
    """
    results, colours, words = comparison.results, model_colours(comparison), marks(comparison)
    scaling = [result.estimate for result in results.values() if result.contender.model != TRIVIAL]
    ends = [end for estimate in scaling for end in (estimate.low, estimate.high, estimate.mean)]
    chart = _rows_chart(f"{comparison.metric} of every model and method with 95 % intervals", ends, len(results))
    chart.x_label = f"mean held-out {comparison.metric}"
    reference = comparison.reference.estimate.mean
    chart.segment((reference, 0.0), (reference, float(len(results))), "grid strong")
    for index, (name, result) in enumerate(results.items()):
        own = result.estimate
        tip = f"{name}: {own.mean:.4f} ({own.low:.4f} to {own.high:.4f})"
        outside = [] if chart.x[0] <= own.mean <= chart.x[1] else ["outside the scale"]
        label = " · ".join([f"{shorten(name)}{GAP}{own.mean:.4f}", *words[name], *outside])
        _row(chart, index, (own.low, own.mean, own.high), colours[result.contender.model], label, tip)
    return chart.svg()


def importance_figure(title: str, metric: str, columns: Sequence[curves.ColumnImportance], colour: int) -> Markup:
    """Mean and standard deviation of what the metric loses if a column is shuffled; a dashed line marks zero."""
    ends = [end for one in columns for end in (one.mean - one.deviation, one.mean + one.deviation)]
    chart = _rows_chart(title, [0.0, *ends], len(columns))
    chart.x_label = f"loss of {metric} if the column is shuffled"
    chart.segment((0.0, 0.0), (0.0, float(len(columns))), "grid strong")
    for index, one in enumerate(columns):
        tip = f"{one.column}: {one.mean:+.4f}, standard deviation {one.deviation:.4f}"
        places = one.mean - one.deviation, one.mean, one.mean + one.deviation
        _row(chart, index, places, colour, f"{shorten(one.column)}{GAP}{one.mean:.4f}", tip)
    return chart.svg()


def _rows_chart(title: str, ends: Sequence[float], n_rows: int) -> Chart:
    return Chart(title, x=span(ends), y=(0.0, float(n_rows)), height=TOP + 38 + ROW_HEIGHT * n_rows, y_ticks=False)


def _row(chart: Chart, index: int, places: tuple[float, float, float], colour: int, label: str, tip: str) -> None:
    """A whisker from the first to the last place, a dot at the middle one, and a name above; rows go from top to bottom.

    Names begin at a zero line if there is one at the left, so that it does not cross them.
    """
    near_zero = chart.x[0] < 0.0 < chart.x[0] + 0.2 * (chart.x[1] - chart.x[0])
    start = 0.012 * (chart.x[1] - chart.x[0]) if near_zero else chart.x[0]
    row, (low, middle, high) = chart.y[1] - index - 0.7, places
    if index:
        chart.segment((chart.x[0], chart.y[1] - index), (chart.x[1], chart.y[1] - index), "grid")
    chart.text(start, row, label, lift=8.0)
    if high < chart.x[0] or low > chart.x[1]:
        return
    low, high = (min(max(end, chart.x[0]), chart.x[1]) for end in (low, high))
    chart.segment((low, row), (high, row), f"whisker c{colour}")
    if chart.x[0] <= middle <= chart.x[1]:
        chart.point(middle, row, colour, tip, 5.0)


def decision_figure(comparison: Comparison) -> Markup:
    """The metric by threshold for two classes, by offset for more."""
    return _threshold_figure(comparison) if len(comparison.classes) == 2 else _offset_figure(comparison)


def _threshold_figure(comparison: Comparison) -> Markup:
    """Lines of the reference and the choice. A plain variant has the line of its model, and a dot at one half."""
    lines = [reference_line(comparison), choice_line(comparison)]
    drawn = {line.name: curves.threshold_curve(comparison, line.result) for line in lines}
    chart = Chart(
        f"{comparison.metric} by threshold",
        x=(0.0, 1.0),
        y=span([value for ys in drawn.values() for value in ys]),
        x_label=f"threshold on the probability of {comparison.classes[1]}",
        y_label=comparison.metric,
    )
    for line in lines:
        chart.line(curves.THRESHOLDS.tolist(), drawn[line.name].tolist(), line.colour)
    plain = plain_line(comparison)
    for line in [*lines, *([] if plain is None else [plain])]:
        chosen = curves.chosen_threshold(line.result)
        ys = drawn[line.name] if line.name in drawn else curves.threshold_curve(comparison, line.result)
        here = float(np.interp(chosen, curves.THRESHOLDS, ys))
        chart.point(chosen, here, line.colour, f"{line.name}: threshold {chosen:.3f}, {here:.4f}", 6.0, hollow=line.hollow)
    return chart.svg()


def _offset_figure(comparison: Comparison) -> Markup:
    largest = np.argsort(-np.bincount(comparison.labels), kind="stable")[:MAX_LINES]
    drawn = {int(label): curves.offset_curve(comparison, comparison.choice, int(label)) for label in largest}
    chart = Chart(
        f"{comparison.metric} by the offset of each class",
        x=(float(curves.SHIFTS[0]), float(curves.SHIFTS[-1])),
        y=span([value for ys in drawn.values() for value in ys]),
        x_label="shift of one class's offset",
        y_label=comparison.metric,
    )
    for colour, ys in enumerate(drawn.values()):
        chart.line(curves.SHIFTS.tolist(), ys.tolist(), colour)
    middle = len(curves.SHIFTS) // 2
    here = float(next(iter(drawn.values()))[middle])
    chart.segment((0.0, chart.y[0]), (0.0, chart.y[1]), "grid strong")
    chart.point(0.0, here, 7, f"fitted offsets: {here:.4f}", 6.0)
    return chart.svg()


def decision_legend(comparison: Comparison) -> Legend:
    """Colours and names of the lines in the decision figure."""
    if len(comparison.classes) == 2:
        lines = {line.name: line for line in (reference_line(comparison), choice_line(comparison))}
        found: Legend = [(line.colour, False, line.name) for line in lines.values()]
        plain = plain_line(comparison)
        return found if plain is None else [*found, (plain.colour, True, f"{plain.name}, at 0.5")]
    largest = np.argsort(-np.bincount(comparison.labels), kind="stable")[:MAX_LINES]
    return [(colour, False, str(comparison.classes[label])) for colour, label in enumerate(largest)]


def history_figures(history: list[dict[str, Any]]) -> list[Markup]:
    """Metric, surrogate, width and gradient norm by step, one figure each."""
    steps = [float(row["step"]) for row in history]
    names = {
        "metric": "true metric",
        "surrogate": "surrogate",
        "width": "scale or temperature",
        "gradient_norm": "gradient norm",
    }
    known = {key: [float(row[key]) for row in history] for key in names if all(key in row for row in history)}
    figures = []
    for colour, (key, values) in zip((2, 3, 4, 5), known.items(), strict=False):
        log = key in ("width", "gradient_norm") and 0.0 < 3.0 * min(values) < max(values)
        last = key == list(known)[-1]
        chart = Chart(
            f"{names[key]} by step",
            x=(1.0, max(steps[-1], 2.0)),
            y=(min(values) / 1.3, max(values) * 1.3) if log else span(values, 0.1),
            x_label="step" if last else "",
            height=130 if last else 105,
            log_y=log,
            x_ticks=last,
        )
        chart.line(steps, values, colour)
        chart.point(steps[-1], values[-1], colour, f"{values[-1]:.4g}", 3.0)
        chart.text(1.0, chart.y[1], names[key], lift=-2.0)
        figures.append(chart.svg())
    return figures


def reliability_figure(comparison: Comparison) -> tuple[Markup, Legend]:
    """Reliability diagram and its legend. Thresholds do not change probabilities, so that a plain variant is not drawn."""
    chart = Chart(
        "Predicted probability and observed frequency",
        x=(0.0, 1.0),
        y=(0.0, 1.0),
        x_label="predicted probability",
        y_label="observed frequency",
    )
    chart.segment((0.0, 0.0), (1.0, 1.0), "grid strong")
    legend: Legend = []
    for line in {line.name: line for line in (reference_line(comparison), choice_line(comparison))}.values():
        found = curves.reliability(comparison, line.result)
        chart.line(found.predicted.tolist(), found.observed.tolist(), line.colour)
        for x, y, count in zip(found.predicted, found.observed, found.counts, strict=True):
            radius = 2.5 + 5.0 * math.sqrt(count / found.counts.sum())
            chart.point(x, y, line.colour, f"{count} rows: predicted {x:.2f}, observed {y:.2f}", radius)
        legend.append((line.colour, False, f"{line.name} (calibration error {found.error:.3f})"))
    return chart.svg(), legend


def shorten(name: str) -> str:
    """The name, or its beginning and an ellipsis.

    >>> shorten("x" * 50) == "x" * 43 + "…"
    True
    """
    return name if len(name) <= MAX_LETTERS else name[: MAX_LETTERS - 1] + "…"
