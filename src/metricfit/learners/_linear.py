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

from metricfit._typing import Floats
from metricfit.decisions import NEVER, fit_offsets, hard_confusion, metric_values
from metricfit.learners._cross_entropy import fit_path
from metricfit.learners._descent import MAX_STEPS, RowsObjective, descend
from metricfit.learners._learner import MetricLearner
from metricfit.learners._linear_model import LinearModel, spread_columns
from metricfit.learners._rows import TrainingRows
from metricfit.learners._surrogates import Surrogate, build_surrogate
from metricfit.learners._task import Fold
from metricfit.methods import CROSS_ENTROPY, SCRATCH, Method
from metricfit.metrics import Metric

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

    def fit(self, fold: Fold, method: Method, start: LinearModel) -> LinearModel:
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
            build = partial(_build, method, fold.metric, width)
            shown = width or float(method.smoothing_for(rows.n_classes).width)
            record = None if fold.history is None else partial(_record, fold, method, shown)
            objective = RowsObjective(rows, build)
            least = NORMALIZED_PENALTY if method.normalize_scores else penalty
            model = descend(objective, least, model, record, trains_offsets=trains_offsets)
        return model


def _build(method: Method, metric: Metric, width: float | None, rows: TrainingRows) -> Surrogate:
    return build_surrogate(method, rows, metric, width)


def _record(fold: Fold, method: Method, width: float, model: LinearModel, surrogate: float, gradient_norm: float) -> None:
    value = metric_values(fold.metric, fold.rows.total(partial(_decided, model)))
    stage = f"leak {method.leak:g}" if method.leak else f"width {width:g}"
    fold.record(stage, surrogate, float(value), gradient_norm, width)


def _decided(model: LinearModel, rows: TrainingRows) -> Floats:
    """The confusion matrix of the decisions."""
    predicted = (model.logits(rows.features) + model.offsets).argmax(1)
    return hard_confusion(predicted, rows.labels, rows.weight, rows.n_classes)


def _fit_cross_entropy(
    rows: TrainingRows,
    Cs: Sequence[float],  # noqa: N803
    start: LinearModel | None = None,
) -> list[LinearModel]:
    """Logistic regression by scikit-learn for every inverse penalty C, from the strongest penalty to the weakest."""
    n_columns = 1 if rows.n_classes == 2 else rows.n_classes
    newton = (rows.features.shape[1] + 1) * n_columns <= MAX_NEWTON
    solver = LogisticRegression(solver="newton-cholesky" if newton else "lbfgs", warm_start=True, max_iter=MAX_STEPS)
    if start is not None and start.weight.shape == (rows.features.shape[1], n_columns):
        solver.coef_, solver.intercept_ = start.weight.T.copy(), start.intercept.copy()
    if len(np.unique(rows.labels)) < 2:
        raise ValueError("`cv` should leave at least two classes in every training fold, got one class.")
    if rows.in_blocks:
        zero = LinearModel(np.zeros((rows.features.shape[1], n_columns)), np.zeros(n_columns), np.zeros(rows.n_classes))
        return fit_path(rows, Cs, zero, newton)
    fitted = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # held-out rows judge the result
        for C in Cs:  # noqa: N806
            solver.set_params(C=C).fit(rows.features, rows.labels, rows.training_weight)
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
