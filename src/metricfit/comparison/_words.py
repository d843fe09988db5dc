"""Labels and numbers in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class MetricWords:
    """How a metric and its scores are shown. A cost is a positive number, and a gain in it is a saving.

    >>> words = MetricWords("minus cost", Cost([[0.0, 1.0], [5.0, 0.0]]))
    >>> words.title, words.shown(-0.56), words.text(-0.56), words.sentence(-0.56)
    ('cost per case', 0.56, '0.5600', 'cost 0.56 per case')
    """

    name: str
    measure: Metric

    @property
    def is_cost(self) -> bool:
        return isinstance(self.measure, Cost)

    @property
    def title(self) -> str:
        return "cost per case" if self.is_cost else self.name

    @property
    def gain(self) -> str:
        """The word for a positive difference of two contenders."""
        return "saving" if self.is_cost else "difference"

    @property
    def difference(self) -> str:
        return "saving per case" if self.is_cost else f"difference in {self.title}"

    @property
    def loss(self) -> str:
        return "rise in the cost per case" if self.is_cost else f"drop in {self.title}"

    def shown(self, value: Numbers) -> Numbers:
        """The score as a person reads it. Differences stay as they are, for a gain is a saving."""
        return 0.0 - value if self.is_cost else value

    def shown_estimate(self, estimate: Estimate) -> Estimate:
        """The estimate as a person reads it, from its low to its high end."""
        low, high = sorted((self.shown(estimate.low), self.shown(estimate.high)))
        return replace(estimate, mean=self.shown(estimate.mean), low=low, high=high)

    def text(self, value: float) -> str:
        return f"{self.shown(value):.4f}"

    def sentence(self, value: float) -> str:
        """The metric and a score, to be read in a sentence."""
        return f"cost {self.shown(value):.3g} per case" if self.is_cost else f"{self.name} {self.text(value)}"
