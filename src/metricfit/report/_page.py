"""Render a comparison as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from metricfit.comparison import Comparison
from metricfit.methods import BASELINE, CROSS_ENTROPY, Choice
from metricfit.report import _curves as curves
from metricfit.report import _figures as figures
from metricfit.report._run import Run

if TYPE_CHECKING:
    from metricfit.estimators import MetricClassifier

MAX_MATRIX_CLASSES = 15  # a larger matrix is hard to read
MAX_CONFUSIONS = 20


def page(comparison: Comparison, run: Run, model: MetricClassifier | None = None) -> str:
    """The report as HTML; with a model, it also lists the model's candidates."""
    environment = Environment(
        loader=PackageLoader("metricfit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    results = comparison.results
    shown = [results[name] for name in (CROSS_ENTROPY, BASELINE, comparison.choice.method.name) if name in results]
    reliability, reliability_legend = figures.reliability_figure(comparison)
    return environment.get_template("page.html.jinja").render(
        comparison=comparison,
        run=run,
        model=model,
        verdict=comparison.verdict,
        baseline=results[BASELINE],
        choice=comparison.choice,
        method_colour=figures.method_colour,
        n_colours=figures.N_COLOURS,
        sizes=[(str(label), int((comparison.labels == index).sum())) for index, label in enumerate(comparison.classes)],
        comparison_figure=figures.comparison_figure(comparison),
        matrices=[_matrix(comparison, result) for result in shown] if len(comparison.classes) <= MAX_MATRIX_CLASSES else [],
        pairs=_frequent_confusions(comparison) if len(comparison.classes) > MAX_MATRIX_CLASSES else [],
        decision_figure=figures.decision_figure(comparison),
        decision_legend=figures.decision_legend(comparison),
        trainings=_trainings(comparison, model),
        classes=_classes(comparison),
        reliability_figure=reliability,
        reliability_legend=reliability_legend,
    )


def _matrix(comparison: Comparison, result: Any) -> dict[str, Any]:
    counts = curves.confusion(comparison, result)
    shares = counts / counts.sum(1, keepdims=True).clip(min=1.0)
    rows = [
        (
            str(label),
            [(int(count), float(share), index == column) for column, (count, share) in enumerate(zip(*both, strict=True))],
        )
        for index, (label, both) in enumerate(zip(comparison.classes, zip(counts, shares, strict=True), strict=True))
    ]
    return {"name": result.method.name, "rows": rows, "labels": [str(label) for label in comparison.classes]}


def _frequent_confusions(comparison: Comparison) -> list[dict[str, Any]]:
    """The most frequent pairs of true and predicted class that differ."""
    counts = curves.confusion(comparison, comparison.choice)
    found: list[dict[str, Any]] = [
        {"true": str(true), "predicted": str(predicted), "rows": int(counts[i, j])}
        for i, true in enumerate(comparison.classes)
        for j, predicted in enumerate(comparison.classes)
        if i != j and counts[i, j]
    ]
    return sorted(found, key=lambda pair: -pair["rows"])[:MAX_CONFUSIONS]


def _trainings(comparison: Comparison, model: MetricClassifier | None) -> list[dict[str, Any]]:
    """One entry per method that trained on a surrogate."""
    histories = [
        (result.method.name, result.method.summary, list(result.history))
        for result in comparison.results.values()
        if result.history and not isinstance(result.method, Choice)
    ]
    if model is not None and model.history_:
        histories.insert(0, (f"this model: {model.chosen_}", "fitted to all rows", list(model.history_)))
    return [
        {"name": name, "what": what, "figures": figures.history_figures(history), "alignment": curves.alignment(history)}
        for name, what, history in histories
    ]


def _classes(comparison: Comparison) -> list[dict[str, Any]]:
    """Precision and recall of the baseline and of the choice, class by class."""
    both = (curves.per_class(comparison, result) for result in (comparison.results[BASELINE], comparison.choice))
    return [
        {"label": base["label"], "rows": base["rows"], "base": base, "choice": choice}
        for base, choice in zip(*both, strict=True)
    ]
