"""Figures with two axes: the metric by threshold or offset, training curves, calibration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from markupsafe import Markup

from metricfit.comparison import Comparison
from metricfit.report import _curves as curves
from metricfit.report._shown import choice_line, class_of_interest, plain_line, reference_line
from metricfit.report._svg import Chart, span
from metricfit.report._words import MetricWords, shorten

MAX_LINES = 8  # classes in the offset figure
MAX_LETTERS = 32  # of the name of a metric along an axis
Legend = list[tuple[int, bool, str]]  # colour, hollow, name


def decision_figure(comparison: Comparison) -> Markup:
    """The metric by threshold for two classes, by offset for more."""
    return _threshold_figure(comparison) if len(comparison.classes) == 2 else _offset_figure(comparison)


def _threshold_figure(comparison: Comparison) -> Markup:
    """Lines of the reference and the choice. A plain variant has the line of its model, and a dot at one half."""
    lines, label = [reference_line(comparison), choice_line(comparison)], class_of_interest(comparison)
    metric = MetricWords.of(comparison)
    drawn = {line.name: metric.shown(curves.threshold_curve(comparison, line.result, label)) for line in lines}
    chart = Chart(
        f"{metric.title} by threshold",
        x=(0.0, 1.0),
        y=span([value for ys in drawn.values() for value in ys]),
        x_label=shorten(f"threshold on the probability of {comparison.classes[label]}", 60),
        y_label=shorten(metric.title, MAX_LETTERS),
    )
    for line in lines:
        chart.line(curves.THRESHOLDS.tolist(), drawn[line.name].tolist(), line.colour)
    plain = plain_line(comparison)
    for line in [*lines, *([] if plain is None else [plain])]:
        chosen = curves.chosen_threshold(line.result, label)
        ys = drawn.get(line.name, metric.shown(curves.threshold_curve(comparison, line.result, label)))
        here = float(np.interp(chosen, curves.THRESHOLDS, ys))
        chart.point(chosen, here, line.colour, f"{line.name}: threshold {chosen:.3f}, {here:.4f}", 6.0, hollow=line.hollow)
    return chart.svg()


def _offset_figure(comparison: Comparison) -> Markup:
    largest = np.argsort(-np.bincount(comparison.labels), kind="stable")[:MAX_LINES]
    metric = MetricWords.of(comparison)
    drawn = {int(label): metric.shown(curves.offset_curve(comparison, comparison.choice, int(label))) for label in largest}
    chart = Chart(
        f"{metric.title} by the offset of each class",
        x=(float(curves.SHIFTS[0]), float(curves.SHIFTS[-1])),
        y=span([value for ys in drawn.values() for value in ys]),
        x_label="shift of one class's offset",
        y_label=shorten(metric.title, MAX_LETTERS),
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


def history_figures(history: list[dict[str, Any]], metric: MetricWords, colour: int) -> list[Markup]:
    """Metric, surrogate, width and gradient norm by step, one figure each, in the colour of the contender."""
    steps = [float(row["step"]) for row in history]
    names = {
        "metric": shorten(metric.title, MAX_LETTERS),
        "surrogate": "surrogate",
        "width": "scale or temperature",
        "gradient_norm": "gradient norm",
    }
    known = {key: [float(row[key]) for row in history] for key in names if all(key in row for row in history)}
    known["metric"] = [metric.shown(value) for value in known["metric"]]
    figures = []
    for key, values in known.items():
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
        found = curves.reliability(comparison, line.result, class_of_interest(comparison))
        chart.line(found.predicted.tolist(), found.observed.tolist(), line.colour)
        for x, y, count in zip(found.predicted, found.observed, found.counts, strict=True):
            radius = 2.5 + 5.0 * math.sqrt(count / found.counts.sum())
            chart.point(x, y, line.colour, f"{count} rows: predicted {x:.2f}, observed {y:.2f}", radius)
        legend.append((line.colour, False, f"{line.name} (calibration error {found.error:.3f})"))
    return chart.svg(), legend
