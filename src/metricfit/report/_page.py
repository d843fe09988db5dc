"""Render a comparison as HTML."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from metricfit.comparison import MOST_ROWS, TRIVIAL, Comparison, Result
from metricfit.methods import Choice
from metricfit.report import _curves as curves
from metricfit.report import _figures as figures
from metricfit.report import _heatmap as heatmap
from metricfit.report import _shown as shown
from metricfit.report import _words as words
from metricfit.report._data import MAX_CLASSES, MAX_FOLDED, class_sizes, open_and_folded
from metricfit.report._features import effects, importance
from metricfit.report._forest import forest
from metricfit.report._gain import gain
from metricfit.report._headline import headline
from metricfit.report._review import review
from metricfit.report._run import Run

if TYPE_CHECKING:
    from metricfit.estimators import MetricClassifier
    from metricfit.profile import TableProfile

FORMATS: tuple[Callable[..., str], ...] = (
    words.score,
    words.interval,
    words.p_value,
    words.rows,
    words.money,
    words.shorten,
    words.contender_in_words,
)
FEW_CONFUSIONS = 5  # listed beside a matrix with numbers
MODELS_IN_WORDS = {
    "trivial": "one class for all rows",
    "linear": "logistic regression, its penalty chosen by held-out cross-entropy",
    "boosting": "boosted trees (HistGradientBoostingClassifier of scikit-learn)",
    "extra_trees": "extremely randomised trees",
    "mlp": "a neural network",
    "ensemble": "linear, boosting and extra_trees, with a logistic head on their out-of-fold probabilities",
    "auto": "what MetricClassifier takes by itself: the ensemble of the members that can take the data",
}


def page(comparison: Comparison, run: Run, model: MetricClassifier | None = None, profile: TableProfile | None = None) -> str:
    """The report as HTML.

    With a model, it also says what the model is and lists its candidates. With a profile, it describes the columns.
    """
    environment = Environment(
        loader=PackageLoader("metricfit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=words.printed,
    )
    environment.globals |= {format_.__name__: format_ for format_ in FORMATS}
    results, metric = comparison.results.values(), words.MetricWords.of(comparison)
    reliability, reliability_legend = figures.reliability_figure(comparison)
    return environment.get_template("page.html.jinja").render(
        comparison=comparison,
        metric=metric.title,
        metric_words=metric,
        run=run,
        model=model,
        profile=profile,
        columns=([], []) if profile is None else open_and_folded(profile),
        headline=headline(comparison),
        verdict=comparison.verdict,
        cards=_cards(comparison, metric),
        decisions=_decisions(comparison),
        forest=forest(comparison),
        gain=gain(comparison),
        review=review(comparison),
        reference=shown.reference_line(comparison),
        choice=shown.choice_line(comparison),
        n_colours=shown.N_COLOURS,
        marks=shown.marks(comparison),
        sizes=class_sizes(comparison),
        max_classes=MAX_CLASSES,
        max_folded=MAX_FOLDED,
        models={result.contender.model: _model_in_words(result) for result in results},
        methods={result.method.name: result.method for result in results},
        choices=[result for result in results if isinstance(result.method, Choice)],
        matrices=_matrices(comparison),
        level_words=heatmap.LEVEL_WORDS,
        effects=effects(comparison),
        importance=importance(comparison, model),
        most_rows=MOST_ROWS,
        decision_figure=figures.decision_figure(comparison),
        decision_legend=figures.decision_legend(comparison),
        trainings=_trainings(comparison, model),
        classes=_classes(comparison),
        label_shown=shown.class_of_interest(comparison),
        reliability_figure=reliability,
        reliability_legend=reliability_legend,
    )


def _cards(comparison: Comparison, metric: words.MetricWords) -> list[tuple[str, str, str]]:
    """The key numbers: what, the number, and a few words."""
    main, best, reference, counted = comparison.main, comparison.best, comparison.reference, "{:,}".format
    constant = next((result for result in comparison.results.values() if result.contender.model == TRIVIAL), None)
    n_scores = len(reference.scores)
    folds = f"{comparison.n_splits} folds, {comparison.n_repeats} {'repeat' if comparison.n_repeats == 1 else 'repeats'}"
    title = "Best" if main is best else "Recommended"
    named = {title if comparison.subject is None else "This model": main, "Reference": reference}
    if main is not best and best is not reference:
        named["Best"] = best
    cards = [(what, metric.score(one.estimate.mean), one.contender.name) for what, one in named.items()]
    if constant is not None:
        cards.append(("Constant answer", metric.score(constant.estimate.mean), comparison.constant_title))
    n_columns, n_classes = len(comparison.columns), len(comparison.classes)
    shape = f"{counted(n_columns)} {'column' if n_columns == 1 else 'columns'}, {counted(n_classes)} classes"
    return [
        *cards,
        ("Rows", counted(comparison.n_rows), shape),
        ("Scores per contender", counted(n_scores), comparison.evaluation or folds),
    ]


def _decisions(comparison: Comparison) -> list[tuple[str, str]]:
    """What the program decided by itself: a word and a sentence each."""
    found = []
    if comparison.positive is not None:
        found.append(("Positive class", str(comparison.positive)))
    if comparison.order:
        found.append(("Order of the classes", " < ".join(comparison.order)))
    return [*found, *(("Note", note) for note in comparison.notes)]


def _model_in_words(result: Result) -> str:
    given = result.contender.given
    if given is None or isinstance(given, str):
        return MODELS_IN_WORDS.get(result.contender.model, "")
    return ", ".join(type(one).__name__ for one in given) if isinstance(given, list | tuple) else type(given).__name__


def _matrices(comparison: Comparison) -> list[dict[str, Any]]:
    """Heat maps of the reference and the choice: cells with numbers for few classes, a picture for many."""
    names = [str(label) for label in comparison.classes]
    lines = {line.name: line for line in (shown.reference_line(comparison), shown.choice_line(comparison))}
    matrices = {name: curves.confusion(comparison, line.result) for name, line in lines.items()}
    few, drawn = len(names) <= heatmap.MAX_NUMBERS, heatmap.classes_to_draw(list(matrices.values()))
    return [
        {
            "name": name,
            "colour": lines[name].colour,
            "labels": names,
            "rows": heatmap.cells(matrix, names) if few else None,
            "picture": None if few else heatmap.picture(matrix, names, f"Confusion matrix of {name}", drawn),
            "n_drawn": len(drawn),
            "confusions": heatmap.frequent_confusions(matrix, names)[: FEW_CONFUSIONS if few else None],
        }
        for name, matrix in matrices.items()
    ]


def _trainings(comparison: Comparison, model: MetricClassifier | None) -> list[dict[str, Any]]:
    """One entry per contender that trained on a surrogate."""
    colours, metric = shown.contender_colours(comparison), words.MetricWords.of(comparison)
    histories = [
        (name, colours[name], result.method.summary, list(result.history))
        for name, result in comparison.results.items()
        if result.history and not isinstance(result.method, Choice)
    ]
    if model is not None and model.history_:
        name, colour = f"this model: {model.learner_}, {model.chosen_}", colours[comparison.choice.contender.name]
        histories.insert(0, (name, colour, "fitted to all rows", list(model.history_)))
    return [
        {
            "name": name,
            "colour": colour,
            "what": what,
            "figures": figures.history_figures(history, metric, colour),
            "alignment": curves.alignment(history),
        }
        for name, colour, what, history in histories
    ]


def _classes(comparison: Comparison) -> list[dict[str, Any]]:
    """Precision and recall of the reference and of the choice, class by class."""
    both = (curves.per_class(comparison, result) for result in (comparison.reference, comparison.choice))
    return [
        {"label": base["label"], "rows": base["rows"], "base": base, "choice": choice}
        for base, choice in zip(*both, strict=True)
    ]
