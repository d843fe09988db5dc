"""Controlled data give the cut from which on a table counts as curved; real tables, which gave no part of it, are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reproductions.beyond._pays_gains import DIRECT, Gains
from reproductions.beyond._pays_sets import source

CUTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
CURVED = 0.1  # the cut that the controlled data give: trees remove at least this share of the linear model's log-loss
RARE = 0.2  # the rarest class has at most this share of the rows
KINDS = STRAIGHT, CURVED_ONLY, CURVED_AND_RARE = "straight", "curved", "curved, rare"  # of tables


@dataclass(frozen=True)
class Finding:
    """Real tables of one kind: how many there are, how many gained over a tuned threshold, and these gains in points."""

    n_sets: int  # that the tables are from
    n_tables: int
    n_gained: int  # at least half a point
    n_lost: int  # the same
    low: float  # the smallest and the largest gain of those that gained
    high: float
    mean: float  # over all tables of the kind


def kind_of(removed: float, rarest: float) -> str:
    """The kind of a table, by what trees remove of the linear model's log-loss and the share of the rarest class.

    >>> kind_of(0.05, 0.05), kind_of(0.3, 0.4), kind_of(0.3, 0.05)
    ('straight', 'curved', 'curved, rare')
    """
    return STRAIGHT if removed < CURVED else CURVED_AND_RARE if rarest <= RARE else CURVED_ONLY


def derive_cut(points: Sequence[Gains], metric: str = "f1") -> float:
    """The share of the log-loss that tells best where training for the metric gained; of equals the largest."""
    return max(CUTS[::-1], key=lambda cut: n_right(cut, points, metric))


def n_right(cut: float, points: Sequence[Gains], metric: str = "f1") -> int:
    """The number of points where trees remove at least this share and training for the metric gained, or neither."""
    return sum((one.removed >= cut) == one.gained(metric) for one in points)


def by_kind(tables: Sequence[Gains]) -> dict[str, list[Gains]]:
    """The tables of each kind."""
    return {kind: [one for one in tables if kind_of(one.removed, one.rarest) == kind] for kind in KINDS}


def find(tables: Sequence[Gains], metric: str, method: str = DIRECT) -> Finding:
    """Counts and gains of these tables, in points."""
    means = [one.estimate(metric, method).mean for one in tables]
    gains = [one.estimate(metric, method).mean for one in tables if one.gained(metric, method)]
    low, high = (round(end, 1) for end in (min(gains, default=0.0), max(gains, default=0.0)))
    n_lost = sum(one.lost(metric, method) for one in tables)
    n_sets = len({source(one.name) for one in tables})
    return Finding(n_sets, len(means), len(gains), n_lost, low, high, round(float(np.mean(means or [0.0])), 1))


def by_source(tables: Sequence[Gains], metric: str, method: str = DIRECT) -> list[float]:
    """One gain per set: the mean of its tables, because these share their rows."""
    means: dict[str, list[float]] = {}
    for one in tables:
        means.setdefault(source(one.name), []).append(one.estimate(metric, method).mean)
    return [float(np.mean(own)) for own in means.values()]
