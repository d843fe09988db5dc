import pytest
import torch
from torch.testing import assert_close

from metricfit.numerics._sampled import coupled_cholesky, log_orthant


@pytest.mark.parametrize("coupling", [1.0, 0.5])
def test_cholesky_factor_in_closed_form(coupling):
    diagonal, below = coupled_cholesky(6, coupling)
    factor = torch.tensor(below, dtype=torch.float64).expand(6, 6).tril(-1) + torch.tensor(diagonal).double().diag()
    assert_close(factor @ factor.T, torch.eye(6, dtype=torch.float64) + coupling)


@pytest.mark.parametrize("dimension", [1, 20])
def test_equal_scores_win_equally_often(dimension):
    # the orthant with mean zero and covariance I + 11' is one of d + 1 equal scores winning
    random = torch.Generator().manual_seed(1)
    p = log_orthant(torch.zeros(dimension, dtype=torch.float64), 1.0, 40_000, random).exp()
    assert p.item() == pytest.approx(1 / (dimension + 1), rel=0.03)


def test_finite_far_in_the_tail():
    assert log_orthant(torch.tensor([-1e4, 3.0]), 1.0, 8, torch.Generator().manual_seed(0)).isfinite()
