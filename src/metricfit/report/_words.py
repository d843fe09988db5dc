"""How the page writes names and numbers, and which contenders its figures draw, in which colours."""

from __future__ import annotations

import math
from dataclasses import dataclass

from metricfit._printable import printable_lines
from metricfit.comparison import Comparison, Difference, Estimate, MetricWords, Result, p_in_words
from metricfit.methods import CROSS_ENTROPY

DASH, MINUS = "\u2013", "\u2212"
N_COLOURS = 12  # in the page's palette
MODEL_COLOURS = {"trivial": 0, "linear": 7, "boosting": 2, "extra_trees": 10, "mlp": 3, "ensemble": 1}
OTHER_COLOURS = (5, 8, 9, 11, 6)  # for the user's own models
SECOND_COLOUR = 4  # for a choice of the reference's model, which would have the same colour


def visible(html: str) -> str:
    r"""The page with an escape for every control character but line ends, and for half a character, which no file can hold.

    >>> print(visible("a\x00b\x1b[31m\u202ec\ud800"))
    a\x00b\x1b[31m\u202ec\ud800
    """
    return printable_lines(html).encode("utf-8", "backslashreplace").decode()


def score(value: float | None, sign: bool = False) -> str:
    """Four decimals below ten and fewer above; a dash for what is missing.

    >>> score(0.71), score(1234.5678), score(0.1, sign=True), score(float("inf")), score(None)
    ('0.7100', '1,234.6', '+0.1000', '–', '–')
    """
    if value is None or not math.isfinite(value):
        return DASH
    digits = 4 if abs(value) < 10.0 else 2 if abs(value) < 1000.0 else 1
    return f"{value:{'+' if sign else ''},.{digits}f}".replace("-", MINUS)


def interval(low: float | None, high: float | None, sign: bool = False) -> str:
    """Two ends with three decimals; a dash if one is missing.

    >>> interval(0.1, 0.25), interval(float("-inf"), float("inf"))
    ('0.100 to 0.250', '–')
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return DASH
    digits = 3 if max(abs(low), abs(high)) < 10.0 else 1
    return f"{low:{'+' if sign else ''},.{digits}f} to {high:{'+' if sign else ''},.{digits}f}".replace("-", MINUS)


def p_value(difference: Difference) -> str:
    """The p-value after Holm, as in the verdict; a dash if there is none."""
    return p_in_words(difference.p_holm) if difference.is_tested else DASH


def rows(value: float, sign: bool = False, like: float | None = None) -> str:
    """A number of rows per thousand: whole from ten on, else with one decimal; ``like`` is the number it is printed with.

    >>> rows(12.4), rows(3.44), rows(3.0), rows(-0.2, sign=True), rows(0.0), rows(12.4, like=3.44)
    ('12', '3.4', '3', '−0.2', '0', '12.4')
    """
    size = value if like is None else like
    digits = 0 if abs(size) >= 10.0 or abs(size - round(size)) < 0.05 else 1
    plain = f"{value + 0.0:{'+' if sign and round(value, 1) else ''},.{digits}f}".replace("-", MINUS)
    return "0" if plain in ("0.0", f"{MINUS}0", f"{MINUS}0.0") else plain


def money(value: float) -> str:
    """An amount in the unit of the costs: no decimals from a hundred on, else two.

    >>> money(1234.6), money(12.5), money(-3.0)
    ('1,235', '12.50', '−3')
    """
    digits = 0 if abs(value) >= 100.0 or value == round(value) else 2
    return f"{value + 0.0:,.{digits}f}".replace("-", MINUS)


class PageWords(MetricWords):
    """The metric, with scores as the page writes them."""

    @classmethod
    def of(cls, comparison: Comparison) -> PageWords:
        return cls(comparison.metric, comparison.measure)

    def score(self, value: float | None) -> str:
        return score(None if value is None else self.shown(value))

    def interval(self, estimate: Estimate) -> str:
        shown = self.shown_estimate(estimate)
        return interval(shown.low, shown.high)


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


def line_of(comparison: Comparison, result: Result, hollow: bool = False) -> Line:
    return Line(result, contender_colours(comparison)[result.contender.name], hollow)


def plain_line(comparison: Comparison) -> Line | None:
    """The choice's model trained by cross-entropy without a tuned threshold; None if it is the choice, or not compared."""
    model = comparison.choice.contender.model
    plain = comparison.results.get(f"{model}, {CROSS_ENTROPY}")
    return None if plain is None or plain is comparison.choice else line_of(comparison, plain, hollow=True)


def compared_lines(comparison: Comparison) -> list[Line]:
    """The reference and the choice; one line if they are the same."""
    results = {result.contender.name: result for result in (comparison.reference, comparison.choice)}
    return [line_of(comparison, result) for result in results.values()]


def marks(comparison: Comparison) -> dict[str, list[str]]:
    """For every contender the words that mark it, if any."""
    verdict, words = comparison.verdict, dict[str, list[str]]()
    for name, mark in ((verdict.best, "best"), (verdict.recommended, "recommended"), (comparison.subject, "fitted")):
        if name is not None and (mark != "recommended" or name != comparison.constant_name):
            words.setdefault(name, []).append(mark)
    words.setdefault(comparison.reference.contender.name, []).append("reference")
    return {name: words.get(name, []) for name in comparison.results}
