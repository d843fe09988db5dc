"""Claims: the gain of one method over another, as published and in our runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from metricfit.comparison._statistics import corrected_estimate, holm
from reproductions._markdown import table, with_interval

TIE = 0.5  # points; a published difference up to this counts as a tie, in all papers alike

FULL, REDUCED, SCALED, QUICK = "full", "reduced", "scaled", "quick"  # protocols, see Experiment.protocol; QUICK is --quick

# the verdicts on a published gain, and those on a published tie
GAIN_VERDICTS = ("holds", "larger", "smaller", "within noise", "no such gain", "reversed")
TIE_VERDICTS = ("level", "unclear", "a difference")
NOT_PUBLISHED, NO_VERDICT = "not published", "scaled: no verdict"  # instead of a verdict


@dataclass(frozen=True)
class Runs:
    """The runs behind a claim: how many seeds on how many splits, and the rows of one split.

    ``splits`` are different cuts of the data into training and test rows. Seeds alone change weights and batches, and the test
    rows stay the same.
    """

    seeds: int = 1
    splits: int = 1
    test_rows: int | None = None
    train_rows: int | None = None

    @property
    def test_share(self) -> float:
        """Nadeau and Bengio's ratio of test to training rows; 0 for one split, where there is no overlap.

        >>> Runs(seeds=5, test_rows=20, train_rows=80).test_share, Runs(splits=10, test_rows=20, train_rows=80).test_share
        (0.0, 0.25)
        """
        if self.splits == 1:
            return 0.0
        if not self.test_rows or not self.train_rows:
            raise ValueError(f"`test_rows` and `train_rows` should be given for several splits, got {self}.")
        return self.test_rows / self.train_rows


@dataclass(frozen=True)
class Claim:
    """A gain in points: published, and ours with the half width of its 95 % interval and its p-value.

    A claim without a number has ``direction`` 1 (better) or -1 (worse) instead of ``published``. With neither, nothing was
    published and the claim is only a measurement. Claims of one ``group`` share runs, so they are not independent. ``toy`` is
    for examples of a few points, which were made to show the effect. ``protocol`` is FULL, REDUCED, SCALED or QUICK.
    """

    text: str
    published: float | None
    ours: float
    half_width: float
    direction: int = 0
    p: float = 1.0
    runs: Runs = Runs()
    group: str = ""
    toy: bool = False
    protocol: str = FULL

    def __post_init__(self) -> None:
        if self.direction not in ((-1, 0, 1) if self.published is None else (0,)):
            raise ValueError(
                f"`direction` should be -1, 0 or 1 if `published` is None, else 0; got `direction` {self.direction!r} and "
                f"`published` {self.published!r}."
            )

    @property
    def low(self) -> float:
        return self.ours - self.half_width

    @property
    def high(self) -> float:
        return self.ours + self.half_width

    @property
    def kind(self) -> str:
        """What was published: a "gain", a "tie", a "direction" without a number, or "nothing".

        >>> [Claim("", *claim).kind for claim in ((3.3, 3.4, 0.2), (0.1, 0.0, 0.2), (None, 1.0, 0.2, 1), (None, 1.0, 0.2))]
        ['gain', 'tie', 'direction', 'nothing']
        """
        if self.published is None:
            return "direction" if self.direction else "nothing"
        return "tie" if abs(self.published) <= TIE else "gain"

    @property
    def verdict(self) -> str:
        """What our interval says about the published difference. The rules are the same for all claims.

        A published *gain* (more than half a point) is compared with our interval, towards the published sign:
        "holds" if the interval is above zero; then "smaller" if all of it is below half of the published gain, "larger" if
        all of it is above twice the published gain. If the interval contains zero: "within noise" if it also reaches half of
        the published gain, else "no such gain". "reversed" if all of it is below zero.

        >>> [Claim("on car", 3.3, ours, 0.2).verdict for ours in (3.4, 0.5, 9.0, -1.0)]
        ['holds', 'smaller', 'larger', 'reversed']
        >>> [Claim("on adult", 7.6, -0.3, half_width).verdict for half_width in (0.6, 6.0)]
        ['no such gain', 'within noise']

        A published *tie* is "level" if ours is one too and the interval is within one point of zero, "a difference" if ours is
        larger and the interval excludes zero, else "unclear".

        >>> [Claim("on wine", 0.0, ours, half_width).verdict for ours, half_width in ((0.1, 0.2), (0.1, 5.0), (-5.6, 1.0))]
        ['level', 'unclear', 'a difference']

        A measurement without a published number gets no verdict. Neither does a scaled run, which cannot judge what the paper
        measured with another network or other data.

        >>> Claim("on car", None, 3.4, 0.2).verdict, Claim("on CIFAR-10", 0.79, -2.1, 0.9, protocol=SCALED).verdict
        ('not published', 'scaled: no verdict')
        """
        if self.kind == "nothing":
            return NOT_PUBLISHED
        if self.protocol == QUICK:
            return "quick: no verdict"
        if self.protocol == SCALED:
            return NO_VERDICT
        seen = self.low > 0.0 or self.high < 0.0
        if self.kind == "tie":
            if abs(self.ours) <= TIE and max(-self.low, self.high) <= 2.0 * TIE:
                return "level"
            return "a difference" if seen else "unclear"
        sign = self.direction or math.copysign(1.0, self.published or 0.0)
        nearest, farthest = sign * self.ours - self.half_width, sign * self.ours + self.half_width
        size = abs(self.published or 0.0)
        if not seen:
            return "within noise" if farthest >= 0.5 * size else "no such gain"
        if farthest < 0.0:
            return "reversed"
        if farthest < 0.5 * size:
            return "smaller"
        return "larger" if self.published is not None and nearest > 2.0 * size else "holds"

    @property
    def published_text(self) -> str:
        """The published gain as text for a table; empty if nothing was published.

        >>> Claim("EXACT on car", 3.29, 3.41, 0.15).published_text, Claim("worse", None, 0.8, 0.3, -1).published_text
        ('+3.29', '< 0')
        """
        return f"{self.published:+.2f}" if self.published is not None else {1: "> 0", -1: "< 0", 0: ""}[self.direction]


def claim(
    text: str,
    published: float | None,
    differences: Sequence[float],
    runs: Runs | None = None,
    *,
    direction: int = 0,
    group: str = "",
    toy: bool = False,
) -> Claim:
    """A claim from paired differences: one per seed on one split, or one per split if ``runs`` has several.

    >>> claim("leaky over plain", 0.3, [1.0, 3.0]).ours
    2.0
    """
    runs = runs or Runs(seeds=len(differences))
    found = corrected_estimate(differences, runs.test_share)
    return Claim(text, published, found.mean, found.high - found.mean, direction, found.p, runs, group, toy)


def mean_with_interval(differences: Sequence[float], test_share: float = 0.0) -> str:
    """Mean and 95 % interval as text; a single value has no interval.

    >>> mean_with_interval([1.0]), mean_with_interval([1.0, 1.2])
    ('+1.00', '+1.10 (-0.17 … +2.37)')
    """
    return with_interval(corrected_estimate(differences, test_share))


def claims_table(claims: Sequence[Claim], adjusted: Sequence[float] | None = None) -> str:
    """The claims as a Markdown table; ``adjusted`` are the p-values after a correction for the number of claims."""
    rows = []
    for index, one in enumerate(claims):
        interval = f"{one.low:+.2f} … {one.high:+.2f}" if math.isfinite(one.high) else "one run"
        rows.append(
            [
                one.text,
                one.published_text,
                f"{one.ours:+.2f}",
                interval,
                *([] if adjusted is None else [p_text(adjusted[index]) if one.half_width else "no scatter", one.group]),
                str(one.runs.seeds),
                str(one.runs.splits),
                f"{one.runs.test_rows:,}" if one.runs.test_rows else "",
                one.protocol,
                one.verdict,
            ]
        )
    of_all = ["p (Holm)", "group"] if adjusted is not None else []
    heads = ["claim", "published", "ours", "95 % interval", *of_all, "seeds", "splits", "test rows", "protocol", "verdict"]
    return table(heads, rows)


def p_text(p: float) -> str:
    """A p-value as text.

    >>> p_text(0.0001), p_text(0.0312)
    ('< 0.001', '0.031')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def correct(claims: Sequence[Claim]) -> list[float]:
    """Holm's p-values over all claims together; toys are not tested and do not count.

    >>> correct([Claim("a", 1.0, 1.0, 0.5, p=0.01), Claim("b", 1.0, 1.0, 0.5, p=0.03), Claim("toy", 9.0, 9.0, 0.0, toy=True)])
    [0.02, 0.03, 1.0]
    """
    tested = [index for index, one in enumerate(claims) if not one.toy]
    adjusted = [1.0] * len(claims)
    for index, p in zip(tested, holm([claims[index].p for index in tested]), strict=True):
        adjusted[index] = p
    return adjusted


