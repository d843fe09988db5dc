"""Labels and numbers in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    return repr(text if len(text) <= MAX_LETTERS else text[: MAX_LETTERS - 1] + "…")


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
