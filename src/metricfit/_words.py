"""Words in error messages, without torch, so that a command that only reads a file starts fast."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def did_you_mean(value: Any, options: Iterable[str]) -> str:
    """A sentence with the closest option, or nothing if none is close; case does not matter.

    >>> did_you_mean("lineal", ["linear", "boosting"])
    " Did you mean 'linear'?"
    """
    known = {option.lower(): option for option in options}
    close = get_close_matches(str(value).lower(), known, n=1)
    return f" Did you mean {known[close[0]]!r}?" if close else ""
