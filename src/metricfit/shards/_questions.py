r"""What a descent asks about the rows: sums of each batch, with the derivatives by weights and intercepts.

The objective is a function of sums, :math:`M(C) + \alpha\,\mathrm{CE}`, and :math:`dM = \langle M'(C), dC\rangle`. So
its gradient needs :math:`M'(C)` at the matrix of all rows: a second pass. For two classes one pass is enough:
it keeps the gradient of each row of the matrix, 2 (p + 1) numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from metricfit._typing import Floats, Ints
from metricfit.decisions import hard_confusion
from metricfit.decisions._smoothed import members_of, softmax_and_normalizer
from metricfit.learners import LinearModel
from metricfit.learners._descent import curvature_sums, sandwich, slopes_by_weights
from metricfit.learners._linear_model import gather_columns, spread_columns
from metricfit.shards._rows import Batch

ALL_ROWS = -1  # the fold of a model that is trained on all rows

Sums = tuple[tuple[Floats, ...], Floats, list[Floats]]  # statistics, derivatives (p + 1, c), curvatures (p + 1, p + 1)


@dataclass(frozen=True)
class Question(ABC):
    """About a model that is trained on the rows that ``fold`` does not hold out."""

    model: LinearModel
    fold: int
    class_weight: Floats  # in cross-entropy

    @abstractmethod
    def look(self, columns: Floats, labels: Ints, inside: Floats) -> tuple[tuple[Floats, ...], Floats]:
        """Statistics, and the columns (n, c) whose products with the features and with one are the derivatives.

        ``columns`` (n, m) are the model's scores, before they are spread to k classes. ``inside`` (n,) is 1 for training rows
        and 0 for others.
        """

    def curvatures(self, batch: Batch, columns: Floats, inside: Floats) -> list[Floats]:
        """Matrices (p + 1, p + 1), if any are asked for."""
        return []


@dataclass(frozen=True)
class Answers:
    """The answers to several questions from a batch of rows: features are multiplied once for all."""

    questions: Sequence[Question]

    def __call__(self, batch: Batch) -> list[Sums]:
        ends = np.cumsum([one.model.weight.shape[1] for one in self.questions])[:-1]
        weight = np.hstack([one.model.weight for one in self.questions])
        scores = np.asarray(batch.features @ weight) + np.concatenate([one.model.intercept for one in self.questions])
        looks: list[tuple[Floats, ...]] = []
        columns: list[Floats] = []
        curvatures: list[list[Floats]] = []
        for question, own in zip(self.questions, np.split(scores, ends, axis=1), strict=True):
            inside = (batch.folds != question.fold).astype(np.float64)
            statistics, slopes = question.look(own, batch.labels, inside)
            looks.append(statistics)
            columns.append(slopes)
            curvatures.append(question.curvatures(batch, own, inside))
        slopes = slopes_by_weights(batch.features, np.hstack(columns))
        parts = np.split(slopes, np.cumsum([one.shape[1] for one in columns])[:-1], axis=1)
        return list(zip(looks, parts, curvatures, strict=True))


@dataclass(frozen=True)
class CrossEntropy(Question):
    """The sum of cross-entropy and its gradient; with ``newton`` the Hessian, as k (k + 1) / 2 blocks by class."""

    newton: bool = False

    def look(self, columns: Floats, labels: Ints, inside: Floats) -> tuple[tuple[Floats, ...], Floats]:
        weight = self.class_weight[labels] * inside
        if columns.shape[1] == 1:
            difference = columns[:, 0]
            small = np.exp(-np.abs(difference))
            loss = weight @ (np.log1p(small) + np.maximum(difference, 0.0) - labels * difference)
            return (np.array(loss),), (weight * (np.where(difference < 0.0, small, 1.0) / (1.0 + small) - labels))[:, None]
        probability, normalizer = softmax_and_normalizer(columns)
        rows = np.arange(len(labels))
        loss = weight @ (normalizer - columns[rows, labels])
        probability[rows, labels] -= 1.0
        return (np.array(loss),), weight[:, None] * probability

    def curvatures(self, batch: Batch, columns: Floats, inside: Floats) -> list[Floats]:
        if not self.newton:
            return []
        features, weight = batch.with_ones, self.class_weight[batch.labels] * inside
        if columns.shape[1] == 1:
            p = expit(columns[:, 0])
            return [sandwich(features, weight * p * (1.0 - p))]
        probability, _ = softmax_and_normalizer(columns)
        return [
            sandwich(features, weight * probability[:, one] * ((one == other) - probability[:, other]))
            for one, other in _pairs(columns.shape[1])
        ]


@dataclass(frozen=True)
class Curvature(Question):
    """The curvature of cross-entropy by the columns of scores, where a descent starts."""

    def look(self, columns: Floats, labels: Ints, inside: Floats) -> tuple[tuple[Floats, ...], Floats]:
        return (), np.zeros((len(labels), 0))

    def curvatures(self, batch: Batch, columns: Floats, inside: Floats) -> list[Floats]:
        return curvature_sums(batch.features, self.model, self.class_weight[batch.labels] * inside)


@dataclass(frozen=True)
class _Smoothed(Question):
    """The matrix under noise of some width, the sum of cross-entropy, and of all rows the matrix of the decisions."""

    width: float
    leak: float

    def _decisions(self, scores: Floats, labels: Ints, inside: Floats) -> Floats:
        if self.fold != ALL_ROWS:  # only these are recorded
            return np.zeros((0, 0))
        return hard_confusion((scores + self.model.offsets).argmax(1), labels, inside, scores.shape[1])

    def _cross_entropy(self, columns: Floats, labels: Ints, inside: Floats) -> tuple[Floats, Floats]:
        """Its sum and its slopes by the columns; zero without a leak."""
        if not self.leak:
            return np.array(0.0), np.zeros_like(columns)
        (loss,), slopes = CrossEntropy(self.model, self.fold, self.class_weight).look(columns, labels, inside)
        return loss, slopes


@dataclass(frozen=True)
class NormalOfTwo(_Smoothed):
    """Two classes, normal noise on each score: all in one pass.

    Derivatives: of the rows of each class that go to class 1, and of cross-entropy, (p + 1, 3).
    """

    def look(self, columns: Floats, labels: Ints, inside: Floats) -> tuple[tuple[Floats, ...], Floats]:
        offsets, per_score = self.model.offsets, 1.0 / (math.sqrt(2.0) * self.width)
        difference = columns[:, 0]
        x = (difference + (offsets[1] - offsets[0])) * per_score
        assigned = np.bincount(labels, inside * ndtr(x), 2).astype(np.float64)
        density = inside * np.exp(-0.5 * x * x) * (per_score / math.sqrt(2.0 * math.pi))
        loss, slopes = self._cross_entropy(columns, labels, inside)
        hard = self._decisions(spread_columns(columns), labels, inside)
        return (assigned, loss, hard), np.column_stack([density * (labels == 0), density * (labels == 1), slopes])


@dataclass(frozen=True)
class SoftmaxOfAny(_Smoothed):
    """Any number of classes, assigned by a softmax of a temperature. Without ``slope`` the matrix, the first pass.

    With it, which is the metric's derivative by the matrix of all rows, the derivatives of the metric: the second pass.
    """

    slope: Floats | None = None

    def look(self, columns: Floats, labels: Ints, inside: Floats) -> tuple[tuple[Floats, ...], Floats]:
        scores = spread_columns(columns)
        assigned, _ = softmax_and_normalizer((scores + self.model.offsets) / self.width)
        if self.slope is None:
            members = members_of(labels, inside, scores.shape[1])
            loss, slopes = self._cross_entropy(columns, labels, inside)
            return (members @ assigned, loss, self._decisions(scores, labels, inside)), slopes
        gain = self.slope[labels] * inside[:, None]
        by_scores = assigned * (gain - (assigned * gain).sum(1, keepdims=True)) / self.width
        return (by_scores.sum(0),), gather_columns(by_scores)


def _pairs(n: int) -> list[tuple[int, int]]:
    return [(one, other) for one in range(n) for other in range(one + 1)]


def hessian_of(blocks: Sequence[Floats]) -> Floats:
    """The symmetric matrix of k (k + 1) / 2 blocks, (k (p + 1), k (p + 1)): one class after the other."""
    k = math.isqrt(2 * len(blocks))
    found: list[list[Any]] = [[None] * k for _ in range(k)]
    for (one, other), block in zip(_pairs(k), blocks, strict=True):
        found[one][other] = found[other][one] = block
    return np.block(found)
