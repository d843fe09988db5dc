"""Charts as inline SVG: axes, lines and points. The page's CSS sets the colours, for light and dark mode.

Charts are 420 units wide, so that text stays readable on a phone. The CSS takes smaller letters where they are drawn larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from metricfit.report._words import MINUS, visible

WIDTH = 420
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 38


@dataclass
class Chart:
    """A chart with two axes; :meth:`svg` returns everything drawn so far."""

    title: str
    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str = ""
    y_label: str = ""
    height: int = 260
    log_y: bool = False
    y_ticks: bool = True
    x_ticks: bool = True
    description: str = ""  # of what can be seen, for those who cannot
    parts: list[Markup] = field(default_factory=list)

    def line(self, xs: Sequence[float], ys: Sequence[float], colour: int) -> None:
        points = " ".join(f"{self.px(x):.1f},{self.py(y):.1f}" for x, y in zip(xs, ys, strict=True))
        self._add('<polyline class="line c{}" points="{}"/>', colour, points)

    def point(self, x: float, y: float, colour: int, tip: str, radius: float = 4.0, hollow: bool = False) -> None:
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

    def text(self, x: float, y: float, words: str, style: str = "label", lift: float = 0.0) -> None:
        self._add('<text class="{}" x="{}" y="{}">{}</text>', style, f"{self.px(x):.1f}", f"{self.py(y) - lift:.1f}", words)

    def px(self, x: float) -> float:
        left = LEFT if self.y_ticks else RIGHT
        return left + (WIDTH - left - RIGHT) * _fraction(x, *self.x)

    def py(self, y: float) -> float:
        low, high = self.y
        share = _fraction(math.log(max(y, low)), math.log(low), math.log(high)) if self.log_y else _fraction(y, low, high)
        return self.height - BOTTOM - (self.height - TOP - BOTTOM) * share

    def svg(self) -> Markup:
        body = Markup("").join([*self._axes(), *self.parts])
        about = Markup("<title>{}</title>").format(visible(self.title))
        if self.description:
            about += Markup("<desc>{}</desc>").format(visible(self.description))
        pattern = '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}</svg>'
        return Markup(pattern).format(WIDTH, self.height, visible(self.title), about, body)

    def _axes(self) -> list[Markup]:
        kept, self.parts = self.parts, []
        floor, ground = self.height - BOTTOM, '<line class="axis" x1="{}" y1="{}" x2="{}" y2="{}"/>'
        self._add(ground, f"{self.px(self.x[0]):.1f}", floor, WIDTH - RIGHT, floor)
        for tick in ticks(*self.x) if self.x_ticks else ():
            x, words = self.px(tick), tick_text(tick)
            style = "end" if x + 3.5 * len(words) > WIDTH else "middle"
            self._add('<text class="tick {}" x="{}" y="{}">{}</text>', style, f"{x:.1f}", floor + 15, words)
        if self.y_ticks:
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
        axes, self.parts = self.parts, kept
        return axes

    def _add(self, pattern: str, *values: object) -> None:
        self.parts.append(Markup(pattern).format(*(escape(visible(str(value))) for value in values)))


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
