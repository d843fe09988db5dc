"""The figure: the gain over cross-entropy against the share of wrong labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metricfit.comparison._statistics import Estimate
from reproductions._experiment import Results
from reproductions._figure import empty_figure
from reproductions.beyond._noise_findings import CHOICES
from reproductions.beyond._noise_gains import Run, by_method, choose, gain
from reproductions.beyond._noise_methods import CROSS_ENTROPY
from reproductions.beyond._noise_sets import NOISES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"symmetric": "#2471a3", "pair": "#c0392b"}


def figure(found: Results) -> Figure:
    """The gain over cross-entropy against the share of wrong labels: a panel per method, a thin line per set."""
    scores = by_method(found)
    runs = {name: runs for name, runs in scores.items() if name != CROSS_ENTROPY}
    first, among = next(iter(CHOICES.items()))
    runs[first] = choose(scores, among)
    drawn = empty_figure(10.0, 5.4)
    panels = drawn.subplots(2, 4, sharex=True, sharey=True).ravel()
    for axes, (name, own) in zip(panels, runs.items(), strict=True):
        for kind, colour in COLOURS.items():
            _draw(axes, own, scores[CROSS_ENTROPY], kind, colour)
        axes.axhline(0.0, color="0.4", linewidth=0.8)
        axes.set_title(name, fontsize=9)
        axes.grid(axis="y", alpha=0.25)
    panels[0].legend(frameon=False, fontsize=7, loc="upper left")
    drawn.supxlabel("wrong labels, %; a thin line is a set", fontsize=9)
    drawn.supylabel("points over cross-entropy, both stopped", fontsize=9)
    return drawn


def _draw(axes: Axes, own: dict[Run, dict[str, float]], base: dict[Run, dict[str, float]], kind: str, colour: str) -> None:
    present = {noise for _, noise, _ in own}
    noises = [name for name, noise in NOISES.items() if noise.kind == kind and name in present]
    gains = [gain(own, base, [noise]) for noise in noises]
    shares = [100.0 * NOISES[noise].rate + (1.5 if kind == "pair" else 0.0) for noise in noises]
    for name in gains[0].means:
        axes.plot(shares, [one.means[name] for one in gains], color=colour, linewidth=0.6, alpha=0.35)
    means, reaches = _ends([one.over_sets for one in gains])
    label = f"{kind}: mean, 95 % over sets"
    axes.errorbar(shares, means, yerr=reaches, color=colour, fmt="o-", markersize=3.5, capsize=2, linewidth=1.4, label=label)


def _ends(estimates: Sequence[Estimate]) -> tuple[list[float], list[float]]:
    """Means and half widths; an unknown one is drawn as zero."""
    return [one.mean for one in estimates], [one.high - one.mean if one.known else 0.0 for one in estimates]
