"""The figure: what training for F1 gains over a tuned threshold, against each factor, and on real tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reproductions._experiment import Results
from reproductions._figure import empty_figure
from reproductions.beyond._pays_gains import CONTROLLED, REAL, REST, Gains, collect_gains, of_part
from reproductions.beyond._pays_law import CURVED, FACTORS, LEVELS, STRAIGHT, VERY_CURVED, series
from reproductions.beyond._pays_rule import CURVED as CUT
from reproductions.beyond._pays_rule import RARE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRIC = "f1"
COLOURS = {STRAIGHT: "#2471a3", CURVED: "#c0392b", VERY_CURVED: "#7d3c98"}
WORDS = {STRAIGHT: "straight boundary", CURVED: "curved", VERY_CURVED: "very curved"}
TITLES = {
    "curve": "curvature of the boundary",
    "positives": "share of the positive class, %",
    "wrong": "wrong training labels, %",
    "outliers": "outliers, % of training rows",
    "n_rows": "training rows",
}
SHARES = ("positives", "wrong", "outliers")  # shown in percent


def figure(found: Results) -> Figure:
    """A panel per factor, a line per kind of boundary, 95 % intervals; last the real tables."""
    gains = collect_gains(found)
    drawn = empty_figure(10.0, 5.8)
    panels = drawn.subplots(2, 3).ravel()
    points = {one.name: one for one in of_part(gains, CONTROLLED)}
    for axes, factor in zip(panels, FACTORS, strict=False):
        for curve in COLOURS:
            if factor == "curve" and curve != STRAIGHT:
                continue  # one line, which passes through all kinds
            _draw_line(axes, points, factor, curve)
        _finish(axes, TITLES[factor])
        axes.set_xticks(range(len(LEVELS[factor])), [_level(factor, level) for level in LEVELS[factor]])
    _draw_tables(panels[-1], of_part(gains, REAL, REST))
    if points:
        panels[1].legend(frameon=False, fontsize=7, loc="upper left")
    low, high = (end(axes.get_ylim()[index] for axes in panels[:-1]) for index, end in enumerate((min, max)))
    for axes in panels[:-1]:
        axes.set_ylim(low, high)  # one scale for all factors
    drawn.supylabel("points of F1 over cross-entropy with a tuned threshold", fontsize=9)
    return drawn


def _level(factor: str, level: float) -> str:
    return f"{100 * level:g}" if factor in SHARES else f"{level:,g}" if factor != "n_rows" else f"{level:,.0f}"


def _draw_line(axes: Axes, points: dict[str, Gains], factor: str, curve: float) -> None:
    """Means and intervals at equal distances, so that small levels do not lie on top of each other."""
    indices = [(index, points[point.name]) for index, point in enumerate(series(factor, curve)) if point.name in points]
    if len(indices) < 2:
        return
    estimates = [one.estimate(METRIC) for _, one in indices]
    shift = 0.0 if factor == "curve" else 0.08 * (curve - 1.0)
    ends = [[max(one.mean - one.low, 0.0) for one in estimates], [max(one.high - one.mean, 0.0) for one in estimates]]
    style: dict[str, Any] = {"fmt": "o-", "markersize": 3.5, "capsize": 2, "linewidth": 1.4}
    colour = "0.25" if factor == "curve" else COLOURS[curve]
    where = [index + shift for index, _ in indices]
    axes.errorbar(where, [one.mean for one in estimates], yerr=ends, color=colour, label=WORDS[curve], **style)


def _draw_tables(axes: Axes, tables: list[Gains]) -> None:
    """A point per real table: its gain against what trees remove of the linear model's log-loss."""
    for rare, colour in ((True, "#c0392b"), (False, "#2471a3")):
        for part, marker in ((REAL, "o"), (REST, "x")):
            own = [one for one in tables if one.part == part and (one.rarest <= RARE) == rare]
            words = f"rarest class {'≤' if rare else '>'} {100 * RARE:g} %"
            label = f"{words}, a set" if part == REAL else f"{words}, one class of a set"
            across = [100.0 * max(one.removed, -0.2) for one in own]
            axes.scatter(across, [one.estimate(METRIC).mean for one in own], s=22, marker=marker, color=colour, label=label)
    axes.axvline(100.0 * CUT, color="0.6", linewidth=0.8, linestyle="--")
    _finish(axes, "real tables: log-loss that trees remove, %\n(from training rows; below -20 drawn at -20)")
    axes.legend(frameon=False, fontsize=6, loc="upper left")


def _finish(axes: Axes, words: str) -> None:
    axes.axhline(0.0, color="0.4", linewidth=0.8)
    axes.set_xlabel(words, fontsize=8)
    axes.grid(axis="y", alpha=0.25)
    axes.tick_params(labelsize=8)
