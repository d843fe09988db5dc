"""Calibration: one temperature that makes the softmax of scores fit held-out labels."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from metricfit._typing import Floats, Ints


def fit_temperature(scores: Floats, labels: Ints, weight: Floats) -> float:
    """The number to divide scores (n, k) by for the least cross-entropy."""
    found = minimize_scalar(
        lambda log_t: cross_entropy(scores / np.exp(log_t), labels, weight), bounds=(-4, 4), method="bounded"
    )
    return float(np.exp(found.x))


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
