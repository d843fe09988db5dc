"""Boosted trees: one HistGradientBoosting per fold, all with the same number of rounds, and their mean."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from metricfit.learners._estimator import fit_estimator
from metricfit.learners._estimator_model import EstimatorModel
from metricfit.learners._learner import Learner
from metricfit.learners._mean_model import MeanModel
from metricfit.learners._rows import COLUMNS, TrainingRows
from metricfit.learners._task import Fold, Task, Trained

MAX_ROUNDS, PATIENCE = 500, 20
FEW_ROWS, FEW_ROUNDS = 100, 50  # below so many rows, leaves of 20 would leave nothing to split
OPTIONS = {"learning_rate": 0.05, "max_leaf_nodes": 15}  # how they were chosen: docs/classifier.md


@dataclass(frozen=True)
class BoostingLearner(Learner):
    """Missing values and categories are the trees' own business; a fold stops when its held-out rows stop gaining."""

    seed: int = 0
    name: str = field(default="boosting", kw_only=True)
    reads = COLUMNS
    stops_early = True

    def train(self, task: Task) -> Trained:
        if not task.splits:
            return Trained(self, _fit(self.seed, Fold(task.rows, task.metric), None))
        models = task.over_splits(self, partial(_fit, self.seed), self.name)
        folds = _with_equal_rounds(models)
        return Trained(self, MeanModel.of(folds), folds, task.held_out_logits(folds))


def _fit(seed: int, fold: Fold, start: None) -> EstimatorModel:
    rows, test = _without_empty_columns(fold.rows), fold.held_out
    stops, few = test is not None, len(fold.rows.labels) < FEW_ROWS
    estimator = HistGradientBoostingClassifier(
        **OPTIONS,
        max_iter=MAX_ROUNDS if stops and not few else FEW_ROUNDS,
        min_samples_leaf=1 if few else 20,
        categorical_features=list(range(rows.n_categories)) or None,
        early_stopping=stops,
        n_iter_no_change=PATIENCE,
        random_state=seed,
    )
    return fit_estimator(estimator, "boosting", rows, seed, **(_held_out(rows, test) if test is not None else {}))


def _without_empty_columns(rows: TrainingRows) -> TrainingRows:
    """Columns without any value become constant, because scikit-learn 1.9 fails on them; no tree will use them."""
    empty = np.isnan(rows.features).all(0)
    return replace(rows, features=np.where(empty, 0.0, rows.features)) if empty.any() else rows


def _held_out(rows: TrainingRows, test: TrainingRows) -> dict[str, object]:
    """The rows to stop by; only those of classes that the training rows have."""
    seen = np.unique(rows.labels)
    known = np.isin(test.labels, seen)
    part = test if known.all() else test.take(np.flatnonzero(known))
    return {
        "X_val": part.features,
        "y_val": np.searchsorted(seen, part.labels),
        "sample_weight_val": part.training_weight,
    }


def _with_equal_rounds(models: Sequence[EstimatorModel]) -> list[EstimatorModel]:
    """The median of the folds' best rounds for all of them, so that no fold is fitted to its own held-out rows."""
    best = [int(np.argmax(model.estimator.validation_score_)) for model in models]
    n_rounds = max(1, int(np.median(best)))
    cut = []
    for model in models:
        estimator = copy.copy(model.estimator)
        estimator._predictors = estimator._predictors[:n_rounds]  # a round is one entry: how scikit-learn stages predictions
        cut.append(EstimatorModel(estimator, model.seen, model.offsets))
    return cut
