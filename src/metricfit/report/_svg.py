"""Inline SVG: charts with two axes, and strips. The page's CSS sets the colours, for light and dark mode.

Charts are 420 units wide, so that text stays readable on a phone. The CSS takes smaller letters where they are drawn larger.
Strips are the rows of a figure that is also a table. Each is as wide as its cell, so that its text never shrinks. Positions
are percentages of the cell. Rows that touch each other share grid lines, so that they read as one figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from metricfit.report._words import MINUS

WIDTH = 420
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 38


@dataclass
class Chart:
    """A chart, which begins with its two axes; :meth:`svg` returns everything drawn so far."""

    title: str
    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str = ""
    y_label: str = ""
    height: int = 260
    log_y: bool = False
    x_ticks: bool = True
    description: str = ""  # of what can be seen, for those who cannot
    parts: list[Markup] = field(default_factory=list, init=False)

    def line(self, xs: Sequence[float], ys: Sequence[float], colour: int) -> None:
        points = " ".join(f"{self.px(x):.1f},{self.py(y):.1f}" for x, y in zip(xs, ys, strict=True))
        self._add('<polyline class="line c{}" points="{}"/>', colour, points)

    def band(self, xs: Sequence[float], lows: Sequence[float], highs: Sequence[float], colour: int) -> None:
        """What lies between two lines."""
        there, back = zip(xs, lows, strict=True), zip(reversed(xs), reversed(highs), strict=True)
        points = " ".join(f"{self.px(x):.1f},{self.py(y):.1f}" for x, y in (*there, *back))
        self._add('<polygon class="band c{}" points="{}"/>', colour, points)

    def point(self, x: float, y: float, colour: int, tip: str, radius: float = 6.0, hollow: bool = False) -> None:
        self._add(
            '<circle class="{} c{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>',
            "ring" if hollow else "dot",
            colour,
            f"{self.px(x):.1f}",
            f"{self.py(y):.1f}",
            f"{radius:.1f}",
            tip,
        )

    def cross(self, x: float, y: float, x_ends: tuple[float, float], y_ends: tuple[float, float], colour: int) -> None:
        """Two intervals through a point."""
        self.segment((x_ends[0], y), (x_ends[1], y), f"whisker c{colour}")
        self.segment((x, y_ends[0]), (x, y_ends[1]), f"whisker c{colour}")

    def segment(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        ends = [f"{value:.1f}" for value in (self.px(start[0]), self.py(start[1]), self.px(end[0]), self.py(end[1]))]
        self._add('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>', style, *ends)

    def text(self, x: float, y: float, words: str, lift: float = 0.0) -> None:
        self._add('<text class="label" x="{}" y="{}">{}</text>', f"{self.px(x):.1f}", f"{self.py(y) - lift:.1f}", words)

    def px(self, x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * _fraction(x, *self.x)

    def py(self, y: float) -> float:
        low, high = self.y
        share = _fraction(math.log(max(y, low)), math.log(low), math.log(high)) if self.log_y else _fraction(y, low, high)
        return self.height - BOTTOM - (self.height - TOP - BOTTOM) * share

    def svg(self) -> Markup:
        about = Markup("<title>{}</title>").format(self.title)
        if self.description:
            about += Markup("<desc>{}</desc>").format(self.description)
        pattern = '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}</svg>'
        return Markup(pattern).format(WIDTH, self.height, self.title, about, Markup("").join(self.parts))

    def __post_init__(self) -> None:
        floor, ground = self.height - BOTTOM, '<line class="axis" x1="{}" y1="{}" x2="{}" y2="{}"/>'
        self._add(ground, f"{self.px(self.x[0]):.1f}", floor, WIDTH - RIGHT, floor)
        for tick in ticks(*self.x) if self.x_ticks else ():
            x, words = self.px(tick), tick_text(tick)
            style = "end" if x + 3.5 * len(words) > WIDTH else "middle"
            self._add('<text class="tick {}" x="{}" y="{}">{}</text>', style, f"{x:.1f}", floor + 15, words)
        for tick in log_ticks(*self.y) if self.log_y else ticks(*self.y, most=6 if self.height > 200 else 3):
            height = f"{self.py(tick):.1f}"
            self._add('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>', LEFT, height, WIDTH - RIGHT, height)
            self._add('<text class="tick end" x="{}" y="{}" dy="4">{}</text>', LEFT - 6, height, tick_text(tick))
        if self.x_label:
            self._add(
                '<text class="label middle" x="{}" y="{}">{}</text>', (LEFT + WIDTH - RIGHT) / 2, floor + 32, self.x_label
            )
        if self.y_label:
            turn = f"translate(12 {(TOP + floor) / 2:.0f}) rotate(-90)"
            self._add('<text class="label middle" transform="{}">{}</text>', turn, self.y_label)

    def _add(self, pattern: str, *values: object) -> None:
        self.parts.append(Markup(pattern).format(*values))


@dataclass
class Strip:
    """One row: a scale from ``low`` to ``high``, and what is drawn on it."""

    low: float
    high: float
    tip: str
    parts: list[Markup] = field(default_factory=list, init=False)

    def grid(self) -> None:
        """A line at every tick; the one at zero stands out."""
        for x, style in (*((tick, "grid") for tick in ticks(self.low, self.high)), (0.0, "grid strong")):
            self._add('<line class="{0}" x1="{1}" y1="0" x2="{1}" y2="100%"/>', style, self.at(x))

    def whisker(self, low: float, high: float, colour: int) -> None:
        """From one value to another, as far as they lie on the scale."""
        low, high = max(low, self.low), min(high, self.high)
        if low <= high:
            self._add('<line class="whisker c{}" x1="{}" y1="50%" x2="{}" y2="50%"/>', colour, self.at(low), self.at(high))

    def dot(self, x: float, colour: int, hollow: bool = False, radius: float = 5.5) -> None:
        kind = "ring" if hollow else "dot"
        self._add('<circle class="{} c{}" cx="{}" cy="50%" r="{}"/>', kind, colour, self.at(x), radius)

    def bar(self, end: float, style: str, thickness: float = 14.0) -> None:
        """From zero to ``end``."""
        first, last = sorted((0.0, end))
        lift, width = f"translate(0 {-thickness / 2:g})", f"{100.0 * (last - first) / (self.high - self.low):.2f}%"
        pattern = '<rect class="{}" x="{}" y="50%" width="{}" height="{}" rx="2" transform="{}"/>'
        self._add(pattern, style, self.at(first), width, thickness, lift)

    def beyond(self, colour: int, right: bool) -> None:
        """An arrow at the edge, for what lies outside the scale."""
        points = "0,-6 9,0 0,6" if right else "9,-6 0,0 9,6"
        # SVG has no percentages in a polygon: a nested drawing begins where the arrow does
        pattern = '<svg x="{}" y="50%" overflow="visible"><polygon class="dot c{}" points="{}"/></svg>'
        self._add(pattern, "97%" if right else "0%", colour, points)

    def words(self, x: str, words: str, style: str) -> None:
        self._add('<text class="{}" x="{}" y="50%" dy=".35em">{}</text>', style, x, words)

    def at(self, x: float) -> str:
        return f"{100.0 * (x - self.low) / (self.high - self.low):.2f}%"

    def svg(self) -> Markup:
        body = Markup("").join(self.parts)
        pattern = '<svg class="strip" role="img" aria-label="{0}"><title>{0}</title>{1}</svg>'
        return Markup(pattern).format(self.tip, body)

    def _add(self, pattern: str, *values: object) -> None:
        self.parts.append(Markup(pattern).format(*values))


def axis(low: float, high: float) -> Markup:
    """The numbers below the rows."""
    strip = Strip(low, high, f"scale from {tick_text(low)} to {tick_text(high)}")
    for tick in ticks(low, high):
        share = (tick - low) / (high - low)
        style = "tick start" if share < 0.04 else "tick end" if share > 0.96 else "tick middle"
        strip.words(strip.at(tick), tick_text(tick), style)
    return strip.svg()


def span(values: Sequence[float], margin: float = 0.05) -> tuple[float, float]:
    """The range of the finite values, with a margin."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    room = margin * (high - low) or 0.05 * max(abs(high), 1e-3)
    return low - room, high + room


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between ``low`` and ``high``.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = max((high - low) / most, 1e-12)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1.0, 2.0, 5.0, 10.0) if unit * factor >= rough * (1.0 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(step * index, 12) for index in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between ``low`` and ``high``, or these two if there are fewer than two powers.

    >>> log_ticks(0.05, 20.0)
    [0.1, 1.0, 10.0]
    """
    powers = [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    every = -(-len(powers) // 4)
    return powers[::every] if len(powers) > 1 else [low, high]


def tick_text(value: float) -> str:
    """A tick label with at most three digits; thousands as they are.

    >>> tick_text(0.25), tick_text(1000.0), tick_text(2.5e7)
    ('0.25', '1,000', '2.5e7')
    """
    if 1000.0 <= abs(value) < 1e6:
        return f"{value:,.0f}".replace("-", MINUS)
    return f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e").replace("-", MINUS)


def _fraction(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5
