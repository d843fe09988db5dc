r"""What a linear model descends on, as a function of its scores: value and gradient.

The objective is that of :meth:`metricfit.methods.Method.build_loss`, divided by the metric's unit and less its best value:

.. math:: -M(C_\sigma(S + o)) / u + \alpha\,\mathrm{CE}(S)

The two usual smoothings are those of :mod:`metricfit.decisions`, written out in numpy. :func:`by_autograd` goes through the
pipeline, takes any method, and is what the others are tested against.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.special import expit, log_expit
from torch import Tensor

from metricfit import links
from metricfit._typing import Floats
from metricfit.decisions import normal_of_two, softmax_and_normalizer, softmax_of_any
from metricfit.learners._rows import TrainingRows
from metricfit.links import Linear
from metricfit.losses import LabelRows, MetricLoss
from metricfit.methods import Method
from metricfit.metrics import Metric
from metricfit.smoothing import Normal, Smoothing, Softmax

# scores (n, k) and offsets (k,) to the value and its derivative by each
Surrogate = Callable[[Floats, Floats], tuple[float, Floats, Floats]]


def build_surrogate(method: Method, rows: TrainingRows, metric: Metric, width: float | None = None) -> Surrogate:
    """The fastest algorithm for a method of a metric; ``width`` overrides that of the smoothing."""
    if method.loss == "hinge":
        return _hinge(rows, 1.0 if method.margin is None else method.margin)
    smoothing = method.smoothing_for(rows.n_classes)
    width_or_own = float(smoothing.width) if width is None else width
    is_linear, plain = isinstance(links.get(method.link), Linear), method.margin is None and not method.normalize_scores
    if is_linear and rows.n_classes == 2 and type(smoothing) is Normal and smoothing.method == "quadrature":
        if plain:
            return _normal_of_two(rows, metric, width_or_own, method.leak)
        if not method.leak:
            return _exact_of_two(rows, metric, width_or_own, method.margin, method.normalize_scores)
    if is_linear and plain and type(smoothing) is Softmax:
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
        ends = float(scores.min()), float(scores.max())
        given = LabelRows(leaves[0], weight, width, labels.shape, ends, labels)  # checked once, not at every step
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

    def _assign(self, scores: Tensor, width: float | Tensor) -> Tensor:
        return self.noise._assign(scores.float(), _single(width)).to(scores)

    def _log_assign(self, scores: Tensor, width: float | Tensor) -> Tensor:
        return self.noise._log_assign(scores.float(), _single(width)).to(scores)

    def _log_label(self, scores: Tensor, labels: Tensor, margin: float | None, width: float | Tensor) -> Tensor:
        return self.noise._log_label(scores.float(), labels, margin, _single(width)).to(scores)


def _single(width: float | Tensor) -> float | Tensor:
    return width.float() if isinstance(width, Tensor) else width


def _leak_weight(rows: TrainingRows) -> Tensor | None:
    return None if (rows.class_weight == 1.0).all() else torch.from_numpy(rows.class_weight)


def _normal_of_two(rows: TrainingRows, metric: Metric, sigma: float, alpha: float) -> Surrogate:
    """Two classes, normal noise on each."""
    noisy = normal_of_two(metric, rows.labels, rows.weight, sigma)
    sign, shares = np.where(rows.labels == 1, 1.0, -1.0), rows.training_weight / rows.training_weight.sum()

    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        difference = scores[:, 1] - scores[:, 0]
        value, by_shift = noisy(difference + (offsets[1] - offsets[0]))
        by_offset = float(by_shift.sum())
        value -= alpha * float(shares @ log_expit(sign * difference))
        by_shift -= alpha * shares * sign * expit(-sign * difference)
        return value, np.stack([-by_shift, by_shift], 1), np.array([-by_offset, by_offset])

    return surrogate


def _exact_of_two(rows: TrainingRows, metric: Metric, sigma: float, margin: float | None, normalize: bool) -> Surrogate:
    """Two classes, normal noise on each, with a margin and with scores as of :func:`metricfit.scores.normalize_scores`."""
    noisy = normal_of_two(metric, rows.labels, rows.weight, sigma)
    sign, limit = np.where(rows.labels == 1, 1.0, -1.0), np.inf if margin is None else margin
    used = (rows.weight > 0.0)[:, None]
    n_used = 2 * int(used.sum())

    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        shifted, deviation = scores + offsets, 1.0
        if normalize:
            shifted = np.where(used, shifted, 0.0)
            shifted = np.where(used, shifted - shifted.sum() / n_used, 0.0)
            deviation = float(np.sqrt((shifted * shifted).sum() / (n_used - 1))) or 1.0
            shifted /= deviation
        ahead = sign * (shifted[:, 1] - shifted[:, 0])  # of the label
        value, by_difference = noisy(sign * np.minimum(ahead, limit))
        by_difference = np.where(ahead <= limit, by_difference, 0.0)
        by_scores = np.stack([-by_difference, by_difference], 1)
        if normalize:  # the mean needs no term: both columns of a row cancel
            by_scores = (by_scores - shifted * ((by_scores * shifted).sum() / (n_used - 1))) / deviation
        return value, by_scores, by_scores.sum(0)

    return surrogate


def _hinge(rows: TrainingRows, margin: float) -> Surrogate:
    """The hinge of Crammer and Singer, max(0, margin - s_y + max of the others), of scores without offsets."""
    labels, index = rows.labels, np.arange(len(rows.labels))
    shares = rows.training_weight / rows.training_weight.sum()

    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        others = scores.copy()
        others[index, labels] = -np.inf
        best = others.argmax(1)
        losses = np.maximum(0.0, margin - scores[index, labels] + scores[index, best])
        by_scores, active = np.zeros_like(scores), shares * (losses > 0.0)
        by_scores[index, best] = active
        by_scores[index, labels] = -active
        return float(shares @ losses), by_scores, np.zeros_like(offsets)

    return surrogate


def _softmax_of_any(rows: TrainingRows, metric: Metric, temperature: float, alpha: float) -> Surrogate:
    """Any number of classes, assigned by a softmax of that temperature."""
    noisy = softmax_of_any(metric, rows.labels, rows.weight, rows.n_classes, temperature)
    labels, places = rows.labels, np.arange(len(rows.labels))
    shares = rows.training_weight / rows.training_weight.sum()

    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        value, by_shifted = noisy(scores + offsets)
        probability, log_normalizer = softmax_and_normalizer(scores)
        value += alpha * float(shares @ (log_normalizer - scores[places, labels]))
        probability[places, labels] -= 1.0
        return value, by_shifted + (alpha * shares)[:, None] * probability, by_shifted.sum(0)

    return surrogate
