"""Linear models: cross-entropy and hinge by scikit-learn, every other method from there by full-batch L-BFGS in float64."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.parallel import Parallel, delayed

from metricfit._threads import single_threaded
from metricfit.decisions import cross_entropy, fit_offsets, hard_confusion, metric_values
from metricfit.learners._descent import MAX_STEPS, Record, descend
from metricfit.learners._learner import History, Learner, Start, Task, add_step
from metricfit.learners._linear_model import LinearModel, spread_columns
from metricfit.learners._rows import TrainingRows
from metricfit.learners._surrogates import build_surrogate
from metricfit.methods import CROSS_ENTROPY, SCRATCH, Method
from metricfit.metrics import Metric

MAX_NEWTON = 150  # parameters up to which Newton's steps are cheaper than many small ones
NEVER = -1e3  # the score of a class that was not among the training rows
NORMALIZED_PENALTY = 1e-6  # per row: normalised scores leave the size of the weights open


class LinearLearner(Learner):
    """Trains linear models; ``strengths`` are the inverse penalties C to choose from, by held-out cross-entropy."""

    refits, chains, shares_start = True, True, True

    def __init__(self, task: Task, strengths: Sequence[float], warm: LinearModel | None = None) -> None:
        super().__init__(task)
        self.strengths, self.warm, self.steps = sorted(strengths), warm, len(task.splits)
        self.strength = self.strengths[len(self.strengths) // 2]

    def session(self) -> AbstractContextManager[Any]:
        return single_threaded()

    def needs_start(self, method: Method) -> bool:
        return True

    def tunes_offsets(self, method: Method) -> bool:
        return method.offsets == "tuned"

    def offset_parts(self) -> list[NDArray[np.int64]]:
        ends = np.cumsum([len(test) for _, test in self.task.splits])
        return np.split(np.arange(ends[-1]), ends[:-1])

    def fit_start(self, tuned: bool, history: History) -> Start:
        rows, strengths = self.task.rows, self.strengths
        if not self.task.splits:
            return Start([], _fit_cross_entropy(rows, [self.strength], self.warm)[0], self.strength)
        paths = self._over_folds(partial(_fit_cross_entropy, strengths=strengths), "logistic regression")
        losses = [self._held_out_loss(models) for models in zip(*paths, strict=True)]
        best = int(np.argmin(losses))
        self.strength = strengths[best]
        final = _fit_cross_entropy(rows, strengths[: best + 1], self.warm)[-1]
        return Start([path[best] for path in paths], final, self.strength)

    def fit_folds(self, method: Method, start: Sequence[LinearModel] | None, history: History) -> list[LinearModel]:
        metric, strength = self.task.metric, self.strength
        starts = list(start or ())
        return self._over_folds(partial(_fit_method, method=method, metric=metric, strength=strength), method.title, starts)

    def fit_final(self, method: Method, start: LinearModel, history: History) -> LinearModel:
        record = partial(_record, history, self.task.rows, self.task.metric)
        return _fit_method(self.task.rows, start, method, self.task.metric, self.strength, record)

    def _held_out_loss(self, models: Sequence[LinearModel]) -> float:
        logits, held_out = self.task.held_out_logits(models), self.task.held_out
        known = known_rows(logits, held_out.labels)
        return cross_entropy(logits[known], held_out.labels[known], held_out.training_weight[known])

    def _over_folds(self, fit: Callable[..., Any], stage: str, starts: Sequence[LinearModel] = ()) -> list[Any]:
        """``fit`` of the training rows of every split and where it starts, in parallel if asked to."""
        task = self.task
        given: list[tuple[LinearModel, ...]] = [(start,) for start in starts] or [()] * len(task.splits)
        jobs = (delayed(_on_fold)(fit, task.rows, train, *start) for (train, _), start in zip(task.splits, given, strict=True))
        results = []
        for result in Parallel(n_jobs=task.n_jobs, return_as="generator")(jobs):
            results.append(result)
            task.progress.step(stage, None)
        return results


def known_rows(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows whose class the model has seen in training: for the others its probabilities cannot be calibrated."""
    return np.flatnonzero(logits[np.arange(len(logits)), labels] > 0.5 * NEVER)


def _on_fold(fit: Callable[..., Any], rows: TrainingRows, train: NDArray[np.int64], *start: LinearModel) -> Any:
    with single_threaded():
        return fit(rows.take(train), *start)


def _fit_method(
    rows: TrainingRows,
    start: LinearModel,
    method: Method,
    metric: Metric,
    strength: float,
    record: Callable[..., None] | None = None,
) -> LinearModel:
    """Train one method; where it starts at cross-entropy, its offsets start at those that do best on the training rows."""
    if method.loss == "cross_entropy":
        return start
    if method.loss == "hinge":
        return _fit_hinge(rows, strength)
    model = start
    if method.start in (SCRATCH, CROSS_ENTROPY):
        model = start.with_offsets(fit_offsets(start.logits(rows.features), rows.labels, metric, rows.weight))
    penalty = 1.0 / (strength * rows.training_weight.sum()) * (method.leak or 1.0)
    for width in method.widths or (None,):
        surrogate = build_surrogate(method, rows, metric, width)
        shown = float(method.smoothing_for(rows.n_classes).width) if width is None else width
        told: Record | None = None if record is None else partial(record, _stage(method, shown), shown)
        model = descend(rows, surrogate, NORMALIZED_PENALTY if method.normalize_scores else penalty, model, told)
    return model


def _stage(method: Method, width: float) -> str:
    return f"leak {method.leak:g}" if method.leak else f"width {width:g}"


def _record(
    history: History,
    rows: TrainingRows,
    metric: Metric,
    stage: str,
    width: float,
    model: LinearModel,
    surrogate: float,
    norm: float,
) -> None:
    predicted = (model.logits(rows.features) + model.offsets).argmax(1)
    value = metric_values(metric, hard_confusion(predicted, rows.labels, rows.weight, rows.n_classes))
    add_step(history, stage, surrogate, float(value), norm, width)


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
        for strength in sorted(strengths):
            solver.set_params(C=strength).fit(rows.features, rows.labels, rows.training_weight)
            fitted.append(_as_linear(solver, rows.n_classes))
    return fitted


def _fit_hinge(rows: TrainingRows, strength: float) -> LinearModel:
    """The squared hinge by scikit-learn, a class against the rest where there are more than two."""
    solver = LinearSVC(C=strength, dual=False).fit(rows.features, rows.labels, rows.training_weight)
    return _as_linear(solver, rows.n_classes)


def _as_linear(solver: LogisticRegression | LinearSVC, n_classes: int) -> LinearModel:
    """Its coefficients; a class without rows gets a score that never wins."""
    weight, intercept = solver.coef_.T.copy(), solver.intercept_.copy()
    if len(solver.classes_) < n_classes:
        weight, intercept = spread_columns(weight), spread_columns(intercept[None])[0]
        all_weight, all_intercept = np.zeros((len(weight), n_classes)), np.full(n_classes, NEVER)
        all_weight[:, solver.classes_], all_intercept[solver.classes_] = weight, intercept
        weight, intercept = all_weight, all_intercept
    return LinearModel(weight, intercept, np.zeros(n_classes))
