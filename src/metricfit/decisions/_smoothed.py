r"""A metric under noise on the scores, with its gradient: :math:`-M(C_\sigma(S))/u`, u the metric's unit.

The two usual kinds of noise are written out in numpy, because small tables mean thousands of evaluations with a few
microseconds of arithmetic each. Only the metric's own derivative is left to autograd. Linear models are trained on these
functions (:mod:`metricfit.learners`), and offsets are tuned on them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.special import ndtr
from torch import Tensor

from metricfit._typing import Floats, Ints
from metricfit.decisions._hard import sums_by_cell
from metricfit.metrics import Counts, CountsMetric, Metric, needs_counts_only

_SQRT_2 = math.sqrt(2.0)
_SQRT_2PI = math.sqrt(2.0 * math.pi)


class NoisyMetric(ABC):
    """Of scores, the value and its derivative by the scores: a function of sums over rows.

    Called with the scores of all rows, it returns both. Rows may also come in blocks: add up the ``sums`` of the blocks, take
    the ``value`` of the total, and pass its derivative to ``slopes`` of each block.
    """

    def __init__(self, metric: Metric, labels: Ints, weight: Floats) -> None:
        self.metric, self.labels, self.weight, self.unit = metric, labels, weight, metric.unit

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        sums, kept = self.sums(scores)
        value, by_sums = self.value(sums)
        return value, self.slopes(kept, by_sums)

    @abstractmethod
    def sums(self, scores: Floats) -> tuple[Floats, Any]:
        """Sums over the rows, and what :meth:`slopes` needs to know of each row."""

    def value(self, sums: Floats) -> tuple[float, Floats]:
        """The value, and its derivative by the sums, which are the confusion matrix here."""
        value, slopes = self._negative(self.metric.value, sums)
        return value, slopes[0]

    @abstractmethod
    def slopes(self, kept: Any, by_sums: Floats) -> Floats:
        """The derivative by the scores."""

    def _negative(self, metric: Callable[..., Tensor], *sums: Floats) -> tuple[float, list[Floats]]:
        """-M / u as a function of some sums, and its derivative by each of them."""
        leaves = [torch.from_numpy(one).requires_grad_() for one in sums]
        with torch.enable_grad():
            value = -metric(*leaves) / self.unit
            if not value.requires_grad:
                raise ValueError(
                    f"`metric` should be written with torch operations, but {self.metric} has no gradient. "
                    "To tune offsets without one, pass `smooth=False`."
                )
            slopes = torch.autograd.grad(value, leaves, materialize_grads=True)
        return float(value.detach()), [slope.numpy() for slope in slopes]


class NormalOfTwo(NoisyMetric):
    r"""Two classes, normal noise on each: a function of the difference d of their scores, (n,).

    .. math:: P(1) = \Phi(d / (\sqrt 2\,\sigma))

    >>> from metricfit import metrics
    >>> noisy = NormalOfTwo(metrics.get("accuracy"), np.array([0, 1]), np.ones(2), 1.0)
    >>> noisy(np.array([0.0, 1e9]))[0]                               # half a row of two is wrong
    -0.75
    """

    def __init__(self, metric: Metric, labels: Ints, weight: Floats, sigma: float) -> None:
        super().__init__(metric, labels, weight)
        self.per_score, self.positive, self.support = 1.0 / (_SQRT_2 * sigma), labels == 1, np.bincount(labels, weight, 2)

    def sums(self, scores: Floats) -> tuple[Floats, Floats]:
        x = scores * self.per_score
        assigned = np.bincount(self.labels, self.weight * ndtr(x), 2)
        return np.stack([self.support - assigned, assigned], 1), x

    def slopes(self, kept: Floats, by_sums: Floats) -> Floats:
        x, gain = kept, by_sums[:, 1] - by_sums[:, 0]
        density = np.exp(-0.5 * x * x)
        return np.where(self.positive, gain[1], gain[0]) * self.weight * density * (self.per_score / _SQRT_2PI)


def softmax_of_any(metric: Metric, labels: Ints, weight: Floats, n_classes: int, temperature: float) -> NoisyMetric:
    """Any number of classes, assigned by a softmax of that temperature: a function of the scores, (n, k)."""
    if needs_counts_only(metric):
        return _SoftmaxOfCounts(metric, labels, weight, n_classes, temperature)
    return _SoftmaxOfMatrix(metric, labels, weight, n_classes, temperature)


class _SoftmaxOfMatrix(NoisyMetric):
    def __init__(self, metric: Metric, labels: Ints, weight: Floats, n_classes: int, temperature: float) -> None:
        super().__init__(metric, labels, weight)
        self.temperature = temperature
        self.members = csr_array((weight, (labels, np.arange(len(labels)))), shape=(n_classes, len(labels)))

    def sums(self, scores: Floats) -> tuple[Floats, Floats]:
        assigned, _ = softmax_and_normalizer(scores / self.temperature)
        return self.members @ assigned, assigned

    def slopes(self, kept: Floats, by_sums: Floats) -> Floats:
        assigned, gain = kept, by_sums[self.labels] * self.weight[:, None]
        return assigned * (gain - (assigned * gain).sum(1, keepdims=True)) / self.temperature


class _SoftmaxOfCounts(NoisyMetric):
    """The same from counts per class (hits, support, predictions) instead of k x k entries: time grows with nk."""

    def __init__(self, metric: CountsMetric, labels: Ints, weight: Floats, n_classes: int, temperature: float) -> None:
        super().__init__(metric, labels, weight)
        self.of_counts, self.temperature = metric.of_counts, temperature
        self.index, self.shape, self.share = np.arange(len(labels)), (n_classes,), weight / temperature
        self.support = sums_by_cell(labels, weight, self.shape)

    def sums(self, scores: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
        assigned, _ = softmax_and_normalizer(scores / self.temperature)
        right = assigned[self.index, self.labels]
        hits = sums_by_cell(self.labels, self.weight * right, self.shape)
        return np.stack([hits, self.support, self.weight @ assigned]), (assigned, right)

    def value(self, sums: Floats) -> tuple[float, Floats]:
        hits, support, predicted = sums
        true = torch.from_numpy(support)

        def of_counts(hits: Tensor, predicted: Tensor) -> Tensor:
            return self.of_counts(Counts(hits, true, predicted, true.sum()))

        value, slopes = self._negative(of_counts, hits, predicted)
        return value, np.stack(slopes)

    def slopes(self, kept: tuple[Floats, Floats], by_sums: Floats) -> Floats:
        (assigned, right), (by_hits, by_predicted) = kept, by_sums
        by_right = right * by_hits[self.labels]
        slopes = by_predicted - (assigned @ by_predicted + by_right)[:, None]
        slopes *= assigned
        slopes[self.index, self.labels] += by_right
        slopes *= self.share[:, None]
        return slopes


def softmax_and_normalizer(scores: Floats) -> tuple[Floats, Floats]:
    """Softmax (n, k) and the logarithm of its denominator (n,)."""
    largest = scores.max(1, keepdims=True)
    exponentials = scores - largest
    np.exp(exponentials, out=exponentials)
    total = exponentials.sum(1, keepdims=True)
    exponentials /= total
    return exponentials, (largest + np.log(total))[:, 0]
