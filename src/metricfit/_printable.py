"""Text in messages, without torch, so that a command that only reads a file starts fast.

A control character in text from a file could change the terminal or hide what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

MAX_LENGTH = 80  # of a value in a message
# C0, DEL and C1; marks of direction; line and paragraph separators; embeddings, overrides and isolates of direction
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""The text with visible escapes for control characters.

    >>> print(printable("red: \x1b[31m, reversed: \u202e"))
    red: \x1b[31m, reversed: \u202e
    """
    return _CONTROL.sub(lambda found: repr(found.group())[1:-1], text)


def printable_lines(text: str) -> str:
    """As :func:`printable`, but line ends stay."""
    return "\n".join(map(printable, text.split("\n")))


def shorten(text: str, most: int) -> str:
    """The text, or its beginning and an ellipsis.

    >>> shorten("x" * 50, 30) == "x" * 29 + "…"
    True
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def quoted(value: object) -> str:
    """The value in quotes, on one line and shortened, as error messages show it.

    >>> quoted("x" * 200)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'"
    """
    return repr(_cut(value) if isinstance(value, str) else value)


def listed(names: Sequence[str], most: int) -> str:
    """The first names, shortened and separated by commas.

    >>> listed(["age", "city", "day"], 2)
    'age, city, ...'
    """
    return ", ".join(map(_cut, names[:most])) + (", ..." if len(names) > most else "")


def did_you_mean(value: Any, options: Iterable[str]) -> str:
    """A sentence with the closest option, or nothing if none is close; case and the order of words do not matter.

    >>> did_you_mean("lineal", ["linear", "boosting"]), did_you_mean("macro_f1", ["f2_macro", "f1_macro"])
    (" Did you mean 'linear'?", " Did you mean 'f1_macro'?")
    """
    known = {option.lower(): option for option in options}
    words = sorted(str(value).lower().split("_"))
    close = [option for option in known if sorted(option.split("_")) == words]
    close = close or get_close_matches(str(value).lower(), known, n=1)
    return f" Did you mean {known[close[0]]!r}?" if close else ""


def _cut(text: str) -> str:
    return f"{text[:MAX_LENGTH]}..." if len(text) > MAX_LENGTH else text
