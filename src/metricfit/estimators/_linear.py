"""Linear models, full batch, float64: logistic regression by scikit-learn, and from there on by any surrogate.

A smoothed metric is no convex function of the weights, so where a search starts and what holds it matters more than how it
descends: it starts at logistic regression, and scores stay in logit units, in which one width of smoothing fits all data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.sparse import hstack, issparse
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from metricfit.estimators._surrogates import Surrogate, Target
from metricfit.metrics import Metric

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Record = Callable[["Linear", float, float], None]  # told model, surrogate and norm of the gradient after every step

MOST_FOR_NEWTON = 150  # parameters up to which Newton's steps are cheaper than many small ones
MOST_STEPS = 300
TOLERANCE = 1e-5  # largest entry of a gradient
NEVER = -1e3  # a score
MOST_FOR_FACTOR = 300  # features up to which curvature is factorised, not only its diagonal taken
RIDGE = 1e-4  # least curvature


@dataclass(frozen=True)
class Rows:
    """What a model is fitted to: features (dense or sparse), labels, and how much rows count in the metric and in training."""

    features: Any
    labels: Ints
    weight: Floats
    training_weight: Floats
    n_classes: int

    def take(self, index: Ints) -> Rows:
        parts = (self.features[index], self.labels[index], self.weight[index], self.training_weight[index])
        return Rows(*parts, self.n_classes)

    def target(self, metric: Metric) -> Target:
        return Target(self.labels, self.weight, self.training_weight, self.n_classes, metric)


@dataclass(frozen=True)
class Linear:
    """Weights (p, m), intercepts (m,) and offsets (k,) of the decision; m is 1 for two classes and k for more."""

    weight: Floats
    intercept: Floats
    offsets: Floats

    def logits(self, features: Any) -> Floats:
        """Scores (n, k), in logit units, without the offsets."""
        return spread(np.asarray(features @ self.weight) + self.intercept)

    def with_offsets(self, offsets: Floats) -> Linear:
        return Linear(self.weight, self.intercept, offsets - offsets.mean())


def spread(columns: Floats) -> Floats:
    """One column (n, 1) becomes two that differ by it; k columns stay."""
    return np.concatenate([-0.5 * columns, 0.5 * columns], 1) if columns.shape[1] == 1 else columns


def gathered(slopes: Floats) -> Floats:
    """The gradient by the columns from that by the scores."""
    return 0.5 * (slopes[:, 1:] - slopes[:, :1]) if slopes.shape[1] == 2 else slopes


def fit_cross_entropy(rows: Rows, strengths: Sequence[float], start: Linear | None = None) -> list[Linear]:
    """Logistic regression by scikit-learn for every inverse penalty C, from the strongest penalty to the weakest."""
    n_columns = 1 if rows.n_classes == 2 else rows.n_classes
    newton = (rows.features.shape[1] + 1) * n_columns <= MOST_FOR_NEWTON
    solver = LogisticRegression(solver="newton-cholesky" if newton else "lbfgs", warm_start=True, max_iter=MOST_STEPS)
    if start is not None and start.weight.shape == (rows.features.shape[1], n_columns):
        solver.coef_, solver.intercept_ = start.weight.T.copy(), start.intercept.copy()
    if len(np.unique(rows.labels)) < 2:
        raise ValueError("`cv` should leave at least two classes in every training fold, got one class.")
    fitted = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # held-out rows judge what was reached
        for strength in sorted(strengths):
            solver.set_params(C=strength).fit(rows.features, rows.labels, rows.training_weight)
            fitted.append(_as_linear(solver, rows.n_classes))
    return fitted


def fit_hinge(rows: Rows, strength: float) -> Linear:
    """The squared hinge by scikit-learn, a class against the rest where there are more than two."""
    solver = LinearSVC(C=strength, dual=False).fit(rows.features, rows.labels, rows.training_weight)
    return _as_linear(solver, rows.n_classes)


def _as_linear(solver: LogisticRegression | LinearSVC, n_classes: int) -> Linear:
    """Its coefficients; a class without rows gets a score that never wins."""
    weight, intercept = solver.coef_.T.copy(), solver.intercept_.copy()
    if len(solver.classes_) < n_classes:
        weight, intercept = spread(weight), spread(intercept[None])[0]
        all_weight, all_intercept = np.zeros((len(weight), n_classes)), np.full(n_classes, NEVER)
        all_weight[:, solver.classes_], all_intercept[solver.classes_] = weight, intercept
        weight, intercept = all_weight, all_intercept
    return Linear(weight, intercept, np.zeros(n_classes))


def penalty_of(rows: Rows, strength: float) -> float:
    """The lambda per row that belongs to scikit-learn's C."""
    return 1.0 / (strength * rows.training_weight.sum())


def descend(
    rows: Rows,
    surrogate: Surrogate,
    penalty: float,
    start: Linear,
    record: Record | None = None,
) -> Linear:
    """L-BFGS on a surrogate plus the penalty, over weights, intercepts and offsets.

    In coordinates in which cross-entropy has curvature one at the start, class by class: a few steps instead of hundreds.
    """
    coordinates = _Coordinates(rows, start)
    n_free = start.weight.size + start.intercept.size
    gradient_norm = 0.0  # where the surrogate was last looked at: that is where a step ends

    def model_at(flat: Floats) -> Linear:
        offsets = flat[n_free:]
        return Linear(*coordinates.weights(flat[:n_free]), offsets - offsets.mean())

    def after_step(intermediate_result: Any) -> None:
        if record is not None:
            record(model_at(intermediate_result.x), float(intermediate_result.fun), gradient_norm)

    def value_and_gradient(flat: Floats) -> tuple[float, Floats]:
        nonlocal gradient_norm
        weight, intercept = coordinates.weights(flat[:n_free])
        value, by_scores, by_offsets = surrogate(spread(np.asarray(rows.features @ weight) + intercept), flat[n_free:])
        by_columns = gathered(by_scores)
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
        options={"maxiter": MOST_STEPS, "gtol": TOLERANCE, "ftol": TOLERANCE},
    )
    return model_at(found.x)


class _Coordinates:
    r"""Weights and intercepts of a class as :math:`w = L^{-T} u`, with :math:`L L^T` the curvature of cross-entropy."""

    def __init__(self, rows: Rows, start: Linear) -> None:
        features = _with_ones(rows.features)
        p = softmax(start.logits(rows.features), 1)
        curvature = p * (1.0 - p) * (rows.training_weight / rows.training_weight.sum())[:, None]
        curvature = curvature[:, 1:] if rows.n_classes == 2 else curvature
        n_features = features.shape[1]
        self.factors = []
        large = n_features > MOST_FOR_FACTOR
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
