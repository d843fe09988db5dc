"""The rule that the controlled data give, and what it says about tables that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from metricfit.comparison._hint import NOTABLE, RULE, Finding, Rule
from reproductions.beyond._pays_gains import LEAKY, Gains
from reproductions.beyond._pays_sets import source

LEAST_REMOVED = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
MOST_RAREST = (0.03, 0.07, 0.15, 0.3, 0.5)  # between the shares of the controlled data


def derive_rule(points: Sequence[Gains], metric: str = "f1") -> Rule:
    """The rule that is right at most points; of equals the strictest, first in what trees remove."""
    candidates = [Rule(removed, rarest) for removed, rarest in product(LEAST_REMOVED[::-1], MOST_RAREST)]
    return max(candidates, key=lambda rule: n_right(rule, points, metric))


def n_right(rule: Rule, points: Sequence[Gains], metric: str = "f1") -> int:
    """The number of points where the rule holds and training for the metric gained, or neither."""
    return sum(rule.holds(one.removed, one.rarest) == one.gained(metric) for one in points)


def split_by_rule(tables: Sequence[Gains], rule: Rule = RULE) -> dict[bool, list[Gains]]:
    """The tables where the rule holds, and the others."""
    return {holds: [one for one in tables if rule.holds(one.removed, one.rarest) == holds] for holds in (True, False)}


def find(tables: Sequence[Gains], metric: str, method: str = LEAKY) -> Finding:
    """Counts and gains of these tables, in points."""
    means = [one.estimate(metric, method).mean for one in tables]
    notable = [mean for mean in means if mean >= NOTABLE] or [0.0]
    mean = round(float(np.mean(means)), 1) if means else 0.0
    n_gained, n_lost = sum(mean >= NOTABLE for mean in means), sum(mean <= -NOTABLE for mean in means)
    return Finding(len(means), n_gained, n_lost, round(min(notable), 1), round(max(notable), 1), mean)


def by_source(tables: Sequence[Gains], metric: str, method: str = LEAKY) -> list[float]:
    """One gain per set: the mean of its tables, because these share their rows."""
    means: dict[str, list[float]] = {}
    for one in tables:
        means.setdefault(source(one.name), []).append(one.estimate(metric, method).mean)
    return [float(np.mean(own)) for own in means.values()]
