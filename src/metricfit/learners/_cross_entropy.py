"""Logistic regression on rows that come in blocks: the steps of scikit-learn's solvers, from sums over the blocks.

Few parameters take Newton's steps, many take L-BFGS. Both stop where scikit-learn does, so that a fit to files and one in
memory end at the same model but for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
from scipy.optimize import minimize

from metricfit._typing import Floats
from metricfit.decisions import softmax_and_normalizer
from metricfit.learners._descent import MAX_STEPS, RowsObjective, sandwich, slopes_by_weights, with_ones
from metricfit.learners._linear_model import LinearModel, gather_columns
from metricfit.learners._rows import TrainingRows
from metricfit.learners._surrogates import CrossEntropy

TOLERANCE = 1e-4  # of a gradient, and of what a step gains: scikit-learn's
NO_GAIN = 1e-12  # of a step that is not worth a pass over the rows
LEAST_STEP = 2.0**-20
EPSILON = float(np.finfo(np.float64).eps)


def fit_path(rows: TrainingRows, Cs: Sequence[float], start: LinearModel, newton: bool) -> list[LinearModel]:  # noqa: N803
    """A model for every inverse penalty C, each from the one before."""
    solve, stacked, path = _Newton(rows) if newton else partial(_lbfgs, rows), np.vstack([start.weight, start.intercept]), []
    for C in Cs:  # noqa: N806
        stacked = solve(1.0 / (C * rows.total_weight), stacked)
        path.append(_model(stacked, rows.n_classes))
    return path


def _lbfgs(rows: TrainingRows, penalty: float, start: Floats) -> Floats:
    objective = RowsObjective(rows, CrossEntropy)

    def value_and_gradient(flat: Floats) -> tuple[float, Floats]:
        stacked = flat.reshape(start.shape)
        value, slopes, _ = objective.evaluate(_model(stacked, rows.n_classes))
        value, gradient = _penalized(value, slopes, stacked, penalty)
        return value, gradient.ravel()

    options = {"maxiter": MAX_STEPS, "maxls": 50, "gtol": TOLERANCE, "ftol": 64 * EPSILON}
    return minimize(value_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(start.shape)


class _Newton:
    """Newton's steps, halved until they gain. The sums of the last weights are kept: the next C starts there."""

    def __init__(self, rows: TrainingRows) -> None:
        self.rows, self.at, self.sums = rows, np.empty(0), (0.0, np.empty(0), list[Floats]())

    def __call__(self, penalty: float, start: Floats) -> Floats:
        stacked, (value, gradient, hessian) = start, self._derivatives(penalty, start)
        n_columns = stacked.shape[1]
        free = stacked.size - (n_columns > 1)  # a constant may be added to all intercepts, so the last one stays
        for _ in range(MAX_STEPS):
            step = np.zeros(stacked.size)
            step[:free] = np.linalg.lstsq(hessian[:free, :free], -gradient[:free])[0]
            gain, length, before = -0.5 * float(step @ gradient), 1.0, value
            if gain <= NO_GAIN:
                break
            while True:
                trial = stacked + length * step.reshape(n_columns, -1).T
                value, gradient, hessian = self._derivatives(penalty, trial)
                if value <= before - length * gain / 2**10 or length < LEAST_STEP:
                    break
                length *= 0.5
            stacked = trial
            if np.abs(gradient).max() <= TOLERANCE and gain <= TOLERANCE:
                break
        return stacked

    def _derivatives(self, penalty: float, stacked: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient and Hessian, by the parameters of one column after the other."""
        if not np.array_equal(self.at, stacked):
            self.at, self.sums = stacked, self.rows.total(partial(_derivatives, _model(stacked, self.rows.n_classes)))
        loss, slopes, blocks = self.sums
        value, gradient = _penalized(loss, slopes, stacked, penalty)
        (size, n_columns), columns = stacked.shape, range(stacked.shape[1])
        hessian = np.block([[blocks[_pair(i, j, n_columns)] for j in columns] for i in columns])
        return value, gradient.T.ravel(), hessian + penalty * np.diag(np.tile(np.append(np.ones(size - 1), 0.0), n_columns))


def _derivatives(model: LinearModel, rows: TrainingRows) -> tuple[float, Floats, list[Floats]]:
    """Mean cross-entropy, its gradient (p + 1, m), and the blocks (p + 1, p + 1) of its Hessian for each pair of columns."""
    scores, index = model.logits(rows.features), np.arange(len(rows.labels))
    probability, log_normalizer = softmax_and_normalizer(scores)
    loss = float(rows.shares @ (log_normalizer - scores[index, rows.labels]))
    features, shares = with_ones(rows.features), rows.shares
    own = probability[:, 1:] if probability.shape[1] == 2 else probability
    blocks = [
        sandwich(features, shares * own[:, i] * ((i == j) - own[:, j]))
        for i, j in combinations_with_replacement(range(own.shape[1]), 2)
    ]
    probability[index, rows.labels] -= 1.0
    return loss, slopes_by_weights(rows.features, gather_columns(shares[:, None] * probability)), blocks


def _pair(i: int, j: int, n_columns: int) -> int:
    """Where the block of two columns is in their list, whichever comes first."""
    i, j = min(i, j), max(i, j)
    return i * n_columns - i * (i - 1) // 2 + j - i


def _penalized(value: float, slopes: Floats, stacked: Floats, penalty: float) -> tuple[float, Floats]:
    weight = np.vstack([stacked[:-1], np.zeros(stacked.shape[1])])  # intercepts have no penalty
    return value + 0.5 * penalty * float((weight * weight).sum()), slopes + penalty * weight


def _model(stacked: Floats, n_classes: int) -> LinearModel:
    intercept = stacked[-1] - (stacked[-1].mean() if n_classes > 2 else 0.0)
    return LinearModel(stacked[:-1].copy(), intercept, np.zeros(n_classes))
