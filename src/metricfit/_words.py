"""Words in error messages, without torch, so that a command that only reads a file starts fast."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def did_you_mean(value: Any, options: Iterable[str]) -> str:
    """A sentence with the closest option, or nothing if none is close.

    >>> did_you_mean("lineal", ["linear", "boosting"])
    " Did you mean 'linear'?"
    """
    close = get_close_matches(str(value).lower(), list(options), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
