"""A hint beside the verdict: what a study of other tables says about a table like this one.

The study is ``python -m reproductions where-it-pays``. It found that training a linear model for a metric pays where the model
does not fit the data and a class is rare. ``RULE`` was derived from its controlled data. ``FINDINGS`` are counts over its real
tables, which the rule has not seen; a test computes both again from the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metricfit.comparison._contenders import LINEAR
from metricfit.comparison._words import number_word
from metricfit.methods import CROSS_ENTROPY
from metricfit.metrics import Accuracy, FBeta, MatthewsCorrelation, Metric

if TYPE_CHECKING:
    from metricfit.comparison._result import Comparison

TREES = "boosting"
SMALLEST = 1e-15  # probability in a log-loss
NOTABLE = 0.5  # points: a smaller gain or loss counts as none
PAGE = "docs/evidence.md"


@dataclass(frozen=True)
class Rule:
    """Where training for the metric should pay."""

    removed: float  # trees remove at least this share of the linear model's log-loss
    rarest: float  # the rarest class has at most this share of the rows

    def holds(self, removed: float, rarest: float) -> bool:
        return removed >= self.removed and rarest <= self.rarest


@dataclass(frozen=True)
class Finding:
    """Real tables of one kind: how many there are, how many gained over a tuned threshold, and these gains in points."""

    n_tables: int
    n_gained: int  # at least half a point
    n_lost: int  # the same
    low: float  # the smallest and the largest gain of those that gained
    high: float
    mean: float  # over all tables of the kind


RULE = Rule(removed=0.2, rarest=0.2)
FINDINGS: dict[tuple[str, bool], Finding] = {  # by metric, and by whether the rule holds
}


def describe_hint(comparison: Comparison) -> str:
    """What the study says about a table like this one, in one sentence or two; empty if it says nothing."""
    metric, losses = studied_metric(comparison.measure), log_losses(comparison)
    if metric is None or losses is None:
        return ""
    removed, rarest = share_removed(*losses), float(comparison.class_counts.min() / comparison.class_counts.sum())
    about = f"{_fit_in_words(removed)}, and the rarest class has {100.0 * rarest:.1f} % of the rows"
    found = _finding_in_words(comparison.metric, FINDINGS[metric, RULE.holds(removed, rarest)])
    return f"Hint: {about}. {found} ({PAGE})."


def studied_metric(measure: Metric) -> str | None:
    """The metric's name in the study; None for metrics that it did not have."""
    if isinstance(measure, FBeta) and measure.beta == 1.0:
        return "f1"
    return "accuracy" if isinstance(measure, Accuracy) else "mcc" if isinstance(measure, MatthewsCorrelation) else None


def log_losses(comparison: Comparison) -> tuple[float, float] | None:
    """The log-loss of the linear model and of boosted trees on the held-out rows, both trained by cross-entropy.

    None if one of them was not compared.
    """
    names = [f"{model}, {CROSS_ENTROPY}" for model in (LINEAR, TREES)]
    if not all(name in comparison.results for name in names):
        return None
    rows = np.arange(len(comparison.labels))
    chances = [comparison.results[name].held_out.probability[rows, comparison.labels] for name in names]
    linear, trees = (-float(np.log(np.maximum(own, SMALLEST)).mean()) for own in chances)
    return linear, trees


def share_removed(linear: float, trees: float) -> float:
    """The share of the linear model's log-loss that trees remove; 0 if there is nothing to remove.

    >>> share_removed(0.4, 0.3)
    0.25
    """
    return 1.0 - trees / linear if linear > 0.0 else 0.0


def _fit_in_words(removed: float) -> str:
    if removed <= 0.0:
        return "boosted trees fit no better than the linear model"
    return f"boosted trees remove {100.0 * removed:.0f} % of the linear model's log-loss"


def _finding_in_words(metric: str, found: Finding) -> str:
    """
    >>> print(_finding_in_words("f1", Finding(9, 6, 1, 0.6, 7.3, 2.1)))
    On nine other tables like this one, training a linear model for f1 gained 0.6 to 7.3 points over a tuned threshold on six,
    and lost half a point or more on one; the mean is +2.1
    """
    gained = f"gained {found.low:.1f} to {found.high:.1f} points over a tuned threshold on {number_word(found.n_gained)}"
    if not found.n_gained:
        gained = "gained nothing over a tuned threshold"
    return (
        f"On {number_word(found.n_tables)} other tables like this one, training a linear model for {metric} {gained}, "
        f"and lost half a point or more on {number_word(found.n_lost)}; the mean is {found.mean:+.1f}"
    )
