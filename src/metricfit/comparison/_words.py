"""Labels and numbers in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from metricfit._printable import shorten
from metricfit._typing import Floats
from metricfit.comparison._statistics import Estimate
from metricfit.metrics import Cost, Metric

Numbers = TypeVar("Numbers", float, Floats)
MAX_LETTERS = 40  # of a label in a sentence
MAX_LABELS = 5  # in a list

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def quote(label: Any) -> str:
    """The label as Python writes it; a long one is cut.

    >>> quote("good"), quote(3), quote("x" * 50) == "'" + "x" * 39 + "…'"
    ("'good'", '3', True)
    """
    if not isinstance(label, str):
        return str(label)
    text = " ".join(label.split())
    return repr(shorten(text, MAX_LETTERS))


def join_labels(labels: Sequence[Any]) -> str:
    """Labels as a list in a sentence.

    >>> join_labels(["a"]), join_labels(["a", "b"]), join_labels(range(8))
    ("'a'", "'a' and 'b'", '0, 1, 2, 3, 4 and 3 more')
    """
    quoted = [quote(label) for label in labels[:MAX_LABELS]]
    rest = len(labels) - len(quoted)
    last = f"{rest} more" if rest else quoted.pop()
    return f"{', '.join(quoted)} and {last}" if quoted else last


def number_word(number: int) -> str:
    """A small number as a word.

    >>> number_word(2), number_word(12)
    ('two', '12')
    """
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"


def plural(number: int, word: str) -> str:
    """
    >>> plural(1, "repeat"), plural(2000, "row")
    ('1 repeat', '2,000 rows')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def p_in_words(p: float) -> str:
    """A p-value with three decimals, for tables and sentences.

    >>> p_in_words(0.0004), p_in_words(0.004), p_in_words(0.25)
    ('< 0.001', '0.004', '0.250')
    """
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def metric_title(metric: str, measure: Metric) -> str:
    """The metric as a person reads it: costs are "cost per case" and not "minus cost".

    >>> metric_title("minus cost", Cost([[0.0, 1.0], [5.0, 0.0]]))
    'cost per case'
    """
    return "cost per case" if isinstance(measure, Cost) else metric


def shown_score(measure: Metric, value: Numbers) -> Numbers:
    """The score as a person reads it: a cost is positive. Differences stay as they are, for a gain is a saving.

    >>> shown_score(Cost([[0.0, 1.0], [5.0, 0.0]]), -0.56)
    0.56
    """
    return 0.0 - value if isinstance(measure, Cost) else value


def shown_estimate(measure: Metric, estimate: Estimate) -> Estimate:
    """The estimate as a person reads it: a cost is positive, from its low to its high end."""
    low, high = sorted((shown_score(measure, estimate.low), shown_score(measure, estimate.high)))
    return replace(estimate, mean=shown_score(measure, estimate.mean), low=low, high=high)


def score_text(measure: Metric, value: float) -> str:
    """
    >>> score_text(Cost([[0.0, 1.0], [5.0, 0.0]]), -0.56)
    '0.5600'
    """
    return f"{shown_score(measure, value):.4f}"


def score_in_words(metric: str, measure: Metric, value: float) -> str:
    """The metric and a score in a sentence.

    >>> score_in_words("minus cost", Cost([[0.0, 1.0], [5.0, 0.0]]), -0.56)
    'cost 0.56 per case'
    """
    if isinstance(measure, Cost):
        return f"cost {shown_score(measure, value):.3g} per case"
    return f"{metric} {score_text(measure, value)}"
