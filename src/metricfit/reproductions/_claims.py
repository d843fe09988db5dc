"""What a paper says that one method gains over another, beside what it gains here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from metricfit.reproductions._markdown import table

TIE = 0.5  # points: published differences up to this are no difference, unless the paper calls them one


@dataclass(frozen=True)
class Claim:
    """A gain in points: published, and ours with the half width of its 95 % interval over seeds.

    A text that only says better or worse has a direction, 1 or -1, instead of a published number.
    """

    text: str
    published: float | None
    ours: float
    half_width: float
    direction: int = 0
    tie: float = TIE

    def __post_init__(self) -> None:
        if (self.published is None) != (self.direction in (-1, 1)):
            raise ValueError(
                f"`direction` should be -1 or 1 where `published` is None, and 0 elsewhere, got {self.direction!r} with "
                f"{self.published!r}."
            )

    @property
    def verdict(self) -> str:
        """Whether it holds.

        >>> Claim("EXACT over cross-entropy on car", 3.29, 3.41, 0.15).verdict
        'holds'
        >>> Claim("the same on adult", -0.07, 0.01, 0.02).verdict
        'holds: no difference'
        >>> Claim("expected accuracy is worse", None, 0.8, 0.3, direction=-1).verdict
        'reversed'
        """
        low, high = self.ours - self.half_width, self.ours + self.half_width
        if self.published is not None and abs(self.published) <= self.tie:
            if abs(self.ours) <= self.tie:
                return "holds: no difference"
            return "a difference" if low > 0.0 or high < 0.0 else "unclear"
        towards = self.direction or math.copysign(1.0, self.published or 0.0)
        if low <= 0.0 <= high:
            return "not seen"
        if self.ours * towards < 0.0:
            return "reversed"
        return "holds" if abs(self.ours) + self.half_width >= 0.5 * abs(self.published or 0.0) else "holds, smaller"

    @property
    def published_text(self) -> str:
        """As it stands in a table.

        >>> Claim("EXACT on car", 3.29, 3.41, 0.15).published_text, Claim("worse", None, 0.8, 0.3, -1).published_text
        ('+3.29', '< 0')
        """
        return f"{self.published:+.2f}" if self.published is not None else "> 0" if self.direction > 0 else "< 0"


def claim(text: str, published: float | None, differences: Sequence[float], direction: int = 0, tie: float = TIE) -> Claim:
    """Of paired differences over seeds.

    >>> claim("leaky over plain", 0.3, [1.0, 3.0]).ours
    2.0
    """
    return Claim(text, published, float(np.mean(differences)), half_width(differences), direction, tie)


def half_width(values: Sequence[float]) -> float:
    """Of the 95 % interval of the mean, by Student's t; 0 for a single value, of which nothing is known.

    >>> round(half_width([1.0, 3.0]), 2)
    12.71
    """
    if len(values) < 2:
        return 0.0
    return float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))


def as_table(claims: Sequence[Claim]) -> str:
    """Claims in Markdown."""
    rows = []
    for one in claims:
        interval = f"{one.ours - one.half_width:+.2f} … {one.ours + one.half_width:+.2f}"
        rows.append([one.text, one.published_text, f"{one.ours:+.2f}", interval, one.verdict])
    return table(["claim", "published", "ours", "95 % interval over seeds", "verdict"], rows)
