"""Learners of scikit-learn's estimators: any classifier, boosted trees, and extremely randomised trees."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from metricfit._typing import Floats
from metricfit.decisions import log_probabilities
from metricfit.learners._learner import Fold, Learner, Task, Trained
from metricfit.learners._models import EstimatorModel, MeanModel, as_input
from metricfit.learners._rows import COLUMNS, GIVEN, MATRIX, TrainingRows


@dataclass(frozen=True)
class EstimatorLearner(Learner):
    """Fits clones of an estimator.

    A Pipeline reads the user's own table. An estimator that takes missing values (boosted trees, forests) reads numbers as
    they are and codes of categories; any other reads the imputed and scaled matrix.
    """

    estimator: Any
    seed: int = 0
    refits: bool = True  # to all rows; otherwise the mean of the splits' models predicts
    name: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or type(self.estimator).__name__)

    @property
    def reads(self) -> str:  # type: ignore[override]
        if isinstance(self.estimator, Pipeline):
            return GIVEN
        return COLUMNS if get_tags(self.estimator).input_tags.allow_nan else MATRIX

    def train(self, task: Task) -> Trained:
        folds = task.over_splits(self, self.fit_fold, self.name) if task.splits else []
        model = self.fit_fold(task.all_rows()) if self.refits or not folds else MeanModel.of(folds)
        task.progress.step(self.name, None)
        return Trained(self, model, folds, task.held_out_logits(folds) if folds else None)

    def fit_fold(self, fold: Fold) -> EstimatorModel:
        """A clone of the estimator, fitted to the rows."""
        return fit_estimator(clone(self.estimator), self.name, fold.rows, self.seed)

    def count_steps(self, task: Task) -> int:
        return len(task.splits) + 1


def fit_estimator(estimator: Any, name: str, rows: TrainingRows, seed: int, **options: Any) -> EstimatorModel:
    """Fit to rows whose labels become 0 ... m - 1, because some libraries take no others."""
    seen, labels = np.unique(rows.labels, return_inverse=True)
    estimator = with_seed(estimator, seed)
    weighted = {} if (rows.training_weight == 1.0).all() else {"sample_weight": rows.training_weight}
    if weighted and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"`model` {name} does not support sample_weight, but weights of rows or classes were passed. "
            "Leave `sample_weight` and `class_weight` out, or pass another model."
        )
    estimator.fit(as_input(estimator, rows.features), labels, **weighted, **options)
    return EstimatorModel(estimator, np.asarray(seen, np.int64), np.zeros(rows.n_classes))


def with_seed(estimator: Any, seed: int) -> Any:
    """The estimator itself, with this seed where it takes one and has none."""
    options = estimator.get_params(deep=False)
    return estimator.set_params(random_state=seed) if options.get("random_state", seed) is None else estimator


MAX_ROUNDS, PATIENCE = 500, 20
FEW_ROWS, FEW_ROUNDS = 100, 50  # below so many rows, leaves of 20 would leave nothing to split
OPTIONS = {"learning_rate": 0.05, "max_leaf_nodes": 15}  # how they were chosen: docs/guide/classifier.md
FURTHER_TREES: dict[str, dict[str, Any]] = {  # of an ensemble with time: trees that differ more
    "boosting_few_columns": {"learning_rate": 0.05, "max_leaf_nodes": 10, "max_features": 0.4},
    "boosting_fast": {"learning_rate": 0.2, "max_leaf_nodes": 15, "max_iter": 100},
    "boosting_additive": {"learning_rate": 0.1, "max_leaf_nodes": 3},
    "boosting_large_trees": {
        "learning_rate": 0.05,
        "max_leaf_nodes": 31,
        "max_features": 0.6,
        "l2_regularization": 1.0,
    },
}


@dataclass(frozen=True)
class BoostingLearner(Learner):
    """Missing values and categories are the trees' own business; a fold stops when its held-out rows stop gaining."""

    seed: int = 0
    options: tuple[tuple[str, Any], ...] = tuple(OPTIONS.items())
    name: str = field(default="boosting", kw_only=True)
    reads = COLUMNS
    stops_early = True
    repeats = True

    def train(self, task: Task) -> Trained:
        if not task.splits:
            return Trained(self, self.fit_fold(task.all_rows()))
        models = task.over_splits(self, self.fit_fold, self.name)
        folds = _with_equal_rounds(models)
        return Trained(self, MeanModel.of(folds), folds, task.held_out_logits(folds))

    def fit_fold(self, fold: Fold) -> EstimatorModel:
        rows, few = _without_empty_columns(fold.rows), len(fold.rows.labels) < FEW_ROWS
        rows.check_classes()
        held_out = {} if fold.held_out is None else _held_out(rows, fold.held_out)
        stops = bool(held_out)
        estimator = HistGradientBoostingClassifier(
            **{"max_iter": MAX_ROUNDS if stops and not few else FEW_ROUNDS, **dict(self.options)},
            min_samples_leaf=1 if few else 20,
            categorical_features=list(range(rows.n_categories)) or None,
            early_stopping=stops,
            n_iter_no_change=PATIENCE,
            random_state=self.seed,
        )
        return fit_estimator(estimator, self.name, rows, self.seed, **held_out)


