"""What training for a metric gains over a tuned threshold, table by table, with what is known of a table before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metricfit.comparison._statistics import Estimate, corrected_estimate
from metricfit.methods import AUTO, BASELINE, CROSS_ENTROPY
from reproductions._experiment import Results

METRICS = ("accuracy", "f1", "mcc")
DIRECT = "direct"
METHODS = (CROSS_ENTROPY, BASELINE, DIRECT, AUTO)
CONTROLLED, REAL, REST = "controlled", "real", "class against rest"
NOTABLE = 0.5  # points: a smaller gain or loss counts as none


@dataclass(frozen=True)
class Gains:
    """A point of the controlled data or a real table: paired differences to ``threshold``, and what is known before."""

    name: str
    part: str
    removed: float  # share of the linear model's log-loss that boosted trees remove, on held-out rows
    rarest: float  # share of the rarest class
    test_share: float  # test rows per training row, if splits overlap; 0 for independent replications
    differences: dict[tuple[str, str], list[float]]  # by metric and method

    def estimate(self, metric: str, method: str = DIRECT) -> Estimate:
        """The mean, with Nadeau and Bengio's interval if splits overlap, or else Student's."""
        return corrected_estimate(self.differences[metric, method], self.test_share)

    def gained(self, metric: str, method: str = DIRECT) -> bool:
        """Whether the mean is at least half a point; a smaller gain counts as none."""
        return self.estimate(metric, method).mean >= NOTABLE

    def lost(self, metric: str, method: str = DIRECT) -> bool:
        """Whether the mean is half a point below zero, or more."""
        return self.estimate(metric, method).mean <= -NOTABLE


def collect_gains(found: Results) -> list[Gains]:
    """One entry per point or table, in the order of the results."""
    rows: dict[tuple[str, str], list[dict[str, float]]] = {}
    for cell, numbers in found:
        rows.setdefault((str(cell["part"]), str(cell["set"])), []).append(numbers)
    return [_gains(part, name, own) for (part, name), own in rows.items()]


def _gains(part: str, name: str, rows: list[dict[str, float]]) -> Gains:
    losses = [(row["linear_loss"], row["tree_loss"]) for row in rows if "tree_loss" in row]
    linear, trees = np.sum(losses, 0)
    return Gains(
        name,
        part,
        removed=share_removed(float(linear), float(trees)),
        rarest=float(np.mean([row["rarest"] for row in rows])),
        test_share=0.0 if part == CONTROLLED else rows[0]["n_test"] / rows[0]["n_train"],
        differences={
            (metric, method): [row[f"{metric} {method}"] - row[f"{metric} {BASELINE}"] for row in rows]
            for metric in METRICS
            for method in METHODS
            if method != BASELINE
        },
    )


def share_removed(linear: float, trees: float) -> float:
    """The share of the linear model's log-loss that trees remove; 0 if there is nothing to remove.

    >>> share_removed(0.5, 0.25)
    0.5
    """
    return 1.0 - trees / linear if linear > 0.0 else 0.0


def of_part(gains: Sequence[Gains], *parts: str) -> list[Gains]:
    return [one for one in gains if one.part in parts]
