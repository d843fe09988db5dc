r"""What a linear model descends on, as functions of its scores: value and gradient.

Leaky, for any metric M (after arXiv 1905.00448, whose Eq. (6) it is for accuracy):

.. math:: -M(C_\sigma(S + o)) / u + \alpha\,\mathrm{CE}(S)

The offset o enters the metric only: for :math:`\alpha \to \infty` this is logistic regression with tuned offsets, for
:math:`\alpha \to 0` direct training. u is the metric's unit.

A small table means thousands of evaluations with a few microseconds of arithmetic each, so the two usual smoothings are
written out in numpy, and only the metric's own k x k derivative is left to autograd. :func:`by_autograd` takes any loss, and
is what the others are checked against.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, ndtr
from torch import Tensor

from metricfit.metrics import Cost, Custom, Metric
from metricfit.scores import normalize_scores
from metricfit.smoothing import Normal, Smoothing, Softmax

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# scores (n, k) and offsets (k,) to the value and its derivative by each
Surrogate = Callable[[Floats, Floats], tuple[float, Floats, Floats]]

_SQRT_2 = math.sqrt(2.0)
_SQRT_2PI = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class Target:
    """What scores are judged by: labels, how much each row counts in the metric and in cross-entropy, and the metric."""

    labels: Ints
    weight: Floats
    training_weight: Floats
    n_classes: int
    metric: Metric

    @property
    def unit(self) -> float:
        """What counts as one unit of the metric beside cross-entropy: costs come in any currency."""
        low, high = self.metric.bounds
        scaled = isinstance(self.metric, Cost) or (isinstance(self.metric, Custom) and self.metric.limits is not None)
        return (high - low) or 1.0 if scaled else 1.0

    def loss_of(self, matrix: Floats) -> tuple[float, Floats]:
        """-M / u of a confusion matrix, and its derivative by the entries."""
        leaf = torch.from_numpy(matrix).requires_grad_()
        with torch.enable_grad():
            value = -self.metric.value(leaf) / self.unit
            (slope,) = torch.autograd.grad(value, leaf)
        return float(value.detach()), slope.numpy()


def leaky(target: Target, smoothing: Smoothing, alpha: float, dtype: torch.dtype = torch.float64) -> Surrogate:
    """The surrogate above, by the shortest way; ``dtype`` is what an integral is computed in."""
    if type(smoothing) is Normal and smoothing.method == "quadrature" and target.n_classes == 2:
        return _leaky_of_two(target, float(smoothing.width), alpha)
    if type(smoothing) is Softmax:
        return _leaky_softmax(target, float(smoothing.width), alpha)
    return by_autograd(leaky_loss(target, smoothing, alpha, dtype))


def leaky_loss(
    target: Target, smoothing: Smoothing, alpha: float, dtype: torch.dtype = torch.float64
) -> Callable[[Tensor, Tensor], Tensor]:
    """The same as one differentiable function of tensors, for any smoothing."""
    labels, shares = torch.from_numpy(target.labels), torch.from_numpy(target.training_weight / target.training_weight.sum())
    soft_metric = _soft_metric(target, smoothing, dtype)

    def loss(scores: Tensor, offsets: Tensor) -> Tensor:
        cross_entropy = torch.nn.functional.cross_entropy(scores, labels, reduction="none") @ shares
        return soft_metric(scores + offsets, None) + alpha * cross_entropy

    return loss


def direct(
    target: Target, smoothing: Smoothing, width: float, *, normalize: bool = True, dtype: torch.dtype = torch.float64
) -> Surrogate:
    """The smoothed metric alone, at this width, of scores normalised as EXACT does it (arXiv 2205.09615, Listing 1)."""
    soft_metric = _soft_metric(target, smoothing, dtype)

    def loss(scores: Tensor, offsets: Tensor) -> Tensor:
        shifted = scores + offsets
        return soft_metric(normalize_scores(shifted) if normalize else shifted, width)

    return by_autograd(loss)


def by_autograd(loss: Callable[[Tensor, Tensor], Tensor]) -> Surrogate:
    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        leaves = torch.from_numpy(scores).requires_grad_(), torch.from_numpy(offsets).requires_grad_()
        with torch.enable_grad():
            value = loss(*leaves)
            by_scores, by_offsets = torch.autograd.grad(value, leaves)
        return float(value.detach()), by_scores.numpy(), by_offsets.numpy()

    return surrogate


def _soft_metric(target: Target, smoothing: Smoothing, dtype: torch.dtype) -> Callable[[Tensor, float | None], Tensor]:
    n_rows = len(target.labels)
    members = torch.zeros(target.n_classes, n_rows, dtype=torch.float64)
    members[torch.from_numpy(target.labels), torch.arange(n_rows)] = torch.from_numpy(target.weight)

    def loss(scores: Tensor, width: float | None) -> Tensor:
        assigned = smoothing.assign(scores.to(dtype), width).double()
        return -target.metric.value(members @ assigned) / target.unit

    return loss


def _leaky_of_two(target: Target, sigma: float, alpha: float) -> Surrogate:
    r"""Two classes, normal noise: :math:`P(1) = \Phi((d + o_1 - o_0) / (\sqrt 2\,\sigma))`, d the difference of scores."""
    labels, weight = target.labels, target.weight
    positive = labels == 1
    sign, shares = np.where(positive, 1.0, -1.0), target.training_weight / target.training_weight.sum()
    support, per_score = np.bincount(labels, weight, 2), 1.0 / (_SQRT_2 * sigma)

    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        difference = scores[:, 1] - scores[:, 0]
        x = (difference + (offsets[1] - offsets[0])) * per_score
        assigned = np.bincount(labels, weight * ndtr(x), 2)
        value, slope = target.loss_of(np.stack([support - assigned, assigned], 1))
        gain = slope[:, 1] - slope[:, 0]
        by_shift = np.where(positive, gain[1], gain[0]) * weight * np.exp(-0.5 * x * x) * (per_score / _SQRT_2PI)
        by_offset = float(by_shift.sum())
        value -= alpha * float(shares @ log_expit(sign * difference))
        by_shift -= alpha * shares * sign * expit(-sign * difference)
        return value, np.stack([-by_shift, by_shift], 1), np.array([-by_offset, by_offset])

    return surrogate


def _leaky_softmax(target: Target, temperature: float, alpha: float) -> Surrogate:
    """Any number of classes, assigned by a softmax of that temperature."""
    labels, weight, rows = target.labels, target.weight, np.arange(len(target.labels))
    members = np.zeros((target.n_classes, len(labels)))
    members[labels, rows] = weight
    shares = target.training_weight / target.training_weight.sum()

    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        assigned, _ = _softmax((scores + offsets) / temperature)
        value, slope = target.loss_of(members @ assigned)
        gain = slope[labels] * weight[:, None]
        by_offsets = assigned * (gain - (assigned * gain).sum(1, keepdims=True)) / temperature
        probability, log_normalizer = _softmax(scores)
        value += alpha * float(shares @ (log_normalizer - scores[rows, labels]))
        probability[rows, labels] -= 1.0
        return value, by_offsets + (alpha * shares)[:, None] * probability, by_offsets.sum(0)

    return surrogate


def _softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Softmax (n, k) and the logarithm of what it was divided by (n,)."""
    largest = scores.max(1, keepdims=True)
    exponentials = np.exp(scores - largest)
    total = exponentials.sum(1, keepdims=True)
    return exponentials / total, (largest + np.log(total))[:, 0]


def best_temperature(target: Target, scores: Floats) -> float:
    """What to divide scores by for the least cross-entropy."""
    found = minimize_scalar(lambda log_t: mean_cross_entropy(target, scores / np.exp(log_t)), bounds=(-4, 4), method="bounded")
    return float(np.exp(found.x))


def mean_cross_entropy(target: Target, scores: Floats) -> float:
    """Cross-entropy of scores (n, k), the mean by training weight."""
    _, log_normalizer = _softmax(scores)
    losses = log_normalizer - scores[np.arange(len(scores)), target.labels]
    return float(target.training_weight @ losses / target.training_weight.sum())
