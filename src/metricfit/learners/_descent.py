"""L-BFGS for a linear model on any objective.

A smoothed metric is no convex function of the weights, so the start and the penalty matter more than the descent: it starts
at logistic regression, and scores stay in logit units, in which one width of smoothing fits all data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from metricfit._typing import Floats
from metricfit.learners._models import LinearModel
from metricfit.learners._surrogates import RowsObjective

Record = Callable[[LinearModel, float, float], None]  # called with model, surrogate and gradient norm after every step

MAX_STEPS = 300
TOLERANCE = 1e-5  # largest entry of a gradient
RIDGE = 1e-4  # least curvature


def descend(
    objective: RowsObjective,
    penalty: float,
    start: LinearModel,
    record: Record | None,
    *,
    trains_offsets: bool,
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
