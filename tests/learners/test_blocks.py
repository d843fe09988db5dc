"""Rows in blocks against the same rows in memory: objective, gradient, curvature, cross-entropy, selection of rows."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from metricfit import methods, metrics
from metricfit.learners import Block, Blocks, LinearModel, Task, TrainingRows, _rows, stratified_folds
from metricfit.learners._linear import fit_path
from metricfit.learners._surrogates import RowsObjective, surrogate_of


class MemoryBlock(Block):
    """Rows that are there, in matrices of seven."""

    def __init__(self, features):
        self.features, self.n_rows = features, features.shape[0]

    def read(self):
        for begin in range(0, self.n_rows, 7):
            yield self.features[begin : begin + 7]


def make_rows(n=200, k=2, p=4, sparse=False):
    """The same rows in memory and in blocks, one of which is empty; the last ones have no row of class 0."""
    random, class_weight = np.random.default_rng(k), np.linspace(0.5, 2.0, k)
    features = random.normal(size=(n, p)) * (random.random((n, p)) < (0.2 if sparse else 1.0))
    labels = (features @ random.normal(size=(p, k)) + random.gumbel(size=(n, k))).argmax(1)
    order = np.argsort(labels == 0, kind="stable")[::-1]
    features, labels = features[order], labels[order]
    features = csr_array(features) if sparse else features
    blocks = Blocks.of([MemoryBlock(features[begin:end]) for begin, end in pairwise([0, 1, 1, 60, n])], p)
    in_blocks = TrainingRows(blocks, labels.astype(np.int8), np.ones(n, np.int8), class_weight)
    return TrainingRows(features, labels, np.ones(n), class_weight), in_blocks


@pytest.mark.parametrize(
    ("k", "metric", "method"),
    [
        (2, "f1", "direct"),
        (2, "f1", "leaky"),
        (3, "f1_macro", "direct"),
        (5, "quadratic_kappa", "expected_error"),
        (3, "accuracy", "hinge"),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_objective_gradient_and_curvature_are_those_of_all_rows(k, metric, method, sparse):
    random, m, index = np.random.default_rng(9), 1 if k == 2 else k, np.r_[3:50, 61:199]
    model = LinearModel(random.normal(size=(4, m)), random.normal(size=m), random.normal(size=k))
    build = surrogate_of(methods.get(method), metrics.get(metric), k)
    memory, files = (RowsObjective(rows.take(index), build) for rows in make_rows(k=k, sparse=sparse))
    for own, other in zip(files.evaluate(model), memory.evaluate(model), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-14)
    for own, other in zip(files.curvature(model), memory.curvature(model), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("newton", [True, False])
def test_cross_entropy_takes_the_steps_of_scikit_learn(k, newton):
    memory, files = make_rows(k=k)
    expected = LogisticRegression(solver="newton-cholesky" if newton else "lbfgs", warm_start=True, max_iter=300)
    m, values = 1 if k == 2 else k, (0.01, 1.0, 100.0)
    path = fit_path(files, values, np.zeros((5, m)), newton)
    for value, model in zip(values, path, strict=True):
        expected.set_params(C=value).fit(memory.features, memory.labels, memory.training_weight)
        np.testing.assert_allclose(model.weight.T, expected.coef_, atol=1e-6)
        np.testing.assert_allclose(
            model.intercept - model.intercept.mean(), expected.intercept_ - expected.intercept_.mean(), atol=1e-6
        )


def test_rows_of_rows_are_taken():
    memory, files = make_rows()
    for index in (np.arange(0, 200, 3), np.arange(1, 67), np.array([0]), np.arange(0)):
        memory, files = memory.take(index), files.take(index)
        found = [batch.features for batch in files.batches()]
        np.testing.assert_array_equal(np.concatenate([np.empty((0, 4)), *found]), memory.features)
        assert files.features.shape == memory.features.shape


def test_very_many_rows_are_judged_by_evenly_spaced_ones(monkeypatch):
    """In memory as in blocks, so that both choose the same."""
    monkeypatch.setattr(_rows, "MOST_SCORED", 50)
    splits = stratified_folds(make_rows()[0].labels, 5, 0)
    tasks = [Task(rows, metrics.get("f1"), splits) for rows in make_rows()]
    for task in tasks:
        assert [len(test) for test in task.test_rows] == [10] * 5
        assert all(np.isin(some, test).all() for some, (_, test) in zip(task.test_rows, splits, strict=True))
        assert len(task.rows.spread().labels) == 50
    models = [LinearModel(np.full((4, 1), float(fold)), np.zeros(1), np.zeros(2)) for fold in range(5)]
    np.testing.assert_allclose(*(task.held_out_logits(models) for task in tasks), atol=1e-14)
