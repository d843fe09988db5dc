"""The figures of the page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from markupsafe import Markup

from metricfit import methods
from metricfit.comparison import Comparison
from metricfit.methods import BASELINE, CROSS_ENTROPY
from metricfit.report import _curves as curves
from metricfit.report._svg import TOP, Chart, span

MOST_LINES = 8  # classes with a line of their own
N_COLOURS = 12  # of the page's palette


def comparison_figure(comparison: Comparison) -> Markup:
    """Mean and interval of every method, the baseline as a line through all."""
    results = list(comparison.results.values())
    ends = [end for result in results for end in (result.estimate.low, result.estimate.high, result.estimate.mean)]
    chart = Chart(
        f"{comparison.metric} of every method with 95 % intervals",
        x=span(ends),
        y=(0.0, float(len(results))),
        x_label=f"{comparison.metric}, mean over held-out parts",
        height=TOP + 38 + 34 * len(results),
        y_ticks=False,
    )
    baseline = comparison.results[BASELINE].estimate.mean
    chart.segment((baseline, 0.0), (baseline, float(len(results))), "grid strong")
    for place, result in enumerate(results):
        row = len(results) - place - 0.7
        low, high = (min(max(end, chart.x[0]), chart.x[1]) for end in (result.estimate.low, result.estimate.high))
        colour = colour_of(result.method.name)
        chart.segment((low, row), (high, row), f"whisker c{colour}")
        tip = f"{result.method.name}: {result.estimate.mean:.4f} ({result.estimate.low:.4f} to {result.estimate.high:.4f})"
        chart.point(result.estimate.mean, row, colour, tip, 5.0)
        chart.text(chart.x[0], row, f"{result.method.name}  {result.estimate.mean:.4f}", lift=9.0)
    return chart.svg()


def decision_figure(comparison: Comparison) -> Markup:
    """The metric by threshold for two classes, by offset for more."""
    return _threshold_figure(comparison) if len(comparison.classes) == 2 else _offset_figure(comparison)


def _threshold_figure(comparison: Comparison) -> Markup:
    shown = [comparison.results[BASELINE], comparison.choice]
    drawn = {result.method.name: curves.threshold_curve(comparison, result) for result in shown}
    chart = Chart(
        f"{comparison.metric} by threshold",
        x=(0.0, 1.0),
        y=span([value for ys in drawn.values() for value in ys]),
        x_label=f"threshold on the probability of {comparison.classes[1]}",
        y_label=comparison.metric,
    )
    for name, ys in drawn.items():
        chart.line(curves.THRESHOLDS.tolist(), ys.tolist(), colour_of(name))
    dots = [(name, curves.chosen_threshold(comparison.results[name])) for name in drawn]
    for name, chosen in [(CROSS_ENTROPY, 0.5), *dots]:
        here = float(np.interp(chosen, curves.THRESHOLDS, drawn.get(name, drawn[BASELINE])))
        chart.point(chosen, here, colour_of(name), f"{name}: threshold {chosen:.3f}, {here:.4f}", 6.0)
    return chart.svg()


def _offset_figure(comparison: Comparison) -> Markup:
    largest = np.argsort(-np.bincount(comparison.labels), kind="stable")[:MOST_LINES]
    drawn = {int(label): curves.offset_curve(comparison, comparison.choice, int(label)) for label in largest}
    chart = Chart(
        f"{comparison.metric} by the offset of each class",
        x=(float(curves.SHIFTS[0]), float(curves.SHIFTS[-1])),
        y=span([value for ys in drawn.values() for value in ys]),
        x_label="offset of one class, from the chosen one",
        y_label=comparison.metric,
    )
    for colour, ys in enumerate(drawn.values()):
        chart.line(curves.SHIFTS.tolist(), ys.tolist(), colour)
    middle = len(curves.SHIFTS) // 2
    here = float(next(iter(drawn.values()))[middle])
    chart.segment((0.0, chart.y[0]), (0.0, chart.y[1]), "grid strong")
    chart.point(0.0, here, 7, f"as chosen: {here:.4f}", 6.0)
    return chart.svg()


def decision_legend(comparison: Comparison) -> list[tuple[int, str]]:
    """Colours and names of the lines in the figure above."""
    if len(comparison.classes) == 2:
        lines = [(colour_of(name), name) for name in (BASELINE, comparison.choice.method.name)]
        return [*lines, (colour_of(CROSS_ENTROPY), f"{CROSS_ENTROPY} at 0.5")]
    largest = np.argsort(-np.bincount(comparison.labels), kind="stable")[:MOST_LINES]
    return [(colour, str(comparison.classes[label])) for colour, label in enumerate(largest)]


def history_figures(history: list[dict[str, Any]]) -> list[Markup]:
    """Metric, surrogate, width and norm of the gradient by step, one below the other."""
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


def reliability_figure(comparison: Comparison) -> tuple[Markup, list[tuple[int, str]]]:
    """How often what was said came true, and who is who."""
    chart = Chart(
        "Predicted probability and observed share",
        x=(0.0, 1.0),
        y=(0.0, 1.0),
        x_label="predicted probability",
        y_label="observed share",
    )
    chart.segment((0.0, 0.0), (1.0, 1.0), "grid strong")
    legend = []
    for name in (CROSS_ENTROPY, comparison.choice.method.name):
        if name not in comparison.results:
            continue
        result = comparison.results[name]
        found = curves.reliability(comparison, result)
        colour = colour_of(result.method.name)
        chart.line(found.said.tolist(), found.came_true.tolist(), colour)
        for said, true, count in zip(found.said, found.came_true, found.counts, strict=True):
            radius = 2.5 + 5.0 * math.sqrt(count / found.counts.sum())
            chart.point(said, true, colour, f"{count} rows: said {said:.2f}, came true {true:.2f}", radius)
        legend.append((colour, f"{result.method.name} (mean gap {found.error:.3f})"))
    return chart.svg(), legend


def colour_of(name: str) -> int:
    """A method's colour on the whole page: its place in the registry, or the next one for a method that is not there."""
    known = methods.names()
    return (known.index(name) if name in known else len(known)) % N_COLOURS
