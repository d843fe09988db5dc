"""What a paper says that one method gains over another, beside what it gains here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from metricfit.reproductions._markdown import table

TIE = 0.5  # points: published differences up to this are no difference


@dataclass(frozen=True)
class Claim:
    """A gain in points: published, and ours with the half width of its 95 % interval over seeds."""

    text: str
    published: float
    ours: float
    half_width: float

    @property
    def verdict(self) -> str:
        """Whether it holds.

        >>> Claim("EXACT over cross-entropy on car", 3.29, 3.41, 0.15).verdict
        'holds'
        >>> Claim("the same on adult", -0.07, 0.01, 0.02).verdict
        'holds: no difference'
        """
        low, high = self.ours - self.half_width, self.ours + self.half_width
        if abs(self.published) <= TIE:
            if abs(self.ours) <= TIE:
                return "holds: no difference"
            return "a difference" if low > 0.0 or high < 0.0 else "unclear"
        towards = math.copysign(1.0, self.published)
        if low <= 0.0 <= high:
            return "not seen"
        if self.ours * towards < 0.0:
            return "reversed"
        return "holds" if abs(self.ours) + self.half_width >= 0.5 * abs(self.published) else "holds, smaller"


def claim(text: str, published: float, differences: Sequence[float]) -> Claim:
    """Of paired differences over seeds.

    >>> claim("leaky over plain", 0.3, [1.0, 3.0]).ours
    2.0
    """
    return Claim(text, published, float(np.mean(differences)), half_width(differences))


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
        rows.append([one.text, f"{one.published:+.2f}", f"{one.ours:+.2f}", interval, one.verdict])
    return table(["claim", "published", "ours", "95 % interval over seeds", "verdict"], rows)
