"""The numbers behind the figures, from what a method says of rows it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import spearmanr

from metricfit.comparison import Comparison, MethodResult
from metricfit.decisions import hard_confusion, metric_values

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

THRESHOLDS = np.linspace(0.0, 1.0, 401)
SHIFTS = np.linspace(-3.0, 3.0, 61)
BINS = 10


def confusion(comparison: Comparison, result: MethodResult) -> Floats:
    """Counts (k, k) of held-out rows, true classes in rows."""
    n_rows = len(comparison.labels)
    return hard_confusion(result.held_out.predicted, comparison.labels, np.ones(n_rows), len(comparison.classes))


def threshold_curve(comparison: Comparison, result: MethodResult) -> Floats:
    """For two classes: the metric of giving a row to the second where its probability is above each of ``THRESHOLDS``."""
    probability, second = result.held_out.probability[:, 1], comparison.labels == 1
    above = [len(p) - np.searchsorted(np.sort(p), THRESHOLDS, "right") for p in (probability[~second], probability[second])]
    sizes = (~second).sum(), second.sum()
    matrices = np.stack([np.stack([size - taken, taken], 1) for size, taken in zip(sizes, above, strict=True)], 1)
    return metric_values(comparison.measure, matrices.astype(np.float64))


def chosen_threshold(result: MethodResult) -> float:
    """Where a method of two classes puts its threshold, on the scale of its probabilities; the mean over the folds."""
    return float(np.mean(expit(-(result.offsets[:, 1] - result.offsets[:, 0]) / result.temperatures)))


def offset_curve(comparison: Comparison, result: MethodResult, label: int) -> Floats:
    """The metric when one class gets ``SHIFTS`` more than its offset, the others staying where they are."""
    scores, n_classes = result.held_out.scores, len(comparison.classes)
    others = scores.copy()
    others[:, label] = -np.inf
    rival, weight = others.argmax(1), np.ones(len(scores))
    ahead = others.max(1) - scores[:, label]
    matrices = [
        hard_confusion(np.where(shift > ahead, label, rival), comparison.labels, weight, n_classes) for shift in SHIFTS
    ]
    return metric_values(comparison.measure, np.stack(matrices))


@dataclass(frozen=True)
class Reliability:
    """Bins of predicted probability: what was said on average, how often it came true, and for how many."""

    said: Floats
    came_true: Floats
    counts: Ints
    error: float  # the mean gap, weighted by the counts


def reliability(comparison: Comparison, result: MethodResult) -> Reliability:
    """Of the second class for two, of the most probable class for more."""
    probability, labels = result.held_out.probability, comparison.labels
    if len(comparison.classes) == 2:
        said, true = probability[:, 1], labels == 1
    else:
        said, true = probability.max(1), probability.argmax(1) == labels
    bins = np.minimum((said * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    used = counts > 0
    mean_said = np.bincount(bins, said, BINS)[used] / counts[used]
    came_true = np.bincount(bins, true.astype(float), BINS)[used] / counts[used]
    error = float((np.abs(mean_said - came_true) * counts[used]).sum() / counts.sum())
    return Reliability(mean_said, came_true, counts[used].astype(np.int64), error)


def per_class(comparison: Comparison, result: MethodResult) -> list[dict[str, Any]]:
    """Precision, recall and size of every class."""
    matrix = confusion(comparison, result)
    hits, rows, columns = matrix.diagonal(), matrix.sum(1), matrix.sum(0)
    return [
        {
            "label": str(label),
            "rows": int(rows[place]),
            "precision": float(hits[place] / columns[place]) if columns[place] else None,
            "recall": float(hits[place] / rows[place]) if rows[place] else None,
        }
        for place, label in enumerate(comparison.classes)
    ]


def alignment(history: Sequence[dict[str, Any]]) -> float | None:
    """Rank correlation of the true metric and minus the surrogate over the steps: 1 if they rise and fall together."""
    surrogate, metric = [row["surrogate"] for row in history], [row["metric"] for row in history]
    if len(history) < 3 or len(set(surrogate)) == 1 or len(set(metric)) == 1:
        return None
    return -float(spearmanr(surrogate, metric).statistic)
