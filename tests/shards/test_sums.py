"""Sums over shards against all rows at once: objective, gradient, curvature, preprocessing, order of questions."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from metricfit import methods, metrics
from metricfit.estimators._preprocess import code_encoder, one_hot_encoder
from metricfit.learners import LinearModel, TrainingRows
from metricfit.learners._descent import RowsObjective
from metricfit.learners._surrogates import build_surrogate
from metricfit.shards._categories import Counter, plain_categories, plain_codes
from metricfit.shards._columns import Moments, _find_medians
from metricfit.shards._cross_entropy import CrossEntropyPath
from metricfit.shards._objective import ShardObjective
from metricfit.shards._questions import ALL_ROWS, Answers
from metricfit.shards._rows import Passes, Shard
from metricfit.shards._together import solve_together


class MemoryShard(Shard):
    """Rows that are there, in batches of seven."""

    def __init__(self, features, labels, folds):
        super().__init__(labels, folds)
        object.__setattr__(self, "features", features)

    def read(self):
        for start in range(0, len(self.labels), 7):
            yield self.features[start : start + 7]


def make_rows(n=200, k=2, p=4):
    random = np.random.default_rng(k)
    features = random.normal(size=(n, p))
    labels = (features @ random.normal(size=(p, k)) + random.gumbel(size=(n, k))).argmax(1)
    folds = random.integers(0, 3, n)
    order = np.argsort(labels == 0, kind="stable")[::-1]  # the last shards have no row of class 0
    features, labels, folds = features[order], labels[order], folds[order]
    cuts = [0, 1, 1, 60, n]
    parts = [slice(start, stop) for start, stop in pairwise(cuts)]
    return features, labels, folds, Passes([MemoryShard(features[one], labels[one], folds[one]) for one in parts])


def models(k, p=4):
    random, m = np.random.default_rng(9), 1 if k == 2 else k
    offsets = random.normal(size=k)
    return LinearModel(random.normal(size=(p, m)), random.normal(size=m), offsets - offsets.mean())


@pytest.mark.parametrize(
    ("k", "metric", "smoothing"),
    [
        (2, "f1", "normal"),
        (2, "mcc", "normal"),
        (2, "f1", "softmax"),
        (3, "f1_macro", "softmax"),
        (5, "quadratic_kappa", "softmax"),
    ],
)
@pytest.mark.parametrize("fold", [0, 2, ALL_ROWS])
def test_objective_gradient_and_curvature_are_those_of_all_rows(k, metric, smoothing, fold):
    features, labels, folds, passes = make_rows(k=k)
    method = methods.get("direct").with_smoothing(smoothing)
    inside, class_weight = folds != fold, np.linspace(0.5, 2.0, k)
    rows = TrainingRows(features[inside], labels[inside], np.ones(inside.sum()), class_weight)
    metric, model = metrics.get(metric), models(k)
    expected = RowsObjective(rows, build_surrogate(method, rows, metric))

    def ask(question):
        return passes.total(Answers([question]), "")[0]

    width = float(method.smoothing_for(k).width)
    found = ShardObjective(ask, fold, method, metric, class_weight, np.bincount(rows.labels, minlength=k) * 1.0, width)
    for own, other in zip(found.evaluate(model), expected.evaluate(model), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-14)
    for own, other in zip(found.curvature(model), expected.curvature(model), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
def test_cross_entropy_takes_the_steps_of_scikit_learn(monkeypatch, k, solver):
    features, labels, _, passes = make_rows(k=k)
    monkeypatch.setattr("metricfit.shards._cross_entropy.MAX_NEWTON", 150 if solver == "newton-cholesky" else 0)
    strengths = (0.01, 1.0, 100.0)
    path = CrossEntropyPath(ALL_ROWS, np.ones(k), float(len(labels)), 4, strengths)
    (found,) = solve_together([path], lambda questions: passes.total(Answers(questions), ""))
    expected = LogisticRegression(solver=solver, warm_start=True, max_iter=300)
    for strength, model in zip(strengths, found, strict=True):
        expected.set_params(C=strength).fit(features, labels)
        np.testing.assert_allclose(model.weight.T, expected.coef_, atol=1e-10)
        np.testing.assert_allclose(model.intercept, expected.intercept_, atol=1e-10)


@pytest.mark.parametrize("bits", [16, 5])
def test_medians_by_their_bits_are_exact(monkeypatch, bits):
    monkeypatch.setattr("metricfit.shards._columns.MOST_COUNTS", 2 * 5 * 2**bits)
    random = np.random.default_rng(0)
    values = random.normal(size=(301, 5)) * 10.0 ** random.integers(-9, 9, (301, 5))
    values[:, 1] = random.integers(-2, 3, 301)
    values[random.random(values.shape) < 0.2] = np.nan
    values[:-1, 2], values[:, 3] = -0.0, np.nan
    zeros = np.zeros(301, np.int64)

    class Kinds:
        def read_numbers(self, table):
            return table

    passes = Passes([MemoryShard(values[:13], zeros[:13], zeros[:13]), MemoryShard(values[13:], zeros[13:], zeros[13:])])
    found = _find_medians(passes, Kinds(), (~np.isnan(values)).sum(0).astype(float))
    assert found.tolist() == [*np.nanmedian(values[:, [0, 1, 2]], axis=0), 0.0, np.nanmedian(values[:, 4])]


def test_moments_add_up():
    random = np.random.default_rng(0)
    values = 1e6 + random.normal(size=(100, 3))
    values[::9, 1], values[:, 2] = np.nan, 0.1
    both = Moments.of(values[:10]) + Moments.of(values[10:11]) + Moments.of(values[11:])
    np.testing.assert_allclose(both.mean, np.nanmean(values, 0), rtol=1e-14)
    np.testing.assert_allclose(both.scale(), [*np.nanstd(values, 0)[:2], 1.0], rtol=1e-9)


@pytest.mark.parametrize("n", [3, 99, 100, 101, 250])
def test_categories_are_those_of_the_encoder(n):
    random = np.random.default_rng(n)
    column = np.array([*(f"c{value:03}" for value in random.zipf(1.5, 3000) % n), None, None, None], dtype=object)[:, None]
    encoder: OneHotEncoder = one_hot_encoder().fit(column)
    rare = encoder.infrequent_categories_[0]
    expected = [value for value in encoder.categories_[0].tolist() if value not in set([] if rare is None else rare)]
    assert plain_categories(Counter(column[:, 0].tolist())) == {"frequent": expected, "rare": rare is not None}


@pytest.mark.parametrize("n_values", [1, 249, 250, 251, 400])
def test_codes_are_those_of_scikit_learn(n_values):
    values = np.arange(3 * n_values) ** 2 % n_values  # some often, some once
    column = np.array([*(f"v{value}" for value in values), *(f"v{value}" for value in range(n_values)), np.nan], dtype=object)
    encoder = code_encoder().fit(column[:, None])
    rare = [] if encoder.infrequent_categories_[0] is None else encoder.infrequent_categories_[0].tolist()
    expected = [value for value in encoder.categories_[0].tolist() if value == value and value not in rare]
    counter = Counter(None if value != value else value for value in column)
    assert plain_codes(counter) == {"frequent": expected, "rare": rare}
    assert bool(rare) == (n_values >= 250)


def test_an_error_ends_all_solvers():
    def fail(ask):
        ask(1)
        raise ZeroDivisionError("here")

    def wait(ask):
        while True:
            ask(0)

    with pytest.raises(ZeroDivisionError, match="here"):
        solve_together([wait, fail, wait], lambda questions: questions)

    def no_answer(questions):
        raise KeyError("rows")

    with pytest.raises(KeyError):
        solve_together([wait, wait], no_answer)
