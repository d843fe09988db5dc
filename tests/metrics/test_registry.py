"""Every name against scikit-learn, on matrices of counts; bounds, gradients and zeros."""

import itertools
import warnings
from functools import cache

import numpy as np
import pytest
import sklearn.metrics
import torch

import metricfit as mf
from metricfit.metrics._registry import REGISTRY

BINARY = [name for name in mf.metrics.names() if getattr(mf.metrics.get(name), "average", "") == "binary"]


def counterpart(name: str, truth: np.ndarray, guess: np.ndarray, k: int) -> float:
    """The metric as scikit-learn computes it from labels, undefined values being 0."""
    entry = REGISTRY[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if entry.sklearn:
            function, options = entry.sklearn
            if name == "quadratic_kappa":  # or it would measure distances between the classes that occur
                options = {**options, "labels": range(k)}
            value = getattr(sklearn.metrics, function)(truth, guess, **options)
        elif name == "g_mean":
            recalls = sklearn.metrics.recall_score(truth, guess, average=None, labels=np.unique(truth), zero_division=0)
            value = float(np.prod(recalls)) ** (1 / len(recalls))
        else:
            value = fowlkes_mallows(entry.metric.average, truth, guess)
    return value if np.isfinite(value) else 0.0


def fowlkes_mallows(average: str, truth: np.ndarray, guess: np.ndarray) -> float:
    if average in ("binary", "micro"):
        options = {"average": average, "zero_division": 0}
        precision = sklearn.metrics.precision_score(truth, guess, **options)
        return (precision * sklearn.metrics.recall_score(truth, guess, **options)) ** 0.5
    precision, recall, _, support = sklearn.metrics.precision_recall_fscore_support(truth, guess, zero_division=0)
    return np.average((precision * recall) ** 0.5, weights=support if average == "weighted" else None)


@cache
def random_labels(seed: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and guesses; classes are often absent from the truth, from the guesses or from both."""
    random = np.random.RandomState(seed)
    n = random.randint(1, 40)
    classes = random.permutation(k)
    truth = random.choice(classes[: random.randint(1, k + 1)], n)
    guess = np.where(random.rand(n) < random.rand(), truth, random.choice(classes[-random.randint(1, k + 1) :], n))
    return truth, guess


@cache
def random_matrix(seed: int, k: int) -> torch.Tensor:
    return torch.tensor(sklearn.metrics.confusion_matrix(*random_labels(seed, k), labels=range(k)))


@pytest.mark.parametrize("name", mf.metrics.names())
def test_counts(name):
    for seed, k in itertools.product(range(25), [2] if name in BINARY else [2, 3, 7]):
        truth, guess = random_labels(seed, k)
        value = mf.metrics.get(name)(random_matrix(seed, k)).item()
        assert value == pytest.approx(counterpart(name, truth, guess, k), abs=1e-6), (seed, k)


@pytest.mark.parametrize("name", mf.metrics.names())
def test_values_stay_within_their_bounds(name):
    metric = mf.metrics.get(name)
    low, high = metric.bounds
    random = torch.Generator().manual_seed(0)
    for k in [2] if name in BINARY else [2, 5]:
        matrices = torch.rand(200, k, k, generator=random, dtype=torch.float64) ** 4
        values = metric(matrices)
        assert values.shape == (200,)
        assert (low <= values + 1e-12).all()
        assert (values <= high + 1e-12).all()
        assert metric(torch.eye(k)).item() == pytest.approx(high)


@pytest.mark.parametrize("name", mf.metrics.names())
def test_size_does_not_matter_and_nothing_is_zero(name):
    metric = mf.metrics.get(name)
    matrix = torch.rand(2, 2, dtype=torch.float64)
    assert metric(1000 * matrix).item() == pytest.approx(metric(matrix).item(), rel=1e-12)
    assert metric(torch.zeros(2, 2)).item() == 0.0


@pytest.mark.parametrize("name", mf.metrics.names())
def test_gradient(name):
    matrix = torch.rand(2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) + 0.1
    assert torch.autograd.gradcheck(mf.metrics.get(name), matrix.requires_grad_())


@pytest.mark.parametrize("name", mf.metrics.names())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_finite_wherever_there_are_zeros(name, dtype):
    matrices = torch.tensor(list(itertools.product([0.0, 1.0, 3.0], repeat=4)), dtype=dtype).view(-1, 2, 2).requires_grad_()
    values = mf.metrics.get(name)(matrices)
    values.sum().backward()
    assert values.isfinite().all()
    assert matrices.grad.isfinite().all(), matrices[~matrices.grad.isfinite().all((1, 2))]


@pytest.mark.parametrize("name", mf.metrics.names())
def test_nan_stays_nan(name):
    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for i, j in itertools.product(range(2), repeat=2):
        bad = matrix.clone()
        bad[i, j] = float("nan")
        if name in ("precision", "recall", "jaccard", "fowlkes_mallows", "f1", "f0.5", "f2") and (i, j) == (0, 0):
            continue  # true negatives do not enter
        if (name, i) == ("recall", 0) or (name, j) == ("precision", 0):
            continue
        assert mf.metrics.get(name)(bad).isnan(), (i, j)


def test_names():
    assert {"accuracy", "f1_macro", "f0.5", "f2_weighted", "quadratic_kappa", "jaccard_macro", "g_mean"} <= {
        *mf.metrics.names()
    }
    with pytest.raises(TypeError, match=r"`metric` should be a name, a metric or a function"):
        mf.metrics.get(3)


def test_a_function_will_do():
    specificity = mf.metrics.get(lambda c: c[0, 0] / c[0].sum())
    assert specificity(torch.tensor([[3.0, 1.0], [0.0, 1.0]])).item() == 0.75
