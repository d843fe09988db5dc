"""Render a comparison as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from metricfit.comparison import Comparison, Result
from metricfit.comparison._importance import MOST_ROWS
from metricfit.methods import Choice
from metricfit.report import _curves as curves
from metricfit.report import _figures as figures
from metricfit.report import _shown as shown
from metricfit.report._run import Run

if TYPE_CHECKING:
    from metricfit.estimators import MetricClassifier

MAX_MATRIX_CLASSES = 15  # a larger matrix is hard to read
MAX_CONFUSIONS = 20
MAX_COLUMNS = 15  # in the figure and the table of importance
MODELS_IN_WORDS = {
    "trivial": "one class for all rows",
    "linear": "logistic regression, its penalty chosen by held-out cross-entropy",
    "boosting": "boosted trees (HistGradientBoostingClassifier of scikit-learn)",
    "extra_trees": "extremely randomised trees",
    "mlp": "a neural network",
    "ensemble": "linear, boosting and extra_trees, with a logistic head on their out-of-fold probabilities",
    "auto": "what MetricClassifier takes by itself: the ensemble of the members that can take the data",
}


def page(comparison: Comparison, run: Run, model: MetricClassifier | None = None) -> str:
    """The report as HTML; with a model, it also says what the model is and lists its candidates."""
    environment = Environment(
        loader=PackageLoader("metricfit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    results, few_classes = comparison.results.values(), len(comparison.classes) <= MAX_MATRIX_CLASSES
    reliability, reliability_legend = figures.reliability_figure(comparison)
    return environment.get_template("page.html.jinja").render(
        comparison=comparison,
        run=run,
        model=model,
        verdict=comparison.verdict,
        reference=shown.reference_line(comparison),
        choice=shown.choice_line(comparison),
        marks=shown.marks(comparison),
        n_colours=shown.N_COLOURS,
        sizes=[(str(label), int((comparison.labels == index).sum())) for index, label in enumerate(comparison.classes)],
        comparison_figure=figures.comparison_figure(comparison),
        models={result.contender.model: _model_in_words(result) for result in results},
        methods={result.method.name: result.method for result in results},
        choices=[result for result in results if isinstance(result.method, Choice)],
        matrices=[_matrix(comparison, line.result) for line in shown.shown_lines(comparison)] if few_classes else [],
        pairs=[] if few_classes else _frequent_confusions(comparison),
        importance=_importance(comparison, model),
        decision_figure=figures.decision_figure(comparison),
        decision_legend=figures.decision_legend(comparison),
        trainings=_trainings(comparison, model),
        classes=_classes(comparison),
        reliability_figure=reliability,
        reliability_legend=reliability_legend,
    )


def _model_in_words(result: Result) -> str:
    given = result.contender.given
    if given is None or isinstance(given, str):
        return MODELS_IN_WORDS.get(result.contender.model, "")
    return ", ".join(type(one).__name__ for one in given) if isinstance(given, list | tuple) else type(given).__name__


def _importance(comparison: Comparison, model: MetricClassifier | None) -> dict[str, Any] | None:
    """Columns by their importance to one model: the given one, or else the choice. The others' stand beside it."""
    explained = {result.contender.model: result for result in comparison.results.values() if result.importance is not None}
    if not explained:
        return None
    wanted = ["" if model is None else model.learner_, comparison.choice.contender.model, *explained]
    first = explained[next(name for name in wanted if name in explained)]
    others = [result for result in explained.values() if result is not first]
    by_model = [curves.column_importances(comparison, result) for result in (first, *others)]
    order = sorted(range(len(comparison.columns)), key=lambda place: -by_model[0][place].mean)
    top, rest = order[:MAX_COLUMNS], order[MAX_COLUMNS:]
    title = f"Importance of columns to {first.contender.name}"
    colour = shown.model_colours(comparison)[first.contender.model]
    return {
        "name": first.contender.name,
        "figure": figures.importance_figure(title, comparison.metric, [by_model[0][place] for place in top], colour),
        "heads": [result.contender.name for result in (first, *others)],
        "rows": [(comparison.columns[place], [columns[place] for columns in by_model]) for place in top],
        "n_more": len(rest),
        "largest_of_more": by_model[0][rest[0]].mean if rest else 0.0,
        "most_rows": MOST_ROWS,
    }


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
    return {"name": result.contender.name, "rows": rows, "labels": [str(label) for label in comparison.classes]}


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
    """One entry per contender that trained on a surrogate."""
    histories = [
        (result.contender.name, result.method.summary, list(result.history))
        for result in comparison.results.values()
        if result.history and not isinstance(result.method, Choice)
    ]
    if model is not None and model.history_:
        histories.insert(0, (f"this model: {model.learner_}, {model.chosen_}", "fitted to all rows", list(model.history_)))
    return [
        {"name": name, "what": what, "figures": figures.history_figures(history), "alignment": curves.alignment(history)}
        for name, what, history in histories
    ]


def _classes(comparison: Comparison) -> list[dict[str, Any]]:
    """Precision and recall of the reference and of the choice, class by class."""
    both = (curves.per_class(comparison, result) for result in (comparison.reference, comparison.choice))
    return [
        {"label": base["label"], "rows": base["rows"], "base": base, "choice": choice}
        for base, choice in zip(*both, strict=True)
    ]
