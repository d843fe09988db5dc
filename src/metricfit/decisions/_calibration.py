"""Calibration: one temperature that makes the softmax of scores fit held-out labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from metricfit._typing import Floats, Ints

NEVER = -1e3  # the score of a class that was not among the training rows


def fit_temperature(scores: Floats, labels: Ints, weight: Floats) -> float:
    """The number to divide scores (n, k) by for the least cross-entropy; 1 where no row's class has a score."""
    scores, labels, weight = known_rows(scores, labels, weight)
    if not len(scores):
        return 1.0
    return best_temperature(lambda temperature: cross_entropy(scores / temperature, labels, weight))


def best_temperature(loss: Callable[[float], float]) -> float:
    """The temperature between exp(-4) and exp(4) with the least loss."""
    found = minimize_scalar(lambda log_t: loss(np.exp(log_t)), bounds=(-4, 4), method="bounded")
    return float(np.exp(found.x))


def known_rows(scores: Floats, labels: Ints, weight: Floats) -> tuple[Floats, Ints, Floats]:
    """The rows whose class the model has seen: the others cannot be calibrated."""
    known = scores[np.arange(len(scores)), labels] > 0.5 * NEVER
    return (scores, labels, weight) if known.all() else (scores[known], labels[known], weight[known])


def cross_entropy(scores: Floats, labels: Ints, weight: Floats) -> float:
    """The weighted mean of ``-log softmax(scores)[label]``.

    >>> round(cross_entropy(np.zeros((1, 2)), np.array([0]), np.ones(1)), 4)            # log 2
    0.6931
    """
    losses = log_normalizer(scores) - scores[np.arange(len(scores)), labels]
    return float(weight @ losses / weight.sum())


def log_normalizer(scores: Floats) -> Floats:
    """log of the sum of exp(scores) over the classes, (n,)."""
    largest = scores.max(1, keepdims=True)
    return (largest + np.log(np.exp(scores - largest).sum(1, keepdims=True)))[:, 0]
