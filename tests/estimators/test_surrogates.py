"""The surrogates written out in numpy against autograd, and autograd against differences."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from metricfit import metrics
from metricfit.estimators._surrogates import Target, by_autograd, direct, leaky, leaky_loss, mean_cross_entropy
from metricfit.smoothing import Normal, Softmax, SoftSet


def target(k, metric, n=40, seed=0):
    random = np.random.default_rng(seed)
    labels = np.arange(n) % k
    return Target(labels, random.uniform(0.5, 2.0, n), random.uniform(0.5, 2.0, n), k, metrics.get(metric)), random


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "f1_macro", "mcc", "kappa"])
@pytest.mark.parametrize(("smoothing", "k"), [(Normal(0.4), 2), (Softmax(0.3), 2), (Softmax(0.3), 5)])
def test_numpy_is_autograd(smoothing, k, metric, alpha):
    judged, random = target(k, metric)
    scores, offsets = random.normal(size=(40, k)), random.normal(size=k)
    by_hand = leaky(judged, smoothing, alpha)(scores, offsets)
    by_torch = by_autograd(leaky_loss(judged, smoothing, alpha))(scores, offsets)
    for one, other in zip(by_hand, by_torch, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda t: leaky(t, Normal(0.4), 0.3),
        lambda t: leaky(t, SoftSet(0.2), 0.3),
        lambda t: direct(t, Normal(), 0.5),
        lambda t: direct(t, SoftSet(), 0.1, normalize=False),
    ],
)
def test_gradients(make):
    judged, random = target(3, "mcc")
    surrogate = make(judged)
    start = random.normal(size=40 * 3 + 3)

    def split(flat):
        return surrogate(flat[:-3].reshape(40, 3), flat[-3:])

    def gradient(flat):
        _, by_scores, by_offsets = split(flat)
        return np.append(by_scores.ravel(), by_offsets)

    assert check_grad(lambda flat: split(flat)[0], gradient, start) < 1e-6


def test_leaky_accuracy_of_two_rows_by_hand():
    """Softmax at 1 of (0, log 3): 3/4 for the second class; labels 1 and 0: accuracy 1/2, cross-entropy -(log 3/4 + log 1/4)/2."""
    judged = Target(np.array([1, 0]), np.ones(2), np.ones(2), 2, metrics.get("accuracy"))
    scores = np.array([[0.0, np.log(3.0)]] * 2)
    value, _, _ = leaky(judged, Softmax(1.0), 0.1)(scores, np.zeros(2))
    cross_entropy = -0.5 * (np.log(0.75) + np.log(0.25))
    assert value == pytest.approx(-0.5 + 0.1 * cross_entropy)
    assert mean_cross_entropy(judged, scores) == pytest.approx(cross_entropy)


def test_costs_are_brought_to_one_unit():
    for factor in (1.0, 1000.0):
        judged = Target(np.array([1, 0]), np.ones(2), np.ones(2), 2, metrics.Cost([[0.0, factor], [5.0 * factor, 0.0]]))
        value, _, _ = leaky(judged, Normal(0.4), 0.0)(np.array([[0.0, 9.0], [9.0, 0.0]]), np.zeros(2))
        assert value == pytest.approx(0.0, abs=1e-9)
        value, _, _ = leaky(judged, Normal(0.4), 0.0)(np.array([[9.0, 0.0], [9.0, 0.0]]), np.zeros(2))
        assert value == pytest.approx(0.5)  # half of the rows at the highest cost
