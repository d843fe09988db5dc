"""Any scikit-learn classifier: fitted on every split, then to all rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from metricfit.learners._estimator_model import EstimatorModel, as_input
from metricfit.learners._learner import Learner
from metricfit.learners._rows import COLUMNS, GIVEN, MATRIX, TrainingRows
from metricfit.learners._task import Fold, Task, Trained


@dataclass(frozen=True)
class EstimatorLearner(Learner):
    """Fits clones of an estimator.

    A Pipeline reads the user's own table. An estimator that takes missing values (boosted trees, forests) reads numbers as
    they are and codes of categories; any other reads the imputed and scaled matrix.
    """

    estimator: Any
    seed: int = 0
    name: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or type(self.estimator).__name__)

    @property
    def reads(self) -> str:  # type: ignore[override]
        if isinstance(self.estimator, Pipeline):
            return GIVEN
        return COLUMNS if get_tags(self.estimator).input_tags.allow_nan else MATRIX

    def train(self, task: Task) -> Trained:
        folds = task.over_splits(self, partial(_fit_fold, self), self.name) if task.splits else []
        model = self.fit_rows(task.rows)
        task.progress.step(self.name, None)
        return Trained(self, model, folds, task.held_out_logits(folds) if folds else None)

    def fit_rows(self, rows: TrainingRows) -> EstimatorModel:
        """A clone of the estimator, fitted to the rows."""
        return fit_estimator(clone(self.estimator), self.name, rows, self.seed)

    def count_steps(self, task: Task) -> int:
        return len(task.splits) + 1


def _fit_fold(learner: EstimatorLearner, fold: Fold, start: Any) -> EstimatorModel:
    return learner.fit_rows(fold.rows)


def fit_estimator(estimator: Any, name: str, rows: TrainingRows, seed: int, **options: Any) -> EstimatorModel:
    """Fit to rows whose labels become 0 ... m - 1, because some libraries take no others."""
    seen, labels = np.unique(rows.labels, return_inverse=True)
    estimator = with_seed(estimator, seed)
    weighted = {} if (rows.training_weight == 1.0).all() else {"sample_weight": rows.training_weight}
    if weighted and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"`model` {name} takes no sample_weight, but weights of rows or classes were given. "
            "Leave `sample_weight` and `class_weight` out, or pass another model."
        )
    estimator.fit(as_input(estimator, rows.features), labels, **weighted, **options)
    return EstimatorModel(estimator, np.asarray(seen, np.int64), np.zeros(rows.n_classes))


def with_seed(estimator: Any, seed: int) -> Any:
    """The estimator itself, with this seed where it takes one and has none."""
    options = estimator.get_params(deep=False)
    return estimator.set_params(random_state=seed) if options.get("random_state", seed) is None else estimator
