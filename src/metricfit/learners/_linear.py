"""Linear models: cross-entropy by scikit-learn, every other method by full-batch L-BFGS in float64.

On rows that come in blocks, cross-entropy takes the steps of scikit-learn's solvers from sums over the blocks. Few parameters
take Newton's steps, many take L-BFGS. Both stop where scikit-learn does, so that a fit to files and one in memory end at the
same model but for rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from metricfit._typing import Floats
from metricfit.decisions import NEVER, fit_offsets, hard_confusion, metric_values
from metricfit.learners._descent import MAX_STEPS, descend
from metricfit.learners._learner import Fold, MetricLearner
from metricfit.learners._models import LinearModel, spread_columns
from metricfit.learners._rows import TrainingRows
from metricfit.learners._surrogates import CrossEntropy, RowsObjective, newton_terms, surrogate_of
from metricfit.methods import CROSS_ENTROPY, SCRATCH, Method

MAX_NEWTON = 150  # parameters up to which Newton's steps are cheaper than L-BFGS
NORMALIZED_PENALTY = 1e-6  # per row: normalised scores leave the size of the weights open


@dataclass(frozen=True)
class LinearLearner(MetricLearner):
    """Trains linear models; ``Cs`` are inverse penalties as in scikit-learn, in rising order."""

    Cs: Sequence[float]
    seed: int = 0  # of random weights
    name: str = field(default="linear", kw_only=True)
    refits = True

    def with_setting(self, index: int | None) -> Self:
        middle = len(self.Cs) // 2
        return replace(self, Cs=self.Cs[middle : middle + 1] if index is None else self.Cs[: index + 1])

    @property
    def C(self) -> float:  # noqa: N802 - scikit-learn's name
        return self.Cs[-1]

    def fit_cross_entropy(self, fold: Fold) -> list[LinearModel]:
        return _fit_cross_entropy(fold.rows, self.Cs, fold.warm if isinstance(fold.warm, LinearModel) else None)

    def fit(self, fold: Fold, method: Method, start: Any = None) -> LinearModel:
        """Offsets that are trained from cross-entropy start at the best ones on the training rows."""
        rows, model, trains_offsets = fold.rows, start, method.offsets == "trained"
        if method.loss == "cross_entropy":
            return start
        if method.start == SCRATCH:
            model = LinearModel.random(rows.features.shape[1], rows.n_classes, self.seed)
        elif method.start == CROSS_ENTROPY and trains_offsets:
            some = rows.spread()
            model = start.with_offsets(fit_offsets(some.logits(start), some.labels, fold.metric, some.weight))
        penalty = 1.0 / (self.C * rows.total_weight) * (method.leak or 1.0)
        for width in method.widths or (None,):
            build = surrogate_of(method, fold.metric, rows.n_classes, width)
            shown = width or float(method.smoothing_for(rows.n_classes).width)
            record = None if fold.history is None else partial(_record, fold, method, shown)
            objective = RowsObjective(rows, build)
            least = NORMALIZED_PENALTY if method.normalize_scores else penalty
            model = descend(objective, least, model, record, trains_offsets=trains_offsets)
        return model


def _record(fold: Fold, method: Method, width: float, model: LinearModel, surrogate: float, gradient_norm: float) -> None:
    value = metric_values(fold.metric, fold.rows.total(partial(_decided, model)))
    stage = f"leak {method.leak:g}" if method.leak else f"width {width:g}"
    fold.record(stage, surrogate, float(value), gradient_norm, width)


def _decided(model: LinearModel, rows: TrainingRows) -> Floats:
    """The confusion matrix of the decisions."""
    predicted = (model.logits(rows.features) + model.offsets).argmax(1)
    return hard_confusion(predicted, rows.labels, rows.weight, rows.n_classes)


def _fit_cross_entropy(rows: TrainingRows, Cs: Sequence[float], start: LinearModel | None) -> list[LinearModel]:  # noqa: N803
    """Logistic regression by scikit-learn for every inverse penalty C, from the strongest penalty to the weakest."""
    rows.check_classes()
    n_classes, n_features = rows.n_classes, rows.features.shape[1]
    n_columns = 1 if n_classes == 2 else n_classes
    newton = (n_features + 1) * n_columns <= MAX_NEWTON
    if rows.in_blocks:
        return fit_path(rows, Cs, np.zeros((n_features + 1, n_columns)), newton)
    solver = LogisticRegression(solver="newton-cholesky" if newton else "lbfgs", warm_start=True, max_iter=MAX_STEPS)
    if start is not None and start.weight.shape == (n_features, n_columns):
        solver.coef_, solver.intercept_ = start.weight.T.copy(), start.intercept.copy()
    fitted = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # held-out rows judge the result
        for C in Cs:  # noqa: N806
            solver.set_params(C=C).fit(rows.features, rows.labels, rows.training_weight)
            fitted.append(_as_linear(solver, n_classes))
    return fitted


def _as_linear(solver: LogisticRegression, n_classes: int) -> LinearModel:
    """Its coefficients; a class without rows gets a score that never wins."""
    weight, intercept = solver.coef_.T.copy(), solver.intercept_.copy()
    if len(solver.classes_) < n_classes:
        weight, intercept = spread_columns(weight), spread_columns(intercept[None])[0]
        all_weight, all_intercept = np.zeros((len(weight), n_classes)), np.full(n_classes, NEVER)
        all_weight[:, solver.classes_], all_intercept[solver.classes_] = weight, intercept
        weight, intercept = all_weight, all_intercept
    return LinearModel(weight, intercept, np.zeros(n_classes))


TOLERANCE = 1e-4  # of a gradient, and of what a step gains: scikit-learn's
NO_GAIN = 1e-12  # of a step that is not worth a pass over the rows
LEAST_STEP = 2.0**-20
EPSILON = float(np.finfo(np.float64).eps)


def fit_path(rows: TrainingRows, Cs: Sequence[float], stacked: Floats, newton: bool) -> list[LinearModel]:  # noqa: N803
    """A model for every inverse penalty C, each from the one before; the first from weights above intercepts, (p + 1, m)."""
    solve, path = _Newton(rows) if newton else partial(_lbfgs, rows), list[LinearModel]()
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
        self.rows, self.at, self.sums = rows, np.empty(0), (0.0, np.empty(0), np.empty(0))

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
            self.at, self.sums = stacked, self.rows.total(partial(newton_terms, _model(stacked, self.rows.n_classes)))
        loss, slopes, hessian = self.sums
        value, gradient = _penalized(loss, slopes, stacked, penalty)
        size, n_columns = stacked.shape
        return value, gradient.T.ravel(), hessian + penalty * np.diag(np.tile(np.append(np.ones(size - 1), 0.0), n_columns))


def _penalized(value: float, slopes: Floats, stacked: Floats, penalty: float) -> tuple[float, Floats]:
    weight = np.vstack([stacked[:-1], np.zeros(stacked.shape[1])])  # intercepts have no penalty
    return value + 0.5 * penalty * float((weight * weight).sum()), slopes + penalty * weight


def _model(stacked: Floats, n_classes: int) -> LinearModel:
    intercept = stacked[-1] - (stacked[-1].mean() if n_classes > 2 else 0.0)
    return LinearModel(stacked[:-1].copy(), intercept, np.zeros(n_classes))
