"""The numbers in the figures, computed from out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import spearmanr

from metricfit.comparison import Comparison, Result
from metricfit.decisions import hard_confusion, metric_values

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

THRESHOLDS = np.linspace(0.0, 1.0, 401)
SHIFTS = np.linspace(-3.0, 3.0, 61)
BINS = 10


def confusion(comparison: Comparison, result: Result) -> Floats:
    """Confusion matrix (k, k) of held-out rows; matrix rows are true classes."""
    n_rows = len(comparison.labels)
    return hard_confusion(result.held_out.predicted, comparison.labels, np.ones(n_rows), len(comparison.classes))


def threshold_curve(comparison: Comparison, result: Result, label: int = 1) -> Floats:
    """For two classes: the metric if the class ``label`` is predicted above each of ``THRESHOLDS`` on its probability."""
    if label == 0:
        return threshold_curve(comparison, result)[::-1]
    probability, second = result.held_out.probability[:, 1], comparison.labels == 1
    above = [len(p) - np.searchsorted(np.sort(p), THRESHOLDS, "right") for p in (probability[~second], probability[second])]
    sizes = (~second).sum(), second.sum()
    matrices = np.stack([np.stack([size - taken, taken], 1) for size, taken in zip(sizes, above, strict=True)], 1)
    return metric_values(comparison.measure, matrices.astype(np.float64))


def chosen_threshold(result: Result, label: int = 1) -> float:
    """For two classes: the method's threshold on the probability of a class, averaged over the folds."""
    return float(np.mean(expit((result.offsets[:, 1 - label] - result.offsets[:, label]) / result.temperatures)))


def offset_curve(comparison: Comparison, result: Result, label: int) -> Floats:
    """The metric if each of ``SHIFTS`` is added to the offset of one class."""
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
    """For each non-empty bin: mean predicted probability, observed frequency and number of rows."""

    predicted: Floats
    observed: Floats
    counts: Ints
    error: float  # expected calibration error


def reliability(comparison: Comparison, result: Result, label: int = 1) -> Reliability:
    """Calibration of one of two classes, or of the most probable of more than two classes."""
    probability, labels = result.held_out.probability, comparison.labels
    if len(comparison.classes) == 2:
        predicted, correct = probability[:, label], labels == label
    else:
        predicted, correct = probability.max(1), probability.argmax(1) == labels
    bins = np.minimum((predicted * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    used = counts > 0
    mean_predicted = np.bincount(bins, predicted, BINS)[used] / counts[used]
    observed = np.bincount(bins, correct.astype(float), BINS)[used] / counts[used]
    error = float((np.abs(mean_predicted - observed) * counts[used]).sum() / counts.sum())
    return Reliability(mean_predicted, observed, counts[used].astype(np.int64), error)


def per_class(comparison: Comparison, result: Result) -> list[dict[str, Any]]:
    """Precision, recall and number of rows of every class."""
    matrix = confusion(comparison, result)
    hits, rows, columns = matrix.diagonal(), matrix.sum(1), matrix.sum(0)
    return [
        {
            "label": str(label),
            "rows": int(rows[index]),
            "precision": float(hits[index] / columns[index]) if columns[index] else None,
            "recall": float(hits[index] / rows[index]) if rows[index] else None,
        }
        for index, label in enumerate(comparison.classes)
    ]


def alignment(history: Sequence[dict[str, Any]]) -> float | None:
    """Rank correlation over the steps of the metric and the negative surrogate; 1 if lower surrogate means better metric."""
    surrogate, metric = [row["surrogate"] for row in history], [row["metric"] for row in history]
    if len(history) < 3 or len(set(surrogate)) == 1 or len(set(metric)) == 1:
        return None
    return -float(spearmanr(surrogate, metric).statistic)


@dataclass(frozen=True)
class ColumnImportance:
    """What the metric loses if a column is shuffled: mean and standard deviation over the splits."""

    column: str
    mean: float
    deviation: float


def column_importances(comparison: Comparison, result: Result) -> list[ColumnImportance]:
    """Every column of the table, in its order; none if importance was not computed."""
    if result.importance is None:
        return []
    means, deviations = result.importance.mean(0), result.importance.std(0, ddof=min(1, len(result.importance) - 1))
    return [ColumnImportance(*values) for values in zip(comparison.columns, means.tolist(), deviations.tolist(), strict=True)]