def counts(claims: Sequence[Claim]) -> str:
    """How many published gains, directions (without a number) and ties have which verdict, and how many have none.

    >>> counts([Claim("a", 3.0, 3.1, 0.5), Claim("b", 0.1, 0.0, 0.2), Claim("c", None, 1.0, 0.5, direction=1)])
    '1 published gain: 1 holds. 1 published direction: 1 holds. 1 published tie: 1 level.'
    >>> counts([Claim("d", 3.0, 3.1, 0.5, protocol=SCALED), Claim("e", None, 1.0, 0.5)])
    '1 scaled, without a verdict. 1 measured without a published number.'
    """
    real = [one for one in claims if not one.toy]
    parts = []
    for kind, verdicts in (("gain", GAIN_VERDICTS), ("direction", GAIN_VERDICTS), ("tie", TIE_VERDICTS)):
        found = Counter(one.verdict for one in real if one.kind == kind and one.verdict != NO_VERDICT)
        if n_claims := found.total():
            words = ", ".join(f"{found[verdict]} {verdict}" for verdict in verdicts if found[verdict])
            parts.append(f"{n_claims} published {kind}{'s' * (n_claims > 1)}: {words}.")
    for verdict, words in ((NO_VERDICT, "scaled, without a verdict"), (NOT_PUBLISHED, "measured without a published number")):
        if n_claims := sum(one.verdict == verdict for one in real):
            parts.append(f"{n_claims} {words}.")
    return " ".join(parts)


CAVEAT = (
    "With one split, intervals are over seeds: they tell whether the published number comes out on this split, and leave out "
    "the variation between test sets. With several splits, intervals are over splits and account for their overlap: they "
    "tell whether there is a gain."
)


def claims_section(claims: Sequence[Claim]) -> str:
    """The section of a result page that has the claims."""
    return f"## Claims, in points\n\n{claims_table(claims)}\n\n{CAVEAT}"
