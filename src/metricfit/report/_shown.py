"""Which contenders the page shows in detail, in which colours, and how it marks them in words."""

from __future__ import annotations

from dataclasses import dataclass

from metricfit.comparison import Comparison, Result
from metricfit.methods import CROSS_ENTROPY

N_COLOURS = 12  # in the page's palette
MODEL_COLOURS = {"trivial": 0, "linear": 7, "boosting": 2, "extra_trees": 10, "mlp": 3, "ensemble": 1}
OTHER_COLOURS = (5, 8, 9, 11, 6)  # for the user's own models
SECOND_COLOUR = 4  # for a choice of the reference's model, so that the two can be told apart


@dataclass(frozen=True)
class Shown:
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
    own = {name: OTHER_COLOURS[place % len(OTHER_COLOURS)] for place, name in enumerate(others)}
    return {name: MODEL_COLOURS.get(name, own.get(name, 0)) for name in models}


def contender_colours(comparison: Comparison) -> dict[str, int]:
    """For every contender the colour that it has in all figures: that of its model, except for ``SECOND_COLOUR``."""
    by_model, choice, reference = model_colours(comparison), comparison.choice, comparison.reference
    colours = {name: by_model[result.contender.model] for name, result in comparison.results.items()}
    if choice is not reference and choice.contender.model == reference.contender.model:
        colours[choice.contender.name] = SECOND_COLOUR
    return colours


def positive_place(comparison: Comparison) -> int | None:
    """The place of the positive class of two; None if there is none."""
    if comparison.positive is None or len(comparison.classes) != 2:
        return None
    return next((place for place, label in enumerate(comparison.classes) if str(label) == str(comparison.positive)), None)


def class_of_interest(comparison: Comparison) -> int:
    """The class of two whose probability the figures show: the positive one, or else the second."""
    place = positive_place(comparison)
    return 1 if place is None else place


def reference_line(comparison: Comparison) -> Shown:
    return _shown(comparison, comparison.reference)


def choice_line(comparison: Comparison) -> Shown:
    return _shown(comparison, comparison.choice)


def plain_line(comparison: Comparison) -> Shown | None:
    """The choice's model trained by cross-entropy without a tuned threshold; None if it is the choice, or not compared."""
    model = comparison.choice.contender.model
    plain = comparison.results.get(f"{model}, {CROSS_ENTROPY}")
    if plain is None or plain is comparison.choice:
        return None
    return _shown(comparison, plain, hollow=True)


def shown_lines(comparison: Comparison) -> list[Shown]:
    """The reference, the plain variant of the choice, and the choice; each once."""
    lines = [reference_line(comparison), plain_line(comparison), choice_line(comparison)]
    return list({line.name: line for line in lines if line is not None}.values())


def _shown(comparison: Comparison, result: Result, hollow: bool = False) -> Shown:
    return Shown(result, contender_colours(comparison)[result.contender.name], hollow)


def marks(comparison: Comparison) -> dict[str, list[str]]:
    """For every contender the words that mark it, if any."""
    verdict, words = comparison.verdict, dict[str, list[str]]()
    for name, mark in ((verdict.best, "best"), (verdict.recommended, "recommended"), (comparison.subject, "fitted")):
        if name is not None and (mark != "recommended" or name != comparison.constant_name):
            words.setdefault(name, []).append(mark)
    words.setdefault(comparison.reference.contender.name, []).append("reference")
    return {name: words.get(name, []) for name in comparison.results}
