"""Figures with two axes and their numbers, from held-out rows: the metric by threshold or offset, calibration, training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy.special import expit
from scipy.stats import spearmanr

from metricfit._printable import shorten
from metricfit._typing import Floats
from metricfit.comparison import Comparison, MetricWords, Result
from metricfit.decisions import Reliability, hard_confusion, metric_values
from metricfit.report._svg import Chart, span
from metricfit.report._words import class_of_interest, compared_lines, plain_line

THRESHOLDS = np.linspace(0.0, 1.0, 401)
SHIFTS = np.linspace(-3.0, 3.0, 61)
MAX_LINES = 8  # classes in the offset figure
MAX_LETTERS = 32  # of the name of a metric along an axis
Legend = list[tuple[int, bool, str]]  # colour, hollow, name


def threshold_curve(comparison: Comparison, result: Result, label: int = 1) -> Floats:
    """For two classes: the metric if the class ``label`` is predicted above each of ``THRESHOLDS`` on its probability."""
    if label == 0:
        return threshold_curve(comparison, result)[::-1]
    probability, second = result.held_out.probability[:, 1], comparison.labels == 1
    above = [len(p) - np.searchsorted(np.sort(p), THRESHOLDS, "right") for p in (probability[~second], probability[second])]
    sizes = (~second).sum(), second.sum()
    matrices = np.stack([np.stack([size - taken, taken], 1) for size, taken in zip(sizes, above, strict=True)], 1)
    return metric_values(comparison.measure, matrices.astype(np.float64))


def chosen_threshold(result: Result, label: int = 1) -> float:
    """For two classes: the method's threshold on the probability of a class, averaged over the folds."""
    return float(np.mean(expit((result.offsets[:, 1 - label] - result.offsets[:, label]) / result.temperatures)))


def offset_curve(comparison: Comparison, result: Result, label: int) -> Floats:
    """The metric if each of ``SHIFTS`` is added to the offset of one class."""
    scores, n_classes = result.held_out.scores, len(comparison.classes)
    others = scores.copy()
    others[:, label] = -np.inf
    rival, weight = others.argmax(1), np.ones(len(scores))
    ahead = others.max(1) - scores[:, label]
    matrices = [
        hard_confusion(np.where(shift > ahead, label, rival), comparison.labels, weight, n_classes) for shift in SHIFTS
    ]
    return metric_values(comparison.measure, np.stack(matrices))


def reliability(comparison: Comparison, result: Result, label: int = 1) -> Reliability:
    """Calibration of one of two classes, or of the most probable of more than two classes."""
    probability, labels = result.held_out.probability, comparison.labels
    if len(comparison.classes) == 2:
        predicted, correct = probability[:, label], labels == label
    else:
        predicted, correct = probability.max(1), probability.argmax(1) == labels
    return Reliability.in_bins(predicted, correct, np.ones(len(labels)))


def per_class(matrix: Floats, names: Sequence[str]) -> list[dict[str, Any]]:
    """Precision, recall and number of rows of every class of a confusion matrix."""
    hits, rows, columns = matrix.diagonal(), matrix.sum(1), matrix.sum(0)
    return [
        {
            "label": name,
            "rows": int(rows[index]),
            "precision": float(hits[index] / columns[index]) if columns[index] else None,
            "recall": float(hits[index] / rows[index]) if rows[index] else None,
        }
        for index, name in enumerate(names)
    ]


def alignment(history: Sequence[dict[str, Any]]) -> float | None:
    """Rank correlation over the steps of the metric and the negative surrogate; 1 if lower surrogate means better metric."""
    surrogate, metric = [row["surrogate"] for row in history], [row["metric"] for row in history]
    if len(history) < 3 or len(set(surrogate)) == 1 or len(set(metric)) == 1:
        return None
    return -float(spearmanr(surrogate, metric).statistic)


def decision_figure(comparison: Comparison) -> tuple[Markup, Legend]:
    """The metric by threshold for two classes, by offset for more; and the legend."""
    return _threshold_figure(comparison) if len(comparison.classes) == 2 else _offset_figure(comparison)


def _threshold_figure(comparison: Comparison) -> tuple[Markup, Legend]:
    """Lines of the reference and the choice. A plain variant has the line of its model, and a dot at one half."""
    lines, label = compared_lines(comparison), class_of_interest(comparison)
    metric = comparison.metric_words
    drawn = {line.name: metric.shown(threshold_curve(comparison, line.result, label)) for line in lines}
    chart = Chart(
        f"{metric.title} by threshold",
        x=(0.0, 1.0),
        y=span([value for ys in drawn.values() for value in ys]),
        x_label=shorten(f"threshold on the probability of {comparison.classes[label]}", 60),
        y_label=shorten(metric.title, MAX_LETTERS),
    )
    for line in lines:
        chart.line(THRESHOLDS.tolist(), drawn[line.name].tolist(), line.colour)
    legend: Legend = [(line.colour, False, line.name) for line in lines]
    if (plain := plain_line(comparison)) is not None:
        lines.append(plain)
        legend.append((plain.colour, True, f"{plain.name}, at 0.5"))
    for line in lines:
        chosen = chosen_threshold(line.result, label)
        ys = drawn.get(line.name, metric.shown(threshold_curve(comparison, line.result, label)))
        here = float(np.interp(chosen, THRESHOLDS, ys))
        chart.point(chosen, here, line.colour, f"{line.name}: threshold {chosen:.3f}, {here:.4f}", hollow=line.hollow)
    return chart.svg(), legend


def _offset_figure(comparison: Comparison) -> tuple[Markup, Legend]:
    largest = np.argsort(-np.bincount(comparison.labels), kind="stable")[:MAX_LINES].tolist()
    metric = comparison.metric_words
    drawn = [metric.shown(offset_curve(comparison, comparison.choice, label)) for label in largest]
    chart = Chart(
        f"{metric.title} by the offset of each class",
        x=(float(SHIFTS[0]), float(SHIFTS[-1])),
        y=span(np.concatenate(drawn).tolist()),
        x_label="shift of one class's offset",
        y_label=shorten(metric.title, MAX_LETTERS),
    )
    for colour, ys in enumerate(drawn):
        chart.line(SHIFTS.tolist(), ys.tolist(), colour)
    here = float(drawn[0][len(SHIFTS) // 2])
    chart.segment((0.0, chart.y[0]), (0.0, chart.y[1]), "grid strong")
    chart.point(0.0, here, 7, f"fitted offsets: {here:.4f}")
    return chart.svg(), [(colour, False, str(comparison.classes[label])) for colour, label in enumerate(largest)]


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
    for line in compared_lines(comparison):
        found = reliability(comparison, line.result, class_of_interest(comparison))
        draw_reliability(chart, found, line.colour)
        legend.append((line.colour, False, f"{line.name} (calibration error {found.distance:.3f})"))
    return chart.svg(), legend


def draw_reliability(chart: Chart, found: Reliability, colour: int) -> None:
    """A line with a dot for every bin, as large as the bin."""
    chart.line(found.predicted.tolist(), found.observed.tolist(), colour)
    for x, y, count in zip(found.predicted, found.observed, found.counts, strict=True):
        radius = 2.5 + 5.0 * math.sqrt(count / found.counts.sum())
        chart.point(x, y, colour, f"{count:,.0f} rows: predicted {x:.3g}, observed {y:.3g}", radius)
