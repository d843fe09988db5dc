"""How the page writes names and numbers: nothing invisible, and a dash for what is missing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from metricfit._printable import printable_lines
from metricfit.comparison import (
    Comparison,
    Difference,
    Estimate,
    Numbers,
    metric_title,
    p_in_words,
    shown_estimate,
    shown_score,
)
from metricfit.metrics import Cost, Metric

DASH, MINUS = "\u2013", "\u2212"


def visible(html: str) -> str:
    r"""The page with an escape for every control character but line ends, and for half a character, which no file can hold.

    >>> print(visible("a\x00b\x1b[31m\u202ec\ud800"))
    a\x00b\x1b[31m\u202ec\ud800
    """
    return printable_lines(html).encode("utf-8", "backslashreplace").decode()


def score(value: float | None, sign: bool = False) -> str:
    """Four decimals below ten and fewer above; a dash for what is missing.

    >>> score(0.71), score(1234.5678), score(0.1, sign=True), score(float("inf")), score(None)
    ('0.7100', '1,234.6', '+0.1000', '–', '–')
    """
    if value is None or not math.isfinite(value):
        return DASH
    digits = 4 if abs(value) < 10.0 else 2 if abs(value) < 1000.0 else 1
    return f"{value:{'+' if sign else ''},.{digits}f}".replace("-", MINUS)


def interval(low: float | None, high: float | None, sign: bool = False) -> str:
    """Two ends with three decimals; a dash if one is missing.

    >>> interval(0.1, 0.25), interval(float("-inf"), float("inf"))
    ('0.100 to 0.250', '–')
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return DASH
    digits = 3 if max(abs(low), abs(high)) < 10.0 else 1
    return f"{low:{'+' if sign else ''},.{digits}f} to {high:{'+' if sign else ''},.{digits}f}".replace("-", MINUS)


def p_value(difference: Difference) -> str:
    """The p-value after Holm, as in the verdict; a dash if there is none."""
    return p_in_words(difference.p_holm) if difference.is_tested else DASH


def rows(value: float, sign: bool = False, like: float | None = None) -> str:
    """A number of rows per thousand: whole from ten on, else with one decimal; ``like`` is the number it is printed with.

    >>> rows(12.4), rows(3.44), rows(3.0), rows(-0.2, sign=True), rows(0.0), rows(12.4, like=3.44)
    ('12', '3.4', '3', '−0.2', '0', '12.4')
    """
    size = value if like is None else like
    digits = 0 if abs(size) >= 10.0 or abs(size - round(size)) < 0.05 else 1
    plain = f"{value + 0.0:{'+' if sign and round(value, 1) else ''},.{digits}f}".replace("-", MINUS)
    return "0" if plain in ("0.0", f"{MINUS}0", f"{MINUS}0.0") else plain


def money(value: float) -> str:
    """An amount in the unit of the costs: no decimals from a hundred on, else two.

    >>> money(1234.6), money(12.5), money(-3.0)
    ('1,235', '12.50', '−3')
    """
    digits = 0 if abs(value) >= 100.0 or value == round(value) else 2
    return f"{value + 0.0:,.{digits}f}".replace("-", MINUS)


@dataclass(frozen=True)
class MetricWords:
    """How the page names the metric and writes its scores. A cost is a positive number, and a gain is a saving."""

    title: str  # "f1", or "cost per case"
    gain: str  # what a positive difference of two contenders is: "difference" or "saving"
    difference: str  # the same with the metric
    loss: str
    measure: Metric

    @classmethod
    def of(cls, comparison: Comparison) -> MetricWords:
        return cls.named(comparison.metric, comparison.measure)

    @classmethod
    def named(cls, metric: str, measure: Metric) -> MetricWords:
        title = metric_title(metric, measure)
        if isinstance(measure, Cost):
            return cls(title, "saving", "saving per case", "rise of the cost per case", measure)
        return cls(title, "difference", f"difference in {title}", f"loss of {title}", measure)

    def shown(self, value: Numbers) -> Numbers:
        return shown_score(self.measure, value)

    def score(self, value: float | None) -> str:
        return score(None if value is None else self.shown(value))

    def interval(self, estimate: Estimate) -> str:
        shown = shown_estimate(self.measure, estimate)
        return interval(shown.low, shown.high)
