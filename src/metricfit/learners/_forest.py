"""Extremely randomised trees. Each tree leaves rows out, so one forest gives out-of-fold scores of all rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from joblib import parallel_config
from sklearn.ensemble import ExtraTreesClassifier

from metricfit._typing import Floats
from metricfit.decisions import log_probabilities
from metricfit.learners._estimator import fit_estimator
from metricfit.learners._estimator_model import EstimatorModel
from metricfit.learners._learner import Learner
from metricfit.learners._rows import COLUMNS
from metricfit.learners._task import Task, Trained

N_TREES = 200
MAX_ROWS = 20_000  # that a tree sees: memory grows with them, and the trees differ anyway


@dataclass(frozen=True)
class ForestLearner(Learner):
    """A tree sees rows that were drawn with replacement. The others, a third of them or more, it has not seen."""

    seed: int = 0
    name: str = field(default="extra_trees", kw_only=True)
    reads = COLUMNS

    def train(self, task: Task) -> Trained:
        rows = task.rows
        forest = ExtraTreesClassifier(
            N_TREES,
            min_samples_leaf=2,
            bootstrap=True,
            oob_score=bool(task.splits),
            max_samples=MAX_ROWS if len(rows.labels) > MAX_ROWS else None,
            n_jobs=task.n_jobs,
        )
        with parallel_config(backend="threading"):  # the trees share the rows; a cluster would be sent tree by tree
            model = fit_estimator(forest, self.name, rows, self.seed)
        forest.set_params(n_jobs=None)  # sums over trees in one order
        task.progress.step(self.name, None)
        if not task.splits:
            return Trained(self, model)
        return Trained(self, model, logits=_out_of_bag(model)[task.held_out_index])

    def count_steps(self, task: Task) -> int:
        return 1


def _out_of_bag(model: EstimatorModel) -> Floats:
    """Log-probabilities of all rows by the trees that have not seen them."""
    found = model.estimator.oob_decision_function_
    del model.estimator.oob_decision_function_, model.estimator.oob_score_  # a file need not keep them
    probability = np.where(np.isnan(found), 1.0 / found.shape[1], found)  # a row that every tree has seen
    return log_probabilities(probability)
