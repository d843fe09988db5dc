"""Gains of one method over another by set, metric and split, and what they come to.

A cell is a set and a metric. Its interval is Nadeau and Bengio's, for splits that overlap; its p-value is corrected for the
number of cells (Holm). Over sets, the unit is the mean of a set's cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks._cells import TIE, Results, cell_points, sets_of
from metricfit.comparison._statistics import Estimate, corrected_estimate, holm
from reproductions._ranks import wilcoxon


@dataclass(frozen=True)
class Gain:
    """Differences in points by split, on one set for one metric, with their estimate and the p-value after Holm."""

    set: str
    metric: str
    by_split: dict[int, float]
    test_share: float
    estimate: Estimate
    adjusted: float = 1.0

    @property
    def text(self) -> str:
        """The cell and its mean."""
        return f"{self.set}, {self.metric} {self.estimate.mean:+.2f}"


@dataclass(frozen=True)
class Summary:
    """What gains come to: over cells, and over sets."""

    n_sets: int
    n_cells: int
    mean: float
    wins: int
    ties: int
    losses: int
    gained: int  # significant cells
    lost: int
    worst: Gain
    best: Gain
    over_sets: Estimate
    p: float  # Wilcoxon's test over sets

    @property
    def counts(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


def find_gains(results: Results, ours: str, other: str) -> list[Gain]:
    """All cells that both methods have, on the splits where neither failed."""
    cells: list[Gain] = []
    for name in sets_of(results.find(method=other)):
        for metric in dict.fromkeys(row["metric"] for row in results.find(set=name, method=other)):
            one, another = (cell_points(results, name, metric, method)[1] for method in (ours, other))
            both = {seed: one[seed] - another[seed] for seed in sorted(set(one) & set(another))}
            both = {seed: value for seed, value in both.items() if math.isfinite(value)}
            if both:
                row = results.find(set=name, metric=metric, method=other)[0]
                share = row["n_test"] / row["n_train"]
                cells.append(Gain(name, metric, both, share, corrected_estimate(list(both.values()), share)))
    adjusted = holm([cell.estimate.p for cell in cells])
    return [Gain(c.set, c.metric, c.by_split, c.test_share, c.estimate, p) for c, p in zip(cells, adjusted, strict=True)]


def summarise(gains: list[Gain], wanted: Callable[[Gain], bool] = lambda _: True) -> Summary:
    """Over the wanted cells. P-values stay corrected for all."""
    cells = [gain for gain in gains if wanted(gain)]
    means = np.array([cell.estimate.mean for cell in cells])
    clear = np.array([cell.adjusted < 0.05 for cell in cells])
    sets = mean_by_set(cells)
    return Summary(
        n_sets=len(sets),
        n_cells=len(cells),
        mean=float(means.mean()),
        wins=int((means > TIE).sum()),
        ties=int((np.abs(means) <= TIE).sum()),
        losses=int((means < -TIE).sum()),
        gained=int((clear & (means > 0.0)).sum()),
        lost=int((clear & (means < 0.0)).sum()),
        worst=cells[int(means.argmin())],
        best=cells[int(means.argmax())],
        over_sets=corrected_estimate(list(sets.values()), 0.0),  # sets do not overlap: the usual interval of a mean
        p=wilcoxon(list(sets.values())),
    )


def mean_by_set(gains: list[Gain]) -> dict[str, float]:
    """The mean gain over a set's metrics."""
    return {name: estimate.mean for name, estimate in estimate_by_set(gains).items()}


def estimate_by_set(gains: list[Gain]) -> dict[str, Estimate]:
    """The mean gain over a set's metrics, with an interval over its splits."""
    found = {}
    for name in dict.fromkeys(gain.set for gain in gains):
        cells = [gain for gain in gains if gain.set == name]
        splits = sorted(set.intersection(*(set(cell.by_split) for cell in cells)))
        means = [float(np.mean([cell.by_split[split] for cell in cells])) for split in splits]
        found[name] = corrected_estimate(means, cells[0].test_share)
    return found
