r"""What a linear model descends on, as a function of its scores: value and gradient.

The objective is that of :meth:`metricfit.methods.Method.build_loss`, divided by the metric's unit and less its best value:

.. math:: -M(C_\sigma(S + o)) / u + \alpha\,\mathrm{CE}(S)

A small table means thousands of evaluations with a few microseconds of arithmetic each. So the two usual smoothings are
written out in numpy, and only the metric's own k x k derivative is left to autograd. :func:`by_autograd` goes through the
pipeline, takes any method, and is what the others are tested against.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from scipy.special import expit, log_expit, ndtr
from torch import Tensor

from metricfit import links
from metricfit._typing import Floats
from metricfit.learners._rows import TrainingRows
from metricfit.links import Linear
from metricfit.methods import Method
from metricfit.metrics import Metric
from metricfit.objectives import MetricLoss
from metricfit.objectives._rows import LabelRows
from metricfit.smoothing import Normal, Smoothing, Softmax

# scores (n, k) and offsets (k,) to the value and its derivative by each
Surrogate = Callable[[Floats, Floats], tuple[float, Floats, Floats]]

_SQRT_2 = math.sqrt(2.0)
_SQRT_2PI = math.sqrt(2.0 * math.pi)


def build_surrogate(method: Method, rows: TrainingRows, metric: Metric, width: float | None = None) -> Surrogate:
    """The fastest algorithm for a method of a metric; ``width`` overrides that of the smoothing."""
    smoothing = method.smoothing_for(rows.n_classes)
    width_or_own = float(smoothing.width) if width is None else width
    plain = isinstance(links.get(method.link), Linear) and method.margin is None and not method.normalize_scores
    if plain and rows.n_classes == 2 and type(smoothing) is Normal and smoothing.method == "quadrature":
        return _normal_of_two(rows, metric, width_or_own, method.leak)
    if plain and type(smoothing) is Softmax:
        return _softmax_of_any(rows, metric, width_or_own, method.leak)
    return by_autograd(method, rows, metric, width)


def by_autograd(method: Method, rows: TrainingRows, metric: Metric, width: float | None = None) -> Surrogate:
    """Any method, by its loss as a module in float64."""
    loss = method.build_loss(metric, rows.n_classes, _leak_weight(rows))
    assert isinstance(loss, MetricLoss)
    if rows.n_classes > 2 and type(loss.smoothing) is Normal:
        loss.smoothing = _Single(loss.smoothing)
    labels, weight = torch.from_numpy(rows.labels), torch.from_numpy(rows.weight)
    best = metric.bounds[1] if isinstance(loss.link, Linear) else 0.0

    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        leaves = torch.from_numpy(scores).requires_grad_(), torch.from_numpy(offsets).requires_grad_()
        given = LabelRows(leaves[0], weight, width, labels.shape, labels)  # checked once, not at every step
        with torch.enable_grad():
            loss.offsets = leaves[1]
            objective = loss.objective()
            value = (objective.value(objective.statistics(given)) - best) / metric.unit
            by_scores, by_offsets = torch.autograd.grad(value, leaves)
        return float(value.detach()), by_scores.numpy(), by_offsets.numpy()

    return surrogate


class _Single(Smoothing):
    """Normal noise integrated in float32: far finer than a descent looks, at a tenth of the price."""

    centres_itself = True

    def __init__(self, noise: Normal) -> None:
        super().__init__(noise.width)
        self.noise = noise

    def _assign(self, scores: Tensor, width: Tensor) -> Tensor:
        return self.noise._assign(scores.float(), width.float()).to(scores)

    def _log_assign(self, scores: Tensor, width: Tensor) -> Tensor:
        return self.noise._log_assign(scores.float(), width.float()).to(scores)

    def _log_label(self, scores: Tensor, labels: Tensor, margin: float | None, width: Tensor) -> Tensor:
        return self.noise._log_label(scores.float(), labels, margin, width.float()).to(scores)


def _leak_weight(rows: TrainingRows) -> Tensor | None:
    return None if (rows.class_weight == 1.0).all() else torch.from_numpy(rows.class_weight)


def _normal_of_two(rows: TrainingRows, metric: Metric, sigma: float, alpha: float) -> Surrogate:
    r"""Two classes, normal noise: :math:`P(1) = \Phi((d + o_1 - o_0) / (\sqrt 2\,\sigma))`, d the difference of scores."""
    labels, weight = rows.labels, rows.weight
    positive = labels == 1
    sign, shares = np.where(positive, 1.0, -1.0), rows.training_weight / rows.training_weight.sum()
    support, per_score = np.bincount(labels, weight, 2), 1.0 / (_SQRT_2 * sigma)

    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        difference = scores[:, 1] - scores[:, 0]
        x = (difference + (offsets[1] - offsets[0])) * per_score
        assigned = np.bincount(labels, weight * ndtr(x), 2)
        value, slope = _metric_loss(metric, np.stack([support - assigned, assigned], 1))
        gain = slope[:, 1] - slope[:, 0]
        by_shift = np.where(positive, gain[1], gain[0]) * weight * np.exp(-0.5 * x * x) * (per_score / _SQRT_2PI)
        by_offset = float(by_shift.sum())
        value -= alpha * float(shares @ log_expit(sign * difference))
        by_shift -= alpha * shares * sign * expit(-sign * difference)
        return value, np.stack([-by_shift, by_shift], 1), np.array([-by_offset, by_offset])

    return surrogate


def _softmax_of_any(rows: TrainingRows, metric: Metric, temperature: float, alpha: float) -> Surrogate:
    """Any number of classes, assigned by a softmax of that temperature."""
    labels, weight, places = rows.labels, rows.weight, np.arange(len(rows.labels))
    members = np.zeros((rows.n_classes, len(labels)))
    members[labels, places] = weight
    shares = rows.training_weight / rows.training_weight.sum()

    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        assigned, _ = _softmax((scores + offsets) / temperature)
        value, slope = _metric_loss(metric, members @ assigned)
        gain = slope[labels] * weight[:, None]
        by_offsets = assigned * (gain - (assigned * gain).sum(1, keepdims=True)) / temperature
        probability, log_normalizer = _softmax(scores)
        value += alpha * float(shares @ (log_normalizer - scores[places, labels]))
        probability[places, labels] -= 1.0
        return value, by_offsets + (alpha * shares)[:, None] * probability, by_offsets.sum(0)

    return surrogate


def _metric_loss(metric: Metric, matrix: Floats) -> tuple[float, Floats]:
    """-M / u of a confusion matrix, and its derivative by the entries."""
    leaf = torch.from_numpy(matrix).requires_grad_()
    with torch.enable_grad():
        value = -metric.value(leaf) / metric.unit
        (slope,) = torch.autograd.grad(value, leaf)
    return float(value.detach()), slope.numpy()


def _softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Softmax (n, k) and the logarithm of its denominator (n,)."""
    largest = scores.max(1, keepdims=True)
    exponentials = np.exp(scores - largest)
    total = exponentials.sum(1, keepdims=True)
    return exponentials / total, (largest + np.log(total))[:, 0]
