"""Claims: the gain of one method over another, as published and in our runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from metricfit.comparison._statistics import corrected_estimate
from reproductions._markdown import table

TIE = 0.5  # points; smaller published differences count as no difference, unless the paper claims one


@dataclass(frozen=True)
class Claim:
    """A gain in points: published, and ours with the half width of its 95 % interval.

    A claim without a number has ``direction`` 1 (better) or -1 (worse) instead of ``published``. Published differences up to
    ``tie`` count as no difference.
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
                f"`direction` should be -1 or 1 if `published` is None, else 0; got `direction` {self.direction!r} and "
                f"`published` {self.published!r}."
            )

    @property
    def verdict(self) -> str:
        """Whether the claim holds. A claim of no difference holds if the interval is within two ties of zero.

        An interval that contains zero refutes a published gain if it excludes half of the gain; otherwise it is inconclusive.

        >>> Claim("EXACT over cross-entropy on car", 3.29, 3.41, 0.15).verdict
        'holds'
        >>> Claim("the same on adult", -0.07, 0.01, 0.02).verdict, Claim("on fewer rows", -0.07, 0.01, 5.0).verdict
        ('holds: no difference', 'unclear')
        >>> Claim("MCC* over cross-entropy", 7.6, -0.3, 0.6).verdict, Claim("on fewer rows", 7.6, -0.3, 6.0).verdict
        ('no such gain', 'within noise')
        >>> Claim("expected accuracy is worse", None, 0.8, 0.3, direction=-1).verdict
        'reversed'
        """
        low, high = self.ours - self.half_width, self.ours + self.half_width
        seen = low > 0.0 or high < 0.0
        if self.published is not None and abs(self.published) <= self.tie:
            if abs(self.ours) <= self.tie and max(-low, high) <= 2.0 * self.tie:
                return "holds: no difference"
            return "a difference" if seen else "unclear"
        towards = self.direction or math.copysign(1.0, self.published or 0.0)
        reaches = self.ours * towards + self.half_width >= 0.5 * abs(self.published or 0.0)
        if not seen:
            return "within noise" if reaches else "no such gain"
        if self.ours * towards < 0.0:
            return "reversed"
        return "holds" if reaches else "holds, smaller"

    @property
    def published_text(self) -> str:
        """The published gain as text for a table.

        >>> Claim("EXACT on car", 3.29, 3.41, 0.15).published_text, Claim("worse", None, 0.8, 0.3, -1).published_text
        ('+3.29', '< 0')
        """
        return f"{self.published:+.2f}" if self.published is not None else "> 0" if self.direction > 0 else "< 0"


def claim(
    text: str,
    published: float | None,
    differences: Sequence[float],
    direction: int = 0,
    tie: float = TIE,
    test_share: float = 0.0,
) -> Claim:
    """A claim from paired differences over seeds, or over folds if ``test_share`` is the ratio of test to training rows.

    >>> claim("leaky over plain", 0.3, [1.0, 3.0]).ours
    2.0
    """
    found = corrected_estimate(differences, test_share)
    return Claim(text, published, found.mean, found.high - found.mean, direction, tie)


def mean_with_interval(differences: Sequence[float]) -> str:
    """Mean and 95 % interval as text; a single value has no interval.

    >>> mean_with_interval([1.0]), mean_with_interval([1.0, 1.2])
    ('+1.00', '+1.10 (-0.17 … +2.37)')
    """
    found = corrected_estimate(differences, 0.0)
    return f"{found.mean:+.2f}" + (f" ({found.low:+.2f} … {found.high:+.2f})" if len(differences) > 1 else "")


def claims_table(claims: Sequence[Claim]) -> str:
    """The claims as a Markdown table."""
    rows = []
    for one in claims:
        low, high = one.ours - one.half_width, one.ours + one.half_width
        interval = f"{low:+.2f} … {high:+.2f}" if math.isfinite(high) else "one run"
        rows.append([one.text, one.published_text, f"{one.ours:+.2f}", interval, one.verdict])
    return table(["claim", "published", "ours", "95 % interval", "verdict"], rows)


CAVEAT = (
    "Intervals are over seeds, or over folds and then corrected for their overlap. If all seeds share one split, the "
    "intervals do not include the variation between test sets."
)
