"""Render a comparison as HTML: every section has a template."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from metricfit._extras import is_installed
from metricfit._printable import shorten
from metricfit._typing import Floats
from metricfit.comparison import MOST_ROWS, Comparison, Result
from metricfit.methods import Choice
from metricfit.report import _confusion as confusion
from metricfit.report import _figures as figures
from metricfit.report import _words as words
from metricfit.report._confusion import gain
from metricfit.report._strips import MAX_CLASSES, MAX_FOLDED, class_sizes, effects, forest, importance, open_and_folded
from metricfit.report._thresholds import review

if TYPE_CHECKING:
    from metricfit.estimators import MetricClassifier
    from metricfit.profile import TableProfile

SECTIONS = ("top", "comparison", "summary", "gain", "review", "errors", "features", "data", "more")
LIMITED_SECTIONS = ("limits", "data", "run")
FORMATS: tuple[Callable[..., str], ...] = (words.score, words.interval, words.p_value, words.rows, words.money, shorten)
FEW_CONFUSIONS = 5  # listed with a matrix that has numbers
TONES = {"clear": "clear", "unclear": "enough", "constant": "open", "none": "open"}  # of the headline, by the verdict's status


@dataclass(frozen=True)
class Run:
    """Data, command, time and versions of a run."""

    data: str
    target: str
    command: str
    moment: str
    versions: dict[str, str]
    next_command: str = ""  # to type after this one

    @classmethod
    def now(cls, data: str, target: str, next_command: str = "") -> Run:
        """The run of the current process."""
        read_by = ("pyarrow",) if is_installed("pyarrow") else ()  # a comparison in Python works without
        names = ("metricfit", "torch", "scikit-learn", "numpy", "scipy", *read_by)
        return cls(
            data=data,
            target=target,
            command=shlex.join(["metricfit" if "metricfit" in sys.argv[0] else Path(sys.argv[0]).name, *sys.argv[1:]]),
            moment=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            versions={"Python": platform.python_version(), **{name: version(name) for name in names}},
            next_command=next_command,
        )


def page(comparison: Comparison, run: Run, model: MetricClassifier | None = None, profile: TableProfile | None = None) -> str:
    """The report as HTML.

    With a model, it also says what the model is and lists its candidates. With a profile, it describes the columns.
    """
    metric = words.PageWords.of(comparison)
    values: dict[str, Any] = {
        "comparison": comparison,
        "n_classes": len(comparison.classes),
        "metric": metric.title,
        "metric_words": metric,
        "run": run,
        "profile": profile,
        "columns": ([], []) if profile is None else open_and_folded(profile),
        "tone": TONES[comparison.verdict.status],
        "verdict": comparison.verdict,
        "decisions": _decisions(comparison),
        "reference": words.line_of(comparison, comparison.reference),
        "choice": words.line_of(comparison, comparison.choice),
        "n_colours": words.N_COLOURS,
        "sizes": class_sizes(comparison),
        "score_words": f"The scores of the comparison are means over {len(comparison.reference.scores)} splits.",
        "max_classes": MAX_CLASSES,
        "max_folded": MAX_FOLDED,
    }
    if comparison.limits is not None:
        rule = [] if model is None else model.rule_.summary().split("\n")
        return render(LIMITED_SECTIONS, {**values, "limits": comparison.limits, "rule": rule})
    return render(SECTIONS, {**values, **_sections_values(comparison, metric, model)})


def render(sections: Sequence[str], values: Mapping[str, Any]) -> str:
    """The page of these templates."""
    environment = Environment(
        loader=PackageLoader("metricfit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {format_.__name__: format_ for format_ in FORMATS}

    def fill(name: str, **more: Any) -> Markup:
        return Markup(environment.get_template(name).render(values, **more))

    filled = [fill(f"{name}.html.jinja") for name in sections]
    return words.visible(fill("page.html.jinja", style=fill("style.css.jinja"), sections=filled))


def _sections_values(comparison: Comparison, metric: words.PageWords, model: MetricClassifier | None) -> dict[str, Any]:
    """What only the templates of a comparison without limits show."""
    results = comparison.results.values()
    return {
        "model": model,
        "lead": _lead(comparison, metric),
        "cards": _cards(comparison, metric),
        "forest": forest(comparison),
        "gain": gain(comparison),
        "review": review(comparison),
        "models": {result.contender.model: result.contender.about_model for result in results},
        "methods": {result.method.name: result.method for result in results},
        "choices": [result for result in results if isinstance(result.method, Choice)],
        "matrices": _matrices(comparison),
        "level_words": confusion.LEVEL_WORDS,
        "effects": effects(comparison),
        "importance": importance(comparison, model),
        "most_rows": MOST_ROWS,
        "decision": figures.decision_figure(comparison),
        "trainings": _trainings(comparison, metric, model),
        "classes": _classes(comparison),
        "label_shown": words.class_of_interest(comparison),
        "reliability": figures.reliability_figure(comparison),
    }


def _lead(comparison: Comparison, metric: words.PageWords) -> str:
    """The score of the contender that the headline is about, and of the reference."""
    main, reference, best = comparison.main, comparison.reference, comparison.best

    def scored(result: Result) -> str:
        return f"{result.contender.in_words} ({metric.score(result.estimate.mean)})."

    if comparison.subject is not None:
        lead = f"Fitted: {scored(main)}"
    elif main is best:
        lead = f"Best of {len(comparison.results)} for {metric.title}: {scored(main)}"
    else:
        lead = f"For {metric.title}: {scored(main)} Best: {scored(best)}"
    return f"{lead} Reference: {scored(reference)}" if main is not reference and best is not reference else lead


def _cards(comparison: Comparison, metric: words.PageWords) -> list[tuple[str, str, str]]:
    """The key numbers: what, the number, and a few words."""
    main, best, reference, counted = comparison.main, comparison.best, comparison.reference, "{:,}".format
    title = "Best" if main is best else "Recommended"
    named = {title if comparison.subject is None else "This model": main, "Reference": reference}
    if main is not best and best is not reference:
        named["Best"] = best
    cards = [(what, metric.score(one.estimate.mean), one.contender.name) for what, one in named.items()]
    n_columns, n_classes = len(comparison.columns), len(comparison.classes)
    shape = f"{counted(n_columns)} {'column' if n_columns == 1 else 'columns'}, {counted(n_classes)} classes"
    return [
        *cards,
        ("Constant answer", metric.score(comparison.constant.estimate.mean), comparison.constant_title),
        ("Rows", counted(comparison.n_rows), shape),
        ("Scores per contender", counted(len(reference.scores)), comparison.evaluation),
    ]


def _decisions(comparison: Comparison) -> list[tuple[str, str]]:
    """What the program decided by itself: a word and a sentence each."""
    found = []
    if comparison.positive is not None:
        found.append(("Positive class", str(comparison.positive)))
    if comparison.order:
        found.append(("Order of the classes", " < ".join(comparison.order)))
    return [*found, *(("Note", note) for note in comparison.notes)]


def _matrices(comparison: Comparison) -> list[dict[str, Any]]:
    """Heat maps of the reference and the choice."""
    compared = words.compared_lines(comparison)
    found = [(line.name, line.colour, comparison.confusion(line.result)) for line in compared]
    return matrix_values(found, [str(label) for label in comparison.classes])


def matrix_values(
    matrices: Sequence[tuple[str, int, Floats]], names: list[str], columns: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Heat maps of matrices with names and colours: cells with numbers for few classes, a picture for many.

    ``columns`` names all columns of a matrix that has more of them than classes.
    """
    few, n_classes, labels = len(names) <= confusion.MAX_NUMBERS, len(names), [*names, *columns[len(names) :]]
    drawn = confusion.classes_to_draw([matrix[:, :n_classes] for _, _, matrix in matrices])
    return [
        {
            "name": name,
            "colour": colour,
            "labels": labels[: matrix.shape[1]],
            "rows": confusion.cells(matrix, names) if few else None,
            "picture": None if few else confusion.picture(matrix, labels, f"Confusion matrix of {name}", drawn),
            "n_drawn": len(drawn),
            "confusions": confusion.frequent_confusions(matrix, names)[: FEW_CONFUSIONS if few else None],
        }
        for name, colour, matrix in matrices
    ]


def _trainings(comparison: Comparison, metric: words.PageWords, model: MetricClassifier | None) -> list[dict[str, Any]]:
    """One entry per contender that trained on a surrogate."""
    colours = words.contender_colours(comparison)
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
            "alignment": figures.alignment(history),
        }
        for name, colour, what, history in histories
    ]


def _classes(comparison: Comparison) -> list[dict[str, Any]]:
    """Precision and recall of the reference and of the choice, class by class."""
    names, compared = [str(label) for label in comparison.classes], (comparison.reference, comparison.choice)
    both = (figures.per_class(comparison.confusion(result), names) for result in compared)
    return [
        {"label": base["label"], "rows": base["rows"], "base": base, "choice": choice}
        for base, choice in zip(*both, strict=True)
    ]