def _without_empty_columns(rows: TrainingRows) -> TrainingRows:
    """Columns without any value become constant, because scikit-learn 1.9 fails on them; no tree will use them."""
    empty = np.isnan(rows.features).all(0)
    return replace(rows, features=np.where(empty, 0.0, rows.features)) if empty.any() else rows


def _held_out(rows: TrainingRows, test: TrainingRows) -> dict[str, object]:
    """The rows to stop by; only those of classes that the training rows have. Without any, the fold does not stop early."""
    seen = np.unique(rows.labels)
    known = np.isin(test.labels, seen)
    if not known.any():
        return {}
    part = test if known.all() else test.take(np.flatnonzero(known))
    return {
        "X_val": part.features,
        "y_val": np.searchsorted(seen, part.labels),
        "sample_weight_val": part.training_weight,
    }


def _with_equal_rounds(models: Sequence[EstimatorModel]) -> list[EstimatorModel]:
    """The median of the folds' best rounds for all of them, so that no fold is fitted to its own held-out rows."""
    scores = [model.estimator.validation_score_ for model in models if model.estimator.early_stopping]
    if not scores:
        return list(models)
    n_rounds = max(1, int(np.median([int(np.argmax(one)) for one in scores])))
    cut = []
    for model in models:
        estimator = copy.copy(model.estimator)
        estimator._predictors = estimator._predictors[:n_rounds]  # a round is one entry: how scikit-learn stages predictions
        cut.append(EstimatorModel(estimator, model.seen, model.offsets))
    return cut


N_TREES = 200
MAX_ROWS = 20_000  # that a tree sees: memory grows with them, and the trees differ anyway


@cache  # estimators are equal if they are the same, and equal learners are trained once for several metrics
def whole_trees(seed: int) -> EstimatorLearner:
    """Extremely randomised trees that see all rows of a fold, down to single ones: a further member of an ensemble."""
    return EstimatorLearner(ExtraTreesClassifier(N_TREES, max_features=0.7), seed, refits=False, name="whole_trees")


@dataclass(frozen=True)
class ForestLearner(Learner):
    """A tree sees rows that were drawn with replacement. The others, a third of them or more, it has not seen.

    The user's splits are kept instead, by a forest for each: they may separate groups, of which a tree sees some rows.
    """

    seed: int = 0
    name: str = field(default="extra_trees", kw_only=True)
    reads = COLUMNS

    def train(self, task: Task) -> Trained:
        out_of_bag = bool(task.splits) and not task.keeps_splits
        model = self.fit_fold(task.all_rows(), task.n_jobs, oob_score=out_of_bag)
        task.progress.step(self.name, None)
        if not task.splits:
            return Trained(self, model)
        if out_of_bag:
            return Trained(self, model, logits=_out_of_bag(model)[task.held_out_index])
        return Trained(self, model, logits=task.held_out_logits(task.over_splits(self, self.fit_fold, self.name)))

    def count_steps(self, task: Task) -> int:
        return 1 + len(task.splits) * task.keeps_splits

    def fit_fold(self, fold: Fold, n_jobs: int | None = None, *, oob_score: bool = False) -> EstimatorModel:
        rows = fold.rows
        forest = ExtraTreesClassifier(
            N_TREES,
            min_samples_leaf=2,
            bootstrap=True,
            oob_score=oob_score,
            max_samples=MAX_ROWS if len(rows.labels) > MAX_ROWS else None,
            n_jobs=n_jobs,
        )
        with parallel_config(backend="threading"):  # the trees share the rows; a cluster would be sent tree by tree
            model = fit_estimator(forest, self.name, rows, self.seed)
        forest.set_params(n_jobs=None)  # sums over trees in one order
        return model


def _out_of_bag(model: EstimatorModel) -> Floats:
    """Log-probabilities of all rows by the trees that have not seen them."""
    found = model.estimator.oob_decision_function_
    del model.estimator.oob_decision_function_, model.estimator.oob_score_  # a file need not keep them
    probability = np.where(np.isnan(found), 1.0 / found.shape[1], found)  # a row that every tree has seen
    return log_probabilities(probability)
