"""The contenders in the figures: which are drawn, in which colours, and how the page marks them in words."""

from __future__ import annotations

from dataclasses import dataclass

from metricfit.comparison import Comparison, Result
from metricfit.methods import CROSS_ENTROPY

N_COLOURS = 12  # in the page's palette
MODEL_COLOURS = {"trivial": 0, "linear": 7, "boosting": 2, "extra_trees": 10, "mlp": 3, "ensemble": 1}
OTHER_COLOURS = (5, 8, 9, 11, 6)  # for the user's own models
SECOND_COLOUR = 4  # for a choice of the reference's model, which would have the same colour


@dataclass(frozen=True)
class Line:
    """A contender in the figures that compare a few of them; the plain variant has a hollow dot."""

    result: Result
    colour: int
    hollow: bool = False

    @property
    def name(self) -> str:
        return self.result.contender.name


def model_colours(comparison: Comparison) -> dict[str, int]:
    """One colour per model."""
    models = list(dict.fromkeys(result.contender.model for result in comparison.results.values()))
    others = [name for name in models if name not in MODEL_COLOURS]
    own = {name: OTHER_COLOURS[index % len(OTHER_COLOURS)] for index, name in enumerate(others)}
    return {name: MODEL_COLOURS.get(name, own.get(name, 0)) for name in models}


def contender_colours(comparison: Comparison) -> dict[str, int]:
    """For every contender the colour that it has in all figures: that of its model, except for ``SECOND_COLOUR``."""
    by_model, choice, reference = model_colours(comparison), comparison.choice, comparison.reference
    colours = {name: by_model[result.contender.model] for name, result in comparison.results.items()}
    if choice is not reference and choice.contender.model == reference.contender.model:
        colours[choice.contender.name] = SECOND_COLOUR
    return colours


def class_of_interest(comparison: Comparison) -> int:
    """The class of two whose probability the figures show: the positive one, or else the second."""
    return 1 if comparison.positive_index is None else comparison.positive_index


def reference_line(comparison: Comparison) -> Line:
    return _line(comparison, comparison.reference)


def choice_line(comparison: Comparison) -> Line:
    return _line(comparison, comparison.choice)


def plain_line(comparison: Comparison) -> Line | None:
    """The choice's model trained by cross-entropy without a tuned threshold; None if it is the choice, or not compared."""
    model = comparison.choice.contender.model
    plain = comparison.results.get(f"{model}, {CROSS_ENTROPY}")
    if plain is None or plain is comparison.choice:
        return None
    return _line(comparison, plain, hollow=True)


def compared_lines(comparison: Comparison) -> list[Line]:
    """The reference and the choice; one line if they are the same."""
    lines = (reference_line(comparison), choice_line(comparison))
    return list({line.name: line for line in lines}.values())


def _line(comparison: Comparison, result: Result, hollow: bool = False) -> Line:
    return Line(result, contender_colours(comparison)[result.contender.name], hollow)


def marks(comparison: Comparison) -> dict[str, list[str]]:
    """For every contender the words that mark it, if any."""
    verdict, words = comparison.verdict, dict[str, list[str]]()
    for name, mark in ((verdict.best, "best"), (verdict.recommended, "recommended"), (comparison.subject, "fitted")):
        if name is not None and (mark != "recommended" or name != comparison.constant_name):
            words.setdefault(name, []).append(mark)
    words.setdefault(comparison.reference.contender.name, []).append("reference")
    return {name: words.get(name, []) for name in comparison.results}
