"""L-BFGS for a linear model on any surrogate.

A smoothed metric is no convex function of the weights, so the start and the penalty matter more than the descent: it starts
at logistic regression, and scores stay in logit units, in which one width of smoothing fits all data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.sparse import hstack, issparse
from scipy.special import softmax

from metricfit._typing import Floats
from metricfit.learners._linear_model import LinearModel, gather_columns, spread_columns
from metricfit.learners._rows import TrainingRows
from metricfit.learners._surrogates import Surrogate

Record = Callable[[LinearModel, float, float], None]  # called with model, surrogate and gradient norm after every step

MAX_STEPS = 300
TOLERANCE = 1e-5  # largest entry of a gradient
MAX_FACTORED = 300  # features up to which curvature is factorised; beyond, only its diagonal is taken
RIDGE = 1e-4  # least curvature


def descend(
    rows: TrainingRows,
    surrogate: Surrogate,
    penalty: float,
    start: LinearModel,
    record: Record | None = None,
) -> LinearModel:
    """L-BFGS on a surrogate plus the penalty, over weights, intercepts and offsets.

    In coordinates in which cross-entropy has curvature one at the start, class by class: a few steps instead of hundreds.
    """
    coordinates = _Coordinates(rows, start)
    n_free = start.weight.size + start.intercept.size
    gradient_norm = 0.0  # where the surrogate was last looked at: that is where a step ends

    def model_at(flat: Floats) -> LinearModel:
        offsets = flat[n_free:]
        return LinearModel(*coordinates.weights(flat[:n_free]), offsets - offsets.mean())

    def after_step(intermediate_result: Any) -> None:
        if record is not None:
            record(model_at(intermediate_result.x), float(intermediate_result.fun), gradient_norm)

    def value_and_gradient(flat: Floats) -> tuple[float, Floats]:
        nonlocal gradient_norm
        weight, intercept = coordinates.weights(flat[:n_free])
        value, by_scores, by_offsets = surrogate(spread_columns(np.asarray(rows.features @ weight) + intercept), flat[n_free:])
        by_columns = gather_columns(by_scores)
        by_weight = np.asarray(rows.features.T @ by_columns) + penalty * weight
        by_both = np.vstack([by_weight, by_columns.sum(0)])
        gradient_norm = float(np.linalg.norm(by_both))
        gradient = coordinates.gradient(by_both)
        return value + 0.5 * penalty * float((weight * weight).sum()), np.append(gradient, by_offsets)

    found = minimize(
        value_and_gradient,
        np.append(coordinates.start, start.offsets),
        jac=True,
        method="L-BFGS-B",
        callback=after_step,
        options={"maxiter": MAX_STEPS, "gtol": TOLERANCE, "ftol": TOLERANCE},
    )
    return model_at(found.x)


class _Coordinates:
    r"""Weights and intercepts of a class as :math:`w = L^{-T} u`, with :math:`L L^T` the curvature of cross-entropy."""

    def __init__(self, rows: TrainingRows, start: LinearModel) -> None:
        features = _with_ones(rows.features)
        p = softmax(start.logits(rows.features), 1)
        curvature = p * (1.0 - p) * (rows.training_weight / rows.training_weight.sum())[:, None]
        curvature = curvature[:, 1:] if rows.n_classes == 2 else curvature
        n_features = features.shape[1]
        self.factors = []
        large = n_features > MAX_FACTORED
        squares = (features.multiply(features) if issparse(features) else features * features) if large else None
        for column in curvature.T:
            if squares is not None:
                self.factors.append(np.sqrt(np.asarray(squares.T @ column).ravel() + RIDGE))
                continue
            weighted = features.multiply(column[:, None]).tocsr() if issparse(features) else features * column[:, None]
            hessian = features.T @ weighted
            hessian = hessian.toarray() if issparse(hessian) else hessian
            self.factors.append(np.linalg.cholesky(hessian + RIDGE * np.eye(n_features)))
        stacked = np.vstack([start.weight, start.intercept])
        columns = [
            factor.T @ part if factor.ndim == 2 else factor * part
            for factor, part in zip(self.factors, stacked.T, strict=True)
        ]
        self.start = np.concatenate(columns)

    def weights(self, flat: Floats) -> tuple[Floats, Floats]:
        columns = [self._solve(factor, part, True) for factor, part in self._parts(flat)]
        stacked = np.stack(columns, 1)
        return stacked[:-1], stacked[-1]

    def gradient(self, stacked: Floats) -> Floats:
        return np.concatenate([self._solve(factor, part, False) for factor, part in zip(self.factors, stacked.T, strict=True)])

    def _parts(self, flat: Floats) -> Any:
        return zip(self.factors, flat.reshape(len(self.factors), -1), strict=True)

    @staticmethod
    def _solve(factor: Floats, part: Floats, transposed: bool) -> Floats:
        if factor.ndim == 1:
            return part / factor
        return solve_triangular(factor, part, trans=transposed, lower=True, check_finite=False)


def _with_ones(features: Any) -> Any:
    ones = np.ones((features.shape[0], 1))
    return hstack([features, ones], format="csr") if issparse(features) else np.hstack([features, ones])
