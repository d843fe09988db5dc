"""Strips: the rows of a figure that is also a table. Each is an SVG as wide as its cell, so that its text never shrinks.

Places are percentages of the cell. Rows that touch each other share grid lines, so that they read as one figure.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from markupsafe import Markup, escape

from metricfit.report._svg import tick_text, ticks
from metricfit.report._words import visible


@dataclass
class Strip:
    """One row: a scale from ``low`` to ``high``, and what is drawn on it."""

    low: float
    high: float
    tip: str
    parts: list[Markup] = field(default_factory=list)

    def grid(self, strong: float | None = None) -> None:
        """A line at every tick; ``strong`` is where a line stands out."""
        for tick in ticks(self.low, self.high):
            self._upright(tick, "grid")
        if strong is not None:
            self._upright(strong, "grid strong")

    def whisker(self, low: float, high: float, colour: int) -> None:
        """From one place to another, as far as they lie on the scale."""
        low, high = max(low, self.low), min(high, self.high)
        if low <= high:
            self._add('<line class="whisker c{}" x1="{}" y1="50%" x2="{}" y2="50%"/>', colour, self.at(low), self.at(high))

    def dot(self, x: float, colour: int, hollow: bool = False, radius: float = 5.5) -> None:
        kind = "ring" if hollow else "dot"
        self._add('<circle class="{} c{}" cx="{}" cy="50%" r="{}"/>', kind, colour, self.at(x), radius)

    def bar(self, start: float, end: float, style: str, thickness: float = 14.0) -> None:
        first, last = sorted((start, end))
        lift, width = f"translate(0 {-thickness / 2:g})", f"{100.0 * (last - first) / (self.high - self.low):.2f}%"
        pattern = '<rect class="{}" x="{}" y="50%" width="{}" height="{}" rx="2" transform="{}"/>'
        self._add(pattern, style, self.at(first), width, thickness, lift)

    def beyond(self, colour: int, right: bool) -> None:
        """An arrow at the edge, for what lies outside the scale."""
        points = "0,-6 9,0 0,6" if right else "9,-6 0,0 9,6"
        # SVG has no percentages in a polygon: a nested drawing begins where the arrow does
        pattern = '<svg x="{}" y="50%" overflow="visible"><polygon class="dot c{}" points="{}"/></svg>'
        self._add(pattern, "97%" if right else "0%", colour, points)

    def words(self, x: str, words: str, style: str = "") -> None:
        self._add('<text class="{}" x="{}" y="50%" dy=".35em">{}</text>', style, x, words)

    def at(self, x: float) -> str:
        return f"{100.0 * (x - self.low) / (self.high - self.low):.2f}%"

    def svg(self) -> Markup:
        body = Markup("").join(self.parts)
        pattern = '<svg class="strip" role="img" aria-label="{0}"><title>{0}</title>{1}</svg>'
        return Markup(pattern).format(visible(self.tip), body)

    def _upright(self, x: float, style: str) -> None:
        self._add('<line class="{0}" x1="{1}" y1="0" x2="{1}" y2="100%"/>', style, self.at(x))

    def _add(self, pattern: str, *values: object) -> None:
        self.parts.append(Markup(pattern).format(*(escape(visible(str(value))) for value in values)))


def axis(low: float, high: float, most: int = 6) -> Markup:
    """The numbers below the rows."""
    strip = Strip(low, high, f"scale from {tick_text(low)} to {tick_text(high)}")
    for tick in ticks(low, high, most):
        share = (tick - low) / (high - low)
        style = "tick start" if share < 0.04 else "tick end" if share > 0.96 else "tick middle"
        strip.words(strip.at(tick), tick_text(tick), style)
    return strip.svg()
