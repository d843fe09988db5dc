"""The fast surrogates against the loss as a module, and the module against differences."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import check_grad
from torch import nn

import metricfit as mf
from metricfit import methods, metrics
from metricfit.learners import TrainingRows
from metricfit.learners._surrogates import by_autograd, surrogate_of
from metricfit.methods import Method
from metricfit.smoothing import Normal, Softmax, SoftSet


def build_surrogate(method, rows, metric, width=None):
    return surrogate_of(method, metric, rows.n_classes, width)(rows)


def rows_of(k, n=40, class_weight=None, seed=0):
    random = np.random.default_rng(seed)
    weight = np.ones(k) if class_weight is None else np.asarray(class_weight)
    return TrainingRows(np.zeros((n, 1)), np.arange(n) % k, random.uniform(0.5, 2.0, n), weight), random


@pytest.mark.parametrize(("alpha", "weighted"), [(0.0, False), (0.1, True)])
@pytest.mark.parametrize("metric", ["accuracy", "f1_macro", "kappa", "cost"])
@pytest.mark.parametrize(("smoothing", "k"), [(Normal(0.4), 2), (Softmax(0.3), 2), (Softmax(0.3), 5)])
def test_a_fast_surrogate_is_the_loss_of_the_module(smoothing, k, metric, alpha, weighted):
    """To 1e-10: value, gradient by the scores, gradient by the offsets."""
    rows, random = rows_of(k, class_weight=np.arange(1.0, k + 1.0) if weighted else None)
    scores, offsets = random.normal(size=(40, k)), random.normal(size=k)
    method = Method("one", smoothing=smoothing, leak=alpha)
    found = metrics.Cost(500.0 * random.uniform(size=(k, k))) if metric == "cost" else metrics.get(metric)
    leaf, shift = torch.from_numpy(scores).requires_grad_(), nn.Parameter(torch.from_numpy(offsets))
    module = method.build_loss(found, k, torch.from_numpy(rows.class_weight) if weighted else None, shift)
    loss = module(leaf, torch.from_numpy(rows.labels), torch.from_numpy(rows.weight))
    loss.backward()
    value, by_scores, by_offsets = build_surrogate(method, rows, found)(scores, offsets)
    assert (value * found.unit + found.bounds[1]) == pytest.approx(loss.item(), rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(by_scores * found.unit, leaf.grad.numpy(), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(by_offsets * found.unit, shift.grad.numpy(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("metric", ["accuracy", "f1", "mcc"])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("margin", [None, 0.1, 1.0])
def test_exact_of_two_classes_is_the_loss_of_the_module(metric, normalize, margin):
    rows, random = rows_of(2)
    rows = replace(rows, weight=np.where(np.arange(40) < 5, 0.0, rows.weight))  # rows that do not count
    scores, offsets = 3.0 * random.normal(size=(40, 2)), random.normal(size=2)
    method = replace(methods.get("exact"), margin=margin, normalize_scores=normalize)
    fast, slow = (build(method, rows, metrics.get(metric), 0.5)(scores, offsets) for build in (build_surrogate, by_autograd))
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("method", "width"),
    [
        (Method("one", smoothing=Normal(0.4, order=40), leak=0.3), None),
        (Method("one", smoothing=SoftSet(0.2), leak=0.3), None),
        (Method("one", smoothing=Softmax(0.5), link="power(0.5)", leak=0.1), None),
        (replace(methods.get("exact"), smoothing=Softmax()), 0.5),
        (methods.get("east"), 0.1),
    ],
)
def test_gradients(method, width):
    rows, random = rows_of(2 if type(method.smoothing) is Normal else 3)
    k = rows.n_classes
    surrogate = by_autograd(method, rows, metrics.get("mcc"), width)
    start = random.normal(size=40 * k + k)

    def split(flat):
        return surrogate(flat[:-k].reshape(40, k), flat[-k:])

    def gradient(flat):
        _, by_scores, by_offsets = split(flat)
        return np.append(by_scores.ravel(), by_offsets)

    assert check_grad(lambda flat: split(flat)[0], gradient, start) < 1e-6


def test_normal_noise_of_many_classes_is_integrated_in_float32():
    """Close to float64, and returned as float64."""
    rows, random = rows_of(5)
    scores, offsets, metric = random.normal(size=(40, 5)), np.zeros(5), metrics.get("f1_macro")
    method = Method("one", smoothing=Normal(0.4), leak=0.1)
    value, by_scores, _ = by_autograd(method, rows, metric)(scores, offsets)
    module = method.build_loss(metric, 5)
    exact = module(torch.from_numpy(scores), torch.from_numpy(rows.labels), torch.from_numpy(rows.weight)) - 1.0
    assert value == pytest.approx(exact.item(), abs=1e-6)
    assert by_scores.dtype == np.float64


def test_costs_are_divided_by_their_span():
    rows = TrainingRows(np.zeros((2, 1)), np.array([1, 0]), np.ones(2), np.ones(2))
    for factor in (1.0, 1000.0):
        metric = metrics.Cost([[0.0, factor], [5.0 * factor, 0.0]])
        surrogate = build_surrogate(Method("one", smoothing=Normal(0.4)), rows, metric)
        assert surrogate(np.array([[0.0, 9.0], [9.0, 0.0]]), np.zeros(2))[0] == pytest.approx(0.0, abs=1e-9)
        assert surrogate(np.array([[9.0, 0.0], [9.0, 0.0]]), np.zeros(2))[0] == pytest.approx(0.5)  # half at the highest cost


@pytest.mark.parametrize("n_classes", [2, 4])
def test_hinge_is_that_of_the_module(n_classes):
    rows, random = rows_of(n_classes)
    scores, offsets = 2.0 * random.normal(size=(40, n_classes)), np.zeros(n_classes)
    method = replace(methods.get("hinge"), margin=0.7)
    leaf = torch.from_numpy(scores).requires_grad_()
    shares = torch.from_numpy(rows.training_weight / rows.training_weight.sum())
    losses = mf.HingeLoss(0.7, reduction="none")(leaf, torch.from_numpy(rows.labels))
    (shares @ losses).backward()
    value, by_scores, by_offsets = build_surrogate(method, rows, metrics.get("accuracy"))(scores, offsets)
    assert value == pytest.approx((shares @ losses).item())
    np.testing.assert_allclose(by_scores, leaf.grad.numpy(), atol=1e-15)
    assert not by_offsets.any()
