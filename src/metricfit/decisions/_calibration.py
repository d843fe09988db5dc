"""Calibration: one temperature, or a scale and biases, that make the softmax of scores fit held-out labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from metricfit._typing import Floats, Ints
from metricfit.decisions._rows import thin_rows
from metricfit.decisions._smoothed import softmax_and_normalizer

NEVER = -1e3  # the score of a class that was not among the training rows
MOST_SEARCHED = 200_000  # rows that offsets are searched on
_MOST_ROWS = 10_000  # that scale and bias are fitted to
_MANY_ENTRIES, _FEW_STEPS = 1_000_000, 30  # of a table whose scale is searched in fewer steps
_LEAST_LIKELIHOOD = 0.005  # of a row, where scores of any origin are brought to one scale


def fit_temperature(scores: Floats, labels: Ints, weight: Floats) -> float:
    """The number to divide scores (n, k) by for the least cross-entropy; 1 where no row's class has a score."""
    scores, labels, weight = known_rows(scores, labels, weight)
    if not len(scores):
        return 1.0

    def loss(log_temperature: float) -> float:
        return cross_entropy(scores / np.exp(log_temperature), labels, weight)

    return float(np.exp(minimize_scalar(loss, bounds=(-4, 4), method="bounded").x))


@dataclass(frozen=True)
class Calibration:
    """Scale a and bias b (k,), so that ``a * scores + b`` are logits; the scale is zero for scores that say nothing."""

    scale: float
    bias: Floats

    def logits(self, scores: Floats) -> Floats:
        """Of scores (n, k); a class that the model has never seen stays out of reach."""
        return np.where(scores == NEVER, NEVER, self.scale * scores + self.bias)

    def probabilities(self, scores: Floats) -> Floats:
        return softmax_and_normalizer(self.logits(scores))[0]

    def to_plain(self) -> dict[str, Any]:
        return {"scale": self.scale, "bias": self.bias.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        return cls(float(plain["scale"]), np.array(plain["bias"], np.float64))


def calibrate(scores: Floats, labels: Ints, weight: Floats) -> Calibration:
    r"""The scale and the bias that fit the labels best.

    They minimise the mean of :math:`-\log(p_y + \epsilon)`. This is cross-entropy, but no row costs more than
    :math:`-\log \epsilon`, so a few rows of a class whose probability is zero do not flatten all others. A class without rows
    has a bias of zero, the mean of the others. The scale is zero where a larger score does not mean a more likely class.

    >>> scores = np.array([[0.0, 13.0], [0.0, 11.0], [0.0, 13.0], [0.0, 11.0], [0.0, 11.0], [0.0, 13.0]])
    >>> found = calibrate(scores, np.array([1, 0, 1, 0, 1, 0]), np.ones(6))
    >>> round(found.scale, 2), round(float(np.ptp(found.bias)) / found.scale, 2)   # about log 2, and the middle of 11 and 13
    (0.7, 12.0)
    """
    n_all, everyone = scores.shape[1], np.arange(len(labels))
    known = np.flatnonzero((scores[everyone, labels] != NEVER) & (weight > 0.0))
    present = np.flatnonzero(np.bincount(labels[known], minlength=n_all))
    labels = np.searchsorted(present, labels[known])
    kept, weight = thin_rows(labels, weight[known], len(present), _MOST_ROWS)
    scores, labels = scores[np.ix_(known[kept], present)], labels[kept]
    counted = np.where(scores == NEVER, 0.0, weight[:, None])
    middle = (counted * scores).sum(0) / counted.sum(0)
    unit = float((counted * np.abs(scores - middle)).sum() / max(counted.sum(), 1e-300))
    if len(present) < 2 or unit == 0.0:
        return Calibration(0.0, np.zeros(n_all))
    standard, share, rows = (scores - middle) / unit, weight / weight.sum(), np.arange(len(labels))

    def loss(parameters: Floats, log_least: float) -> tuple[float, Floats]:
        shifted = parameters[0] * standard + parameters[1:]
        slopes, normalizer = softmax_and_normalizer(shifted)
        log_right = shifted[rows, labels] - normalizer
        log_likelihood = np.logaddexp(log_right, log_least)
        slopes[rows, labels] -= 1.0
        slopes *= (share * np.exp(log_right - log_likelihood))[:, None]
        return -float(share @ log_likelihood), np.append((slopes * standard).sum(), slopes.sum(0))

    found = np.append(1.0, np.zeros(len(present)))
    steps = {"maxiter": _FEW_STEPS} if scores.size > _MANY_ENTRIES else {}
    for log_least in (-np.inf, np.log(_LEAST_LIKELIHOOD)):  # plain cross-entropy first: it has one minimum
        found = minimize(loss, found, (log_least,), jac=True, method="L-BFGS-B", options=steps).x
    scale = max(float(found[0]), 0.0) / unit
    bias = np.zeros(n_all)
    bias[present] = found[1:] - scale * middle
    bias[present] -= bias[present].mean()
    return Calibration(scale, bias)


def known_rows(scores: Floats, labels: Ints, weight: Floats) -> tuple[Floats, Ints, Floats]:
    """The rows whose class the model has seen: the others cannot be calibrated."""
    known = scores[np.arange(len(scores)), labels] > 0.5 * NEVER
    return (scores, labels, weight) if known.all() else (scores[known], labels[known], weight[known])


def cross_entropy(scores: Floats, labels: Ints, weight: Floats) -> float:
    """The weighted mean of ``-log softmax(scores)[label]``.

    >>> round(cross_entropy(np.zeros((1, 2)), np.array([0]), np.ones(1)), 4)            # log 2
    0.6931
    """
    losses = softmax_and_normalizer(scores)[1] - scores[np.arange(len(scores)), labels]
    return float(weight @ losses / weight.sum())
