"""A hint beside the verdict: what a study of other tables says about a table like this one.

The study is ``python -m reproductions where-it-pays``. It found that training a linear model for a metric pays where the model
does not fit the data and a class is rare. ``CURVED`` was derived from its controlled data. ``FINDINGS`` are counts over its
real tables, which were not used for that; a test computes both again from the results.
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
CURVED = 0.1  # trees remove at least this share of the linear model's log-loss: then it does not fit
RARE = 0.2  # the rarest class has at most this share of the rows
STRAIGHT, CURVED_ONLY, CURVED_AND_RARE = "straight", "curved", "curved, rare"  # kinds of tables
IN_WORDS = {
    STRAIGHT: "a linear model fits",
    CURVED_ONLY: "a linear model does not fit, no class is rare",
    CURVED_AND_RARE: "a linear model does not fit, a class is rare",
}
PAGE = "docs/evidence.md"


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


FINDINGS = {  # by metric and kind: sets, tables, gained, lost, smallest and largest gain, mean
    ("accuracy", STRAIGHT): Finding(10, 16, 1, 2, 0.6, 0.6, -0.1),
    ("accuracy", CURVED_ONLY): Finding(7, 10, 3, 0, 0.7, 6.3, 1.0),
    ("accuracy", CURVED_AND_RARE): Finding(5, 12, 3, 0, 0.5, 1.9, 0.4),
    ("f1", STRAIGHT): Finding(10, 16, 2, 3, 0.6, 6.3, 0.2),
    ("f1", CURVED_ONLY): Finding(7, 10, 3, 3, 1.2, 8.7, 1.0),
    ("f1", CURVED_AND_RARE): Finding(5, 12, 7, 1, 1.2, 14.1, 3.0),
    ("mcc", STRAIGHT): Finding(10, 16, 3, 4, 0.8, 4.5, -0.1),
    ("mcc", CURVED_ONLY): Finding(7, 10, 4, 3, 0.7, 11.0, 1.1),
    ("mcc", CURVED_AND_RARE): Finding(5, 12, 6, 2, 2.4, 14.9, 3.2),
}


def describe_hint(comparison: Comparison) -> str:
    """What the study says about a table like this one, in one sentence or two; empty if it says nothing."""
    metric, losses = studied_metric(comparison.measure), log_losses(comparison)
    if metric is None or losses is None:
        return ""
    removed, rarest = share_removed(*losses), float(comparison.class_counts.min() / comparison.class_counts.sum())
    about = f"{_fit_in_words(removed)}, and the rarest class has {100.0 * rarest:.1f} % of the rows"
    kind = kind_of(removed, rarest)
    return f"Hint: {about}. {_finding_in_words(comparison.metric, kind, FINDINGS[metric, kind])} ({PAGE})."


def kind_of(removed: float, rarest: float) -> str:
    """The kind of a table, by what trees remove of the linear model's log-loss and the share of the rarest class.

    >>> kind_of(0.05, 0.05), kind_of(0.3, 0.4), kind_of(0.3, 0.05)
    ('straight', 'curved', 'curved, rare')
    """
    return STRAIGHT if removed < CURVED else CURVED_AND_RARE if rarest <= RARE else CURVED_ONLY


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

    >>> share_removed(0.5, 0.25)
    0.5
    """
    return 1.0 - trees / linear if linear > 0.0 else 0.0


def _fit_in_words(removed: float) -> str:
    if removed <= 0.0:
        return "boosted trees fit no better than the linear model"
    return f"boosted trees remove {100.0 * removed:.0f} % of the linear model's log-loss"


def _finding_in_words(metric: str, kind: str, found: Finding) -> str:
    """
    >>> print(_finding_in_words("f1", "straight", Finding(4, 9, 6, 1, 0.6, 7.3, 2.1)))
    On nine studied tables of this kind (a linear model fits), from four data sets, training it for f1 gained 0.6 to 7.3 points
    over a tuned threshold on six, and lost half a point or more on one; the mean is +2.1
    """
    points = f"{found.low:.1f}" if found.n_gained == 1 else f"{found.low:.1f} to {found.high:.1f}"
    gained = f"gained {points} points over a tuned threshold on {number_word(found.n_gained)}"
    if not found.n_gained:
        gained = "gained nothing over a tuned threshold"
    tables = f"{number_word(found.n_tables)} studied tables of this kind ({IN_WORDS[kind]})"
    return (
        f"On {tables}, from {number_word(found.n_sets)} data sets, training it for {metric} {gained}, "
        f"and lost half a point or more on {number_word(found.n_lost)}; the mean is {found.mean:+.1f}"
    )
