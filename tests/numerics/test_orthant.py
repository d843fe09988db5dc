import math

import pytest
import torch
from torch.testing import assert_close

from metricfit.numerics._orthant import coupled_cholesky, log_orthant, log_orthant_slope


@pytest.mark.parametrize("coupling", [1.0, 0.5])
def test_cholesky_factor_in_closed_form(coupling):
    diagonal, below = coupled_cholesky(6, coupling)
    factor = torch.tril(torch.tensor(below, dtype=torch.float64).expand(6, 6), -1) + torch.diag(
        torch.tensor(diagonal).double()
    )
    covariance = torch.eye(6, dtype=torch.float64) + coupling
    assert_close(factor @ factor.T, covariance)


@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
def test_equal_scores_win_equally_often(dimension):
    # the orthant with mean zero and covariance I + 11' is one of d + 1 equal scores winning
    random = torch.Generator().manual_seed(1)
    p = log_orthant(torch.zeros(dimension, dtype=torch.float64), 1.0, 40_000, random).exp()
    assert p.item() == pytest.approx(1 / (dimension + 1), rel=0.03)


def test_slope_of_one_dimension_is_the_density():
    mean = torch.tensor([[0.7]], dtype=torch.float64)
    density = math.exp(-(0.7**2) / 4) / math.sqrt(4 * math.pi)
    assert log_orthant_slope(mean, 1).exp().item() == pytest.approx(density, rel=1e-12)


def test_seeded():
    mean = torch.tensor([0.5, -0.2, 1.0])
    first, again, other = (log_orthant(mean, 1.0, 16, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert first == again != other


def test_finite_far_in_the_tail():
    assert log_orthant(torch.tensor([-1e4, 3.0]), 1.0, 8, torch.Generator().manual_seed(0)).isfinite()
