"""Bounds on batches: values by hand, inverses of each other, and simulated batches that obey them."""

import numpy as np
import pytest
import torch

import metricfit as mf
from reproductions.lab import theory


@pytest.mark.parametrize("n_classes", [2, 100])
@pytest.mark.parametrize("n_rows", [1, 64, 8192, 10**9])
@pytest.mark.parametrize("lipschitz", [0.3, 7.0])
def test_batch_size_inverts_deviation(n_rows, n_classes, lipschitz):
    allowed = theory.deviation(n_rows, n_classes, delta=0.01, lipschitz=lipschitz)
    assert theory.batch_size(allowed, n_classes, delta=0.01, lipschitz=lipschitz) == n_rows


def draw_batches(matrix, n_rows, n_batches=4000):
    """Confusion matrices of batches of independent rows, divided by their rows: (batches, k, k)."""
    counts = np.random.default_rng(0).multinomial(n_rows, matrix.ravel(), n_batches)
    return counts.reshape(n_batches, *matrix.shape) / n_rows


MATRICES = [
    np.array([[0.975, 0.002], [0.008, 0.015]]),
    np.array([[0.5, 0.05, 0.02], [0.03, 0.2, 0.02], [0.01, 0.02, 0.15]]),
]


@pytest.mark.parametrize("matrix", MATRICES, ids=["rare", "three classes"])
def test_simulated_batches_obey_the_bounds(matrix):
    """Of the entries, of accuracy, which is Lipschitz with the number of classes, and of macro F1."""
    k, allowed, macro = len(matrix), 0.2, mf.metrics.get("f1_macro")
    off = abs(draw_batches(matrix, 32) - matrix)
    assert (off.max((1, 2)) <= theory.deviation(32, k)).mean() >= 0.95
    off = abs(np.trace(draw_batches(matrix, theory.batch_size(0.1, k, lipschitz=k)) - matrix, axis1=1, axis2=2))
    assert (off <= 0.1).mean() >= 0.95
    batches = torch.from_numpy(draw_batches(matrix, theory.f1_batch_size(allowed, matrix.sum(1).min(), k), 500))
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
