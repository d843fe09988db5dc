"""Linear models: cross-entropy by scikit-learn, every other method by full-batch L-BFGS in float64."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from metricfit.decisions import NEVER, fit_offsets, hard_confusion, metric_values
from metricfit.learners._descent import MAX_STEPS, RowsObjective, descend
from metricfit.learners._learner import MetricLearner
from metricfit.learners._linear_model import LinearModel, spread_columns
from metricfit.learners._rows import TrainingRows
from metricfit.learners._surrogates import build_surrogate
from metricfit.learners._task import Fold
from metricfit.methods import CROSS_ENTROPY, SCRATCH, Method

MAX_NEWTON = 150  # parameters up to which Newton's steps are cheaper than many small ones
NORMALIZED_PENALTY = 1e-6  # per row: normalised scores leave the size of the weights open


@dataclass(frozen=True)
class LinearLearner(MetricLearner):
    """Trains linear models; ``strengths`` are the inverse penalties C, in rising order."""

    strengths: Sequence[float]
    seed: int = 0  # of random weights
    name: str = field(default="linear", kw_only=True)
    refits = True

    def with_setting(self, place: int | None) -> Self:
        middle = len(self.strengths) // 2
        return replace(self, strengths=self.strengths[middle : middle + 1] if place is None else self.strengths[: place + 1])

    @property
    def strength(self) -> float:
        return self.strengths[-1]

    def fit_cross_entropy(self, fold: Fold) -> list[LinearModel]:
        return _fit_cross_entropy(fold.rows, self.strengths, fold.warm if isinstance(fold.warm, LinearModel) else None)

    def fit(self, fold: Fold, method: Method, start: LinearModel) -> LinearModel:
        """Where offsets are trained from cross-entropy, they start at those that do best on the training rows."""
        rows, model, trains_offsets = fold.rows, start, method.offsets == "trained"
        if method.loss == "cross_entropy":
            return start
        if method.start == SCRATCH:
            model = LinearModel.random(rows.features.shape[1], rows.n_classes, self.seed)
        elif method.start == CROSS_ENTROPY and trains_offsets:
            model = start.with_offsets(fit_offsets(start.logits(rows.features), rows.labels, fold.metric, rows.weight))
        penalty = 1.0 / (self.strength * rows.training_weight.sum()) * (method.leak or 1.0)
        for width in method.widths or (None,):
            surrogate = build_surrogate(method, rows, fold.metric, width)
            shown = width or float(method.smoothing_for(rows.n_classes).width)
            record = None if fold.history is None else partial(_record, fold, method, shown)
            objective = RowsObjective(rows, surrogate)
            least = NORMALIZED_PENALTY if method.normalize_scores else penalty
            model = descend(objective, least, model, record, trains_offsets=trains_offsets)
        return model


def _record(fold: Fold, method: Method, width: float, model: LinearModel, surrogate: float, gradient_norm: float) -> None:
    rows = fold.rows
    predicted = (model.logits(rows.features) + model.offsets).argmax(1)
    value = metric_values(fold.metric, hard_confusion(predicted, rows.labels, rows.weight, rows.n_classes))
    stage = f"leak {method.leak:g}" if method.leak else f"width {width:g}"
    fold.record(stage, surrogate, float(value), gradient_norm, width)


def _fit_cross_entropy(rows: TrainingRows, strengths: Sequence[float], start: LinearModel | None = None) -> list[LinearModel]:
    """Logistic regression by scikit-learn for every inverse penalty C, from the strongest penalty to the weakest."""
    n_columns = 1 if rows.n_classes == 2 else rows.n_classes
    newton = (rows.features.shape[1] + 1) * n_columns <= MAX_NEWTON
    solver = LogisticRegression(solver="newton-cholesky" if newton else "lbfgs", warm_start=True, max_iter=MAX_STEPS)
    if start is not None and start.weight.shape == (rows.features.shape[1], n_columns):
        solver.coef_, solver.intercept_ = start.weight.T.copy(), start.intercept.copy()
    if len(np.unique(rows.labels)) < 2:
        raise ValueError("`cv` should leave at least two classes in every training fold, got one class.")
    fitted = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # held-out rows judge what was reached
        for strength in strengths:
            solver.set_params(C=strength).fit(rows.features, rows.labels, rows.training_weight)
            fitted.append(_as_linear(solver, rows.n_classes))
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
