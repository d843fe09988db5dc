"""L-BFGS for a linear model on any objective.

A smoothed metric is no convex function of the weights, so the start and the penalty matter more than the descent: it starts
at logistic regression, and scores stay in logit units, in which one width of smoothing fits all data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.sparse import hstack, issparse
from scipy.special import softmax

from metricfit._typing import Floats
from metricfit.learners._models import LinearModel, gather_columns
from metricfit.learners._rows import TrainingRows
from metricfit.learners._surrogates import Surrogate

Record = Callable[[LinearModel, float, float], None]  # called with model, surrogate and gradient norm after every step

MAX_STEPS = 300
TOLERANCE = 1e-5  # largest entry of a gradient
MAX_FACTORED = 300  # features up to which curvature is factorised; beyond, only its diagonal is taken
MAX_ENTRIES = 2**23  # of the curvature of all classes up to which it is: 67 MB, and a few copies
RIDGE = 1e-4  # least curvature


@dataclass(frozen=True)
class RowsObjective:
    """A surrogate of rows, as a function of the linear model. Rows in blocks may be read twice: for sums, then for slopes."""

    rows: TrainingRows
    build: Callable[[TrainingRows], Surrogate]  # the surrogate of these rows, or of a batch of them

    def evaluate(self, model: LinearModel) -> tuple[float, Floats, Floats]:
        """The value, its derivative by weights and intercepts, (p + 1, m), and by offsets, (k,); without the penalty."""
        if not self.rows.in_blocks:
            value, by_scores, by_offsets = self._surrogate(model.logits(self.rows.features), model.offsets)
            return value, slopes_by_weights(self.rows.features, gather_columns(by_scores)), by_offsets
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
    return sums, slopes_by_weights(rows.features, gather_columns(by_scores)), by_offsets


def slopes_by_weights(features: Any, by_columns: Floats) -> Floats:
    """The derivative by weights and intercepts, (p + 1, m), from that by the columns of scores, (n, m)."""
    return np.vstack([np.asarray(features.T @ by_columns), by_columns.sum(0)])


def _curvature(model: LinearModel, rows: TrainingRows) -> list[Floats]:
    features, shares = rows.features, rows.shares
    p = softmax(model.logits(features), 1)
    curvature = p * (1.0 - p) * shares[:, None]
    curvature = curvature[:, 1:] if p.shape[1] == 2 else curvature
    features = with_ones(features)
    size = features.shape[1]
    if size > MAX_FACTORED or curvature.shape[1] * size**2 > MAX_ENTRIES:
        squares = features.multiply(features) if issparse(features) else features * features
        return [np.asarray(squares.T @ column).ravel() for column in curvature.T]
    return [sandwich(features, column) for column in curvature.T]


def sandwich(features: Any, column: Floats) -> Floats:
    """X^T diag(column) X."""
    weighted = features.multiply(column[:, None]).tocsr() if issparse(features) else features * column[:, None]
    product = features.T @ weighted
    return product.toarray() if issparse(product) else product


def descend(
    objective: RowsObjective,
    penalty: float,
    start: LinearModel,
    record: Record | None = None,
    *,
    trains_offsets: bool = True,
) -> LinearModel:
    """L-BFGS on an objective plus the penalty, over weights, intercepts and, where asked for, offsets.

    In coordinates in which cross-entropy has curvature one at the start, class by class: a few steps instead of hundreds.
    """
    coordinates = _Coordinates(objective.curvature(start), start)
    n_free = start.weight.size + start.intercept.size
    gradient_norm = 0.0  # at the last evaluation, where a step ends

    def model_at(flat: Floats) -> LinearModel:
        return LinearModel(*coordinates.weights(flat[:n_free]), flat[n_free:] if trains_offsets else start.offsets)

    def centred(model: LinearModel) -> LinearModel:
        return model.with_offsets(model.offsets)

    def after_step(intermediate_result: Any) -> None:
        if record is not None:
            record(centred(model_at(intermediate_result.x)), float(intermediate_result.fun), gradient_norm)

    def value_and_gradient(flat: Floats) -> tuple[float, Floats]:
        nonlocal gradient_norm
        model = model_at(flat)
        value, by_both, by_offsets = objective.evaluate(model)
        by_both[:-1] += penalty * model.weight
        gradient_norm = float(np.linalg.norm(by_both))
        gradient = coordinates.gradient(by_both)
        value += 0.5 * penalty * float((model.weight * model.weight).sum())
        return value, np.append(gradient, by_offsets) if trains_offsets else gradient

    found = minimize(
        value_and_gradient,
        np.append(coordinates.start.ravel(), start.offsets if trains_offsets else []),
        jac=True,
        method="L-BFGS-B",
        callback=after_step,
        options={"maxiter": MAX_STEPS, "gtol": TOLERANCE, "ftol": TOLERANCE},
    )
    return centred(model_at(found.x))


class _Coordinates:
    r"""Weights and intercepts of a class as :math:`w = L^{-T} u`, with :math:`L L^T` the curvature of cross-entropy.

    All classes at once: ``inverse`` has :math:`L^{-1}` of each, (m, p + 1, p + 1), or its diagonal, (m, p + 1).
    """

    def __init__(self, curvature: list[Floats], start: LinearModel) -> None:
        stacked = np.vstack([start.weight, start.intercept])
        self.start, self.inverse = np.empty_like(stacked.T), np.empty((len(curvature), *curvature[0].shape))
        for index, one in enumerate(curvature):
            if one.ndim == 1:
                factor = np.sqrt(one + RIDGE)
                self.start[index], self.inverse[index] = factor * stacked[:, index], 1.0 / factor
            else:
                identity = np.eye(len(one))
                factor = np.linalg.cholesky(one + RIDGE * identity)
                self.start[index] = factor.T @ stacked[:, index]
                self.inverse[index] = solve_triangular(factor, identity, lower=True)

    def weights(self, flat: Floats) -> tuple[Floats, Floats]:
        by_class = self._times(self.inverse.swapaxes(1, -1), flat.reshape(len(self.inverse), -1))
        stacked = np.ascontiguousarray(by_class.T)  # one memory layout everywhere: it changes the last bits of products
        return stacked[:-1], stacked[-1]

    def gradient(self, stacked: Floats) -> Floats:
        return self._times(self.inverse, stacked.T).ravel()

    @staticmethod
    def _times(matrices: Floats, vectors: Floats) -> Floats:
        """A matrix or a diagonal for each vector, (m, p + 1)."""
        return matrices * vectors if matrices.ndim == 2 else (matrices @ vectors[:, :, None])[:, :, 0]


def with_ones(features: Any) -> Any:
    """The features with a column of ones for the intercept."""
    ones = np.ones((features.shape[0], 1))
    return hstack([features, ones], format="csr") if issparse(features) else np.hstack([features, ones])
