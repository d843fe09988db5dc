r"""A metric under noise on the scores, with its gradient: :math:`-M(C_\sigma(S))/u`, u the metric's unit.

The two usual kinds of noise are written out in numpy, because small tables mean thousands of evaluations with a few
microseconds of arithmetic each. Only the metric's own derivative is left to autograd. Linear models are trained on these
functions (:mod:`metricfit.learners`), and offsets are tuned on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.special import ndtr

from metricfit._typing import Floats, Ints
from metricfit.decisions._hard import sums_by_cell
from metricfit.metrics import Counts, CountsMetric, Metric, needs_counts_only

# scores to the value and its derivative by the scores
NoisyMetric = Callable[[Floats], tuple[float, Floats]]

_SQRT_2 = math.sqrt(2.0)
_SQRT_2PI = math.sqrt(2.0 * math.pi)


def normal_of_two(metric: Metric, labels: Ints, weight: Floats, sigma: float) -> NoisyMetric:
    r"""Two classes, normal noise on each: a function of the difference d of their scores, (n,).

    .. math:: P(1) = \Phi(d / (\sqrt 2\,\sigma))

    >>> from metricfit import metrics
    >>> noisy = normal_of_two(metrics.get("accuracy"), np.array([0, 1]), np.ones(2), 1.0)
    >>> noisy(np.array([0.0, 1e9]))[0]                               # half a row of two is wrong
    -0.75
    """
    positive, support, per_score = labels == 1, np.bincount(labels, weight, 2), 1.0 / (_SQRT_2 * sigma)

    def noisy(difference: Floats) -> tuple[float, Floats]:
        x = difference * per_score
        assigned = np.bincount(labels, weight * ndtr(x), 2)
        value, slope = negative_metric(metric, np.stack([support - assigned, assigned], 1))
        gain = slope[:, 1] - slope[:, 0]
        by_difference = np.where(positive, gain[1], gain[0]) * weight * np.exp(-0.5 * x * x) * (per_score / _SQRT_2PI)
        return value, by_difference

    return noisy


def softmax_of_any(metric: Metric, labels: Ints, weight: Floats, n_classes: int, temperature: float) -> NoisyMetric:
    """Any number of classes, assigned by a softmax of that temperature: a function of the scores, (n, k)."""
    if needs_counts_only(metric):
        return _softmax_of_counts(metric, labels, weight, n_classes, temperature)
    members = members_of(labels, weight, n_classes)

    def noisy(scores: Floats) -> tuple[float, Floats]:
        assigned, _ = softmax_and_normalizer(scores / temperature)
        value, slope = negative_metric(metric, members @ assigned)
        gain = slope[labels] * weight[:, None]
        return value, assigned * (gain - (assigned * gain).sum(1, keepdims=True)) / temperature

    return noisy


def _softmax_of_counts(metric: CountsMetric, labels: Ints, weight: Floats, n_classes: int, temperature: float) -> NoisyMetric:
    """The same from 2k counts instead of k x k entries: the time grows with nk instead of nk^2."""
    places, shape, share = np.arange(len(labels)), (n_classes,), weight / temperature
    support = sums_by_cell(labels, weight, shape)

    def noisy(scores: Floats) -> tuple[float, Floats]:
        assigned, _ = softmax_and_normalizer(scores / temperature)
        right = assigned[places, labels]
        value, by_hits, by_predicted = _negative_of_counts(
            metric, sums_by_cell(labels, weight * right, shape), support, weight @ assigned
        )
        by_right = right * by_hits[labels]
        slopes = by_predicted - (assigned @ by_predicted + by_right)[:, None]
        slopes *= assigned
        slopes[places, labels] += by_right
        slopes *= share[:, None]
        return value, slopes

    return noisy


def members_of(labels: Ints, weight: Floats, n_classes: int) -> csr_array:
    """The weights of the rows of each class, (k, n): ``members @ assigned`` is the confusion matrix.

    >>> members_of(np.array([0, 1, 1]), np.ones(3), 2) @ np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    array([[0.9, 0.1],
           [0.7, 1.3]])
    """
    return csr_array((weight, (labels, np.arange(len(labels)))), shape=(n_classes, len(labels)))


def softmax_and_normalizer(scores: Floats) -> tuple[Floats, Floats]:
    """Softmax (n, k) and the logarithm of its denominator (n,)."""
    largest = scores.max(1, keepdims=True)
    exponentials = scores - largest
    np.exp(exponentials, out=exponentials)
    total = exponentials.sum(1, keepdims=True)
    exponentials /= total
    return exponentials, (largest + np.log(total))[:, 0]


def _negative_of_counts(
    metric: CountsMetric, hits: Floats, support: Floats, predicted: Floats
) -> tuple[float, Floats, Floats]:
    """-M / u of counts per class, and its derivative by the hits and by the predictions."""
    leaves = [torch.from_numpy(counts).requires_grad_() for counts in (hits, predicted)]
    true = torch.from_numpy(support)
    with torch.enable_grad():
        value = -metric.of_counts(Counts(leaves[0], true, leaves[1], true.sum())) / metric.unit
        by_hits, by_predicted = torch.autograd.grad(value, leaves, materialize_grads=True)
    return float(value.detach()), by_hits.numpy(), by_predicted.numpy()


def negative_metric(metric: Metric, matrix: Floats) -> tuple[float, Floats]:
    """-M / u of a confusion matrix, and its derivative by the entries."""
    leaf = torch.from_numpy(matrix).requires_grad_()
    with torch.enable_grad():
        value = -metric.value(leaf) / metric.unit
        if not value.requires_grad:
            raise ValueError(
                f"`metric` should be a function of the matrix by torch, {metric} has no gradient. "
                "To tune offsets without one, pass `smooth=False`."
            )
        (slope,) = torch.autograd.grad(value, leaf)
    return float(value.detach()), slope.numpy()
