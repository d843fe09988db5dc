"""The figure about fresh sets: the gain on every set, with its interval, beside the promised gain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._cells import Results
from benchmarks._fresh_report import GROUPS_SHOWN, QUESTIONS
from benchmarks._fresh_sets import FRESH
from benchmarks._fresh_statistics import estimate_by_set, find_gains, summarise
from benchmarks.quality import LIGHTGBM
from metricfit.comparison._statistics import Estimate
from reproductions._figure import empty_figure, save_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = dict(zip(GROUPS_SHOWN, ("#1f5a96", "#c26a1b"), strict=True))


def draw(results: Results, file: Path, promises: Path) -> None:
    """One panel for each question. ``promises`` is the folder of the results of ``quality*.py``."""
    asked = [question for question in QUESTIONS if question.other != LIGHTGBM]
    figure = empty_figure(11.0, 7.0)
    for place, question in enumerate(asked):
        axes = figure.add_subplot(1, len(asked), place + 1)
        draw_gains(axes, estimate_by_set(find_gains(results, question.ours, question.other)))
        axes.axvline(summarise(question.promised(promises)).mean, color="grey", linestyle="--", linewidth=0.9)
        axes.set_title(question.title, fontsize=8)
    figure.suptitle("Gains on fresh sets, 95 % over splits; blue: group R, orange: group K; dashed: promised", fontsize=9)
    save_svg(figure, file)


def draw_gains(axes: Axes, by_set: dict[str, Estimate]) -> None:
    """Sets from the smallest gain to the largest."""
    names = [name for name, _ in sorted(by_set.items(), key=lambda item: item[1].mean)]
    for row, name in enumerate(names):
        one, colour = by_set[name], COLOURS[FRESH[name].group]
        if one.known:
            axes.plot([one.low, one.high], [row, row], color=colour, linewidth=1.2)
        axes.plot(one.mean, row, "o", color=colour, markersize=4)
    axes.axvline(0.0, color="black", linewidth=0.8)
    reach = (
        1.5 * max(abs(one.mean) for one in by_set.values()) + 1.0
    )  # wide intervals run to the edge, so that means can be told
    axes.set_xlim(-reach, reach)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xlabel("points, mean of four metrics", fontsize=8)
