r"""What a linear model descends on, as a function of its scores and of its weights: value, gradient, curvature.

The objective is that of :meth:`metricfit.methods.Method.build_loss`, divided by the metric's unit and less its best value:

.. math:: -M(C_\sigma(S + o)) / u + \alpha\,\mathrm{CE}(S)

The two usual smoothings are those of :mod:`metricfit.decisions`, written out in numpy. :func:`by_autograd` goes through the
pipeline, takes any method, and is what the others are tested against.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import torch
from scipy.sparse import hstack, issparse
from scipy.special import expit, log_expit, softmax
from torch import Tensor

from metricfit import links
from metricfit._typing import Floats
from metricfit.decisions import NoisyMetric, NormalOfTwo, softmax_and_normalizer, softmax_of_any
from metricfit.learners._models import LinearModel
from metricfit.learners._rows import TrainingRows
from metricfit.links import Linear
from metricfit.losses import LabelRows, MetricLoss
from metricfit.methods import Method
from metricfit.metrics import Metric
from metricfit.smoothing import Normal, Smoothing, Softmax

MAX_FACTORED = 300  # features up to which curvature is factorised; beyond, only its diagonal is taken
MAX_ENTRIES = 2**23  # of the curvature of all classes up to which it is: 67 MB, and a few copies

# scores (n, k) and offsets (k,) to the value and its derivative by each
Surrogate = Callable[[Floats, Floats], tuple[float, Floats, Floats]]


class SummedSurrogate(ABC):
    """A surrogate that is a function of sums over rows, so that rows may come in blocks.

    Add up the ``sums`` of the blocks, take the ``value`` of the total, and pass its derivative to ``slopes`` of each block.
    """

    is_sum = False  # whether the value is the sum itself, so that its derivative is known before

    def __call__(self, scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        sums, kept = self.sums(scores, offsets)
        value, by_sums = self.value(sums)
        return value, *self.slopes(kept, by_sums)

    @abstractmethod
    def sums(self, scores: Floats, offsets: Floats) -> tuple[tuple[Any, ...], Any]:
        """Sums over the rows, and what :meth:`slopes` needs to know of each row."""

    @abstractmethod
    def value(self, sums: tuple[Any, ...]) -> tuple[float, Any]:
        """The value, and its derivative by the sums as far as :meth:`slopes` needs it."""

    @abstractmethod
    def slopes(self, kept: Any, by_sums: Any) -> tuple[Floats, Floats]:
        """The derivative by scores and by offsets."""


def surrogate_of(method: Method, metric: Metric, n_classes: int, width: float | None = None) -> partial[Any]:
    """The fastest algorithm for a method of a metric, to be called with rows; ``width`` overrides that of the smoothing."""
    if method.loss == "hinge":
        return partial(_Hinge, margin=1.0 if method.margin is None else method.margin)
    smoothing = method.smoothing_for(n_classes)
    width_or_own = float(smoothing.width) if width is None else width
    is_linear, plain = isinstance(links.get(method.link), Linear), method.margin is None and not method.normalize_scores
    if is_linear and n_classes == 2 and type(smoothing) is Normal and smoothing.method == "quadrature":
        if plain:
            return partial(_NormalOfTwo, metric=metric, sigma=width_or_own, leak=method.leak)
        if not method.leak:
            normalize = method.normalize_scores
            return partial(_exact_of_two, metric=metric, sigma=width_or_own, margin=method.margin, normalize=normalize)
    if is_linear and plain and type(smoothing) is Softmax:
        return partial(_SoftmaxOfAny, metric=metric, temperature=width_or_own, leak=method.leak)
    return partial(by_autograd, method, metric=metric, width=width)


def is_summed(method: Method, metric: Metric, n_classes: int) -> bool:
    """Whether linear models are trained by this method on rows in blocks."""
    if method.loss == "cross_entropy":
        return True
    kind = surrogate_of(method, metric, n_classes).func
    return isinstance(kind, type) and issubclass(kind, SummedSurrogate)


def by_autograd(method: Method, rows: TrainingRows, metric: Metric, width: float | None = None) -> Surrogate:
    """Any method, by its loss as a module in float64."""
    leak_weight = None if (rows.class_weight == 1.0).all() else torch.from_numpy(rows.class_weight)
    shift = torch.zeros(rows.n_classes, dtype=torch.float64, requires_grad=True)
    loss = method.build_loss(metric, rows.n_classes, leak_weight, shift)
    assert isinstance(loss, MetricLoss)
    if rows.n_classes > 2 and type(loss.smoothing) is Normal:
        loss.smoothing = _Single(loss.smoothing)
    objective, unit = loss.objective(), metric.unit
    best = metric.bounds[1] if isinstance(loss.link, Linear) else 0.0
    labels, weight = torch.from_numpy(rows.labels), torch.from_numpy(rows.weight)

    def surrogate(scores: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
        leaf, ends = torch.from_numpy(scores).requires_grad_(), (float(scores.min()), float(scores.max()))
        given = LabelRows(leaf, weight, width, labels.shape, ends, labels)  # checked once, not at every step
        shift.detach().copy_(torch.from_numpy(offsets))
        with torch.enable_grad():
            value = (objective.value(objective.statistics(given)) - best) / unit
            by_scores, by_offsets = torch.autograd.grad(value, (leaf, shift))
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


class _NormalOfTwo(SummedSurrogate):
    """Two classes, normal noise on each."""

    def __init__(self, rows: TrainingRows, metric: Metric, sigma: float, leak: float) -> None:
        self.noisy, self.leak = NormalOfTwo(metric, rows.labels, rows.weight, sigma), leak
        self.sign, self.shares = np.where(rows.labels == 1, 1.0, -1.0), rows.shares

    def sums(self, scores: Floats, offsets: Floats) -> tuple[tuple[Any, ...], Any]:
        difference = scores[:, 1] - scores[:, 0]
        matrix, kept = self.noisy.sums(difference + (offsets[1] - offsets[0]))
        ahead = self.sign * difference
        return (matrix, float(self.shares @ log_expit(ahead))), (kept, ahead)

    def value(self, sums: tuple[Any, ...]) -> tuple[float, Floats]:
        value, by_matrix = self.noisy.value(sums[0])
        return value - self.leak * sums[1], by_matrix

    def slopes(self, kept: Any, by_sums: Floats) -> tuple[Floats, Floats]:
        of_noisy, ahead = kept
        by_shift = self.noisy.slopes(of_noisy, by_sums)
        by_offset = float(by_shift.sum())
        by_shift -= self.leak * self.shares * self.sign * expit(-ahead)
        return np.stack([-by_shift, by_shift], 1), np.array([-by_offset, by_offset])


def _exact_of_two(rows: TrainingRows, metric: Metric, sigma: float, margin: float | None, normalize: bool) -> Surrogate:
    """Two classes, normal noise on each, with a margin and with scores as of :func:`metricfit.scores.normalize_scores`."""
    noisy = NormalOfTwo(metric, rows.labels, rows.weight, sigma)
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


class _Hinge(SummedSurrogate):
    """The hinge of Crammer and Singer, max(0, margin - s_y + max of the others), of scores without offsets."""

    is_sum = True

    def __init__(self, rows: TrainingRows, margin: float) -> None:
        self.margin, self.labels, self.shares = margin, rows.labels, rows.shares
        self.index = np.arange(len(rows.labels))

    def sums(self, scores: Floats, offsets: Floats) -> tuple[tuple[Any, ...], Any]:
        others = scores.copy()
        others[self.index, self.labels] = -np.inf
        best = others.argmax(1)
        losses = np.maximum(0.0, self.margin - scores[self.index, self.labels] + scores[self.index, best])
        return (float(self.shares @ losses),), (best, losses, np.zeros_like(scores))

    def value(self, sums: tuple[Any, ...]) -> tuple[float, float]:
        return sums[0], 1.0

    def slopes(self, kept: Any, by_sums: float) -> tuple[Floats, Floats]:
        best, losses, by_scores = kept
        active = self.shares * (losses > 0.0)
        by_scores[self.index, best] = active
        by_scores[self.index, self.labels] = -active
        return by_scores, np.zeros(by_scores.shape[1])


class _SoftmaxOfAny(SummedSurrogate):
    """Any number of classes, assigned by a softmax of that temperature."""

    def __init__(self, rows: TrainingRows, metric: Metric, temperature: float, leak: float) -> None:
        self.noisy: NoisyMetric = softmax_of_any(metric, rows.labels, rows.weight, rows.n_classes, temperature)
        self.cross_entropy, self.leak = CrossEntropy(rows), leak

    def sums(self, scores: Floats, offsets: Floats) -> tuple[tuple[Any, ...], Any]:
        sums, of_noisy = self.noisy.sums(scores + offsets)
        (loss,), of_loss = self.cross_entropy.sums(scores, offsets)
        return (sums, loss), (of_noisy, of_loss)

    def value(self, sums: tuple[Any, ...]) -> tuple[float, Floats]:
        value, by_noisy = self.noisy.value(sums[0])
        return value + self.leak * sums[1], by_noisy

    def slopes(self, kept: Any, by_sums: Floats) -> tuple[Floats, Floats]:
        by_shifted = self.noisy.slopes(kept[0], by_sums)
        by_loss, _ = self.cross_entropy.slopes(kept[1], self.leak)
        return by_shifted + by_loss, by_shifted.sum(0)


class CrossEntropy(SummedSurrogate):
    """The mean of cross-entropy over the rows."""

    is_sum = True

    def __init__(self, rows: TrainingRows) -> None:
        self.labels, self.shares, self.index = rows.labels, rows.shares, np.arange(len(rows.labels))

    def sums(self, scores: Floats, offsets: Floats) -> tuple[tuple[Any, ...], Any]:
        probability, log_normalizer = softmax_and_normalizer(scores)
        return (float(self.shares @ (log_normalizer - scores[self.index, self.labels])),), probability

    def value(self, sums: tuple[Any, ...]) -> tuple[float, float]:
        return sums[0], 1.0

    def slopes(self, kept: Floats, by_sums: float) -> tuple[Floats, Floats]:
        kept[self.index, self.labels] -= 1.0
        return (by_sums * self.shares)[:, None] * kept, np.zeros(kept.shape[1])


@dataclass(frozen=True)
class RowsObjective:
    """A surrogate of rows, as a function of the linear model. Rows in blocks may be read twice: for sums, then for slopes."""

    rows: TrainingRows
    build: Callable[[TrainingRows], Surrogate]  # the surrogate of these rows, or of a batch of them

    def evaluate(self, model: LinearModel) -> tuple[float, Floats, Floats]:
        """The value, its derivative by weights and intercepts, (p + 1, m), and by offsets, (k,); without the penalty."""
        if not self.rows.in_blocks:
            value, by_scores, by_offsets = self._surrogate(model.logits(self.rows.features), model.offsets)
            return value, model.slopes(self.rows.features, by_scores), by_offsets
        if self._surrogate.is_sum:
            sums, by_both, by_offsets = self.rows.total(partial(_sums_and_slopes, self.build, model, 1.0))
            return self._surrogate.value(sums)[0], by_both, by_offsets
        value, by_sums = self._surrogate.value(self.rows.total(partial(_sums, self.build, model)))
        _, by_both, by_offsets = self.rows.total(partial(_sums_and_slopes, self.build, model, by_sums))
        return value, by_both, by_offsets

    def curvature(self, model: LinearModel) -> list[Floats]:
        """The curvature of cross-entropy by the weights and the intercept of each column of scores, m in all.

        A matrix (p + 1, p + 1), or its diagonal where p is more than ``MAX_FACTORED`` or all have more than ``MAX_ENTRIES``.
        """
        return self.rows.total(partial(_curvature, model))

    @cached_property
    def _surrogate(self) -> Any:
        return self.build(self.rows.no_rows() if self.rows.in_blocks else self.rows)


def _sums(build: Callable[[TrainingRows], Any], model: LinearModel, rows: TrainingRows) -> tuple[Any, ...]:
    return build(rows).sums(model.logits(rows.features), model.offsets)[0]


def _sums_and_slopes(
    build: Callable[[TrainingRows], Any], model: LinearModel, by_sums: Any, rows: TrainingRows
) -> tuple[tuple[Any, ...], Floats, Floats]:
    surrogate = build(rows)
    sums, kept = surrogate.sums(model.logits(rows.features), model.offsets)
    by_scores, by_offsets = surrogate.slopes(kept, by_sums)
    return sums, model.slopes(rows.features, by_scores), by_offsets


def _curvature(model: LinearModel, rows: TrainingRows) -> list[Floats]:
    features, shares = rows.features, rows.shares
    p = softmax(model.logits(features), 1)
    curvature = p * (1.0 - p) * shares[:, None]
    curvature = curvature[:, 1:] if p.shape[1] == 2 else curvature
    features = _with_ones(features)
    size = features.shape[1]
    if size > MAX_FACTORED or curvature.shape[1] * size**2 > MAX_ENTRIES:
        squares = features.multiply(features) if issparse(features) else features * features
        return [np.asarray(squares.T @ column).ravel() for column in curvature.T]
    return [_sandwich(features, column) for column in curvature.T]


def _sandwich(features: Any, column: Floats) -> Floats:
    """X^T diag(column) X."""
    weighted = features.multiply(column[:, None]).tocsr() if issparse(features) else features * column[:, None]
    product = features.T @ weighted
    return product.toarray() if issparse(product) else product


def newton_terms(model: LinearModel, rows: TrainingRows) -> tuple[float, Floats, Floats]:
    """Mean cross-entropy, its gradient (p + 1, m), and its Hessian by the parameters of one column after the other."""
    cross_entropy, features, shares = CrossEntropy(rows), _with_ones(rows.features), rows.shares
    (loss,), probability = cross_entropy.sums(model.logits(rows.features), model.offsets)
    own = probability[:, 1:] if probability.shape[1] == 2 else probability
    columns, blocks = range(own.shape[1]), dict[tuple[int, int], Floats]()
    for i, j in combinations_with_replacement(columns, 2):
        blocks[i, j] = blocks[j, i] = _sandwich(features, shares * own[:, i] * ((i == j) - own[:, j]))
    hessian = np.block([[blocks[i, j] for j in columns] for i in columns])
    by_scores, _ = cross_entropy.slopes(probability, 1.0)
    return loss, model.slopes(rows.features, by_scores), hessian


def _with_ones(features: Any) -> Any:
    """The features with a column of ones for the intercept."""
    ones = np.ones((features.shape[0], 1))
    return hstack([features, ones], format="csr") if issparse(features) else np.hstack([features, ones])
