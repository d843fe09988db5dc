"""Bounds on batches: values by hand, inverses of each other, and simulated batches that obey them."""

import math

import numpy as np
import pytest
import torch

import metricfit as mf
from reproductions.lab import theory


def test_hoeffding_by_hand():
    """Each of d² entries may fail with probability delta / d², which is 2 exp(-2 n t²)."""
    n_rows, n_classes, delta = 500, 3, 0.1
    t = theory.deviation(n_rows, n_classes, delta=delta)
    assert 2.0 * math.exp(-2.0 * n_rows * t**2) == pytest.approx(delta / n_classes**2)


def test_bounds_are_monotone():
    by_rows = [theory.deviation(n_rows) for n_rows in (1, 10, 100, 1000)]
    by_classes = [theory.deviation(100, n_classes) for n_classes in (2, 3, 10, 1000)]
    by_delta = [theory.deviation(100, delta=delta) for delta in (0.5, 0.1, 0.01)]
    assert by_rows == sorted(by_rows, reverse=True)
    assert by_classes == sorted(by_classes)
    assert by_delta == sorted(by_delta)
    by_share = [theory.f1_batch_size(0.1, share) for share in (0.5, 0.1, 0.01)]
    assert by_share == sorted(by_share)
    assert by_share[2] == pytest.approx(100 * by_share[1], rel=1e-3)  # the square of the share


@pytest.mark.parametrize("n_classes", [2, 7, 100])
@pytest.mark.parametrize("n_rows", [1, 2, 64, 1000, 8192, 10**9])
@pytest.mark.parametrize("lipschitz", [0.3, 1.0, 7.0])
def test_batch_size_inverts_deviation(n_rows, n_classes, lipschitz):
    allowed = theory.deviation(n_rows, n_classes, delta=0.01, lipschitz=lipschitz)
    assert theory.batch_size(allowed, n_classes, delta=0.01, lipschitz=lipschitz) == n_rows


def draw_batches(matrix, n_rows, n_batches=4000):
    """Confusion matrices of batches of independent rows, divided by their rows: (batches, k, k)."""
    counts = np.random.default_rng(0).multinomial(n_rows, matrix.ravel(), n_batches)
    return counts.reshape(n_batches, *matrix.shape) / n_rows


MATRICES = {
    "even": np.full((2, 2), 0.25),
    "rare": np.array([[0.975, 0.002], [0.008, 0.015]]),
    "three classes": np.array([[0.5, 0.05, 0.02], [0.03, 0.2, 0.02], [0.01, 0.02, 0.15]]),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("n_rows", [32, 512])
def test_simulated_batches_obey_the_bound(name, n_rows):
    matrix = MATRICES[name]
    bound = theory.deviation(n_rows, len(matrix))
    largest = abs(draw_batches(matrix, n_rows) - matrix).max((1, 2))
    assert (largest <= bound).mean() >= 0.95
    assert np.quantile(largest, 0.95) < bound  # so it is loose


@pytest.mark.parametrize("name", MATRICES)
def test_f1_of_simulated_batches_obeys_its_bound(name):
    matrix = MATRICES[name]
    share, allowed = matrix.sum(1).min(), 0.2
    n_rows = theory.f1_batch_size(allowed, share, len(matrix))
    batches = torch.from_numpy(draw_batches(matrix, n_rows, 500))
    macro = mf.metrics.get("f1_macro")
    off = (macro(batches) - macro(torch.from_numpy(matrix))).abs()
    assert (off <= allowed).double().mean() >= 0.95


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_f1_moves_no_more_than_its_bound_says(n_classes):
    """The step from the matrix to F1 has no probability in it: matrices with entries off by at most epsilon."""
    random = np.random.default_rng(n_classes)
    for _ in range(300):
        matrix = random.dirichlet(np.full(n_classes**2, 0.5)).reshape(n_classes, n_classes)
        share = matrix.sum(1).min()
        epsilon = random.uniform(0.0, 0.9) * share / (2 * n_classes)
        other = np.clip(matrix + random.choice([-epsilon, epsilon], matrix.shape), 0.0, None)
        macro = mf.metrics.get("f1_macro")
        off = abs(float(macro(torch.from_numpy(other))) - float(macro(torch.from_numpy(matrix))))
        assert off <= 2 * (n_classes - 1) * epsilon / (share - 2 * n_classes * epsilon) + 1e-12


def test_accuracy_is_lipschitz_with_the_number_of_classes():
    matrix = MATRICES["three classes"]
    n_rows = theory.batch_size(0.1, 3, lipschitz=3)
    off = abs(np.trace(draw_batches(matrix, n_rows) - matrix, axis1=1, axis2=2))
    assert (off <= 0.1).mean() >= 0.95
