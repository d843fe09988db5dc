"""The figures of the report."""

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

MAX_LINES = 8  # classes in the offset figure
N_COLOURS = 12  # in the page's palette


def comparison_figure(comparison: Comparison) -> Markup:
    """Mean and interval of every method; a dashed line marks the baseline."""
    results = list(comparison.results.values())
    ends = [end for result in results for end in (result.estimate.low, result.estimate.high, result.estimate.mean)]
    chart = Chart(
        f"{comparison.metric} of every method with 95 % intervals",
        x=span(ends),
        y=(0.0, float(len(results))),
        x_label=f"mean held-out {comparison.metric}",
        height=TOP + 38 + 34 * len(results),
        y_ticks=False,
    )
    baseline = comparison.results[BASELINE].estimate.mean
    chart.segment((baseline, 0.0), (baseline, float(len(results))), "grid strong")
    for index, result in enumerate(results):
        row = len(results) - index - 0.7
        low, high = (min(max(end, chart.x[0]), chart.x[1]) for end in (result.estimate.low, result.estimate.high))
        colour = method_colour(result.method.name)
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
        chart.line(curves.THRESHOLDS.tolist(), ys.tolist(), method_colour(name))
    dots = [(name, curves.chosen_threshold(comparison.results[name])) for name in drawn]
    for name, chosen in [(CROSS_ENTROPY, 0.5), *dots]:
        here = float(np.interp(chosen, curves.THRESHOLDS, drawn.get(name, drawn[BASELINE])))
        chart.point(chosen, here, method_colour(name), f"{name}: threshold {chosen:.3f}, {here:.4f}", 6.0)
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


def decision_legend(comparison: Comparison) -> list[tuple[int, str]]:
    """Colours and names of the lines in the decision figure."""
    if len(comparison.classes) == 2:
        lines = [(method_colour(name), name) for name in (BASELINE, comparison.choice.method.name)]
        return [*lines, (method_colour(CROSS_ENTROPY), f"{CROSS_ENTROPY} at 0.5")]
    largest = np.argsort(-np.bincount(comparison.labels), kind="stable")[:MAX_LINES]
    return [(colour, str(comparison.classes[label])) for colour, label in enumerate(largest)]


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


def reliability_figure(comparison: Comparison) -> tuple[Markup, list[tuple[int, str]]]:
    """Reliability diagram and its legend."""
    chart = Chart(
        "Predicted probability and observed frequency",
        x=(0.0, 1.0),
        y=(0.0, 1.0),
        x_label="predicted probability",
        y_label="observed frequency",
    )
    chart.segment((0.0, 0.0), (1.0, 1.0), "grid strong")
    legend = []
    for name in (CROSS_ENTROPY, comparison.choice.method.name):
        if name not in comparison.results:
            continue
        result = comparison.results[name]
        found = curves.reliability(comparison, result)
        colour = method_colour(result.method.name)
        chart.line(found.predicted.tolist(), found.observed.tolist(), colour)
        for x, y, count in zip(found.predicted, found.observed, found.counts, strict=True):
            radius = 2.5 + 5.0 * math.sqrt(count / found.counts.sum())
            chart.point(x, y, colour, f"{count} rows: predicted {x:.2f}, observed {y:.2f}", radius)
        legend.append((colour, f"{result.method.name} (calibration error {found.error:.3f})"))
    return chart.svg(), legend


def method_colour(name: str) -> int:
    """A method's colour: its index in the registry, or the next one for a method that is not registered."""
    known = methods.names()
    return (known.index(name) if name in known else len(known)) % N_COLOURS
