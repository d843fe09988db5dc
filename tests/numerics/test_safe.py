import pytest
import torch
from torch.testing import assert_close

from metricfit.numerics._safe import floor_of, safe_divide, safe_log, safe_sqrt

DTYPES = [torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_plain_functions_away_from_zero(dtype):
    x = torch.tensor([1e-6, 0.3, 1.0, 20.0], dtype=dtype)
    assert_close(safe_log(x), x.log(), rtol=0, atol=0)
    assert_close(safe_sqrt(x), x.sqrt(), rtol=0, atol=0)
    assert_close(safe_divide(x, x + 1), x / (x + 1), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [safe_log, safe_sqrt])
def test_finite_and_rising_at_zero(function, dtype):
    x = torch.tensor([0.0, torch.finfo(dtype).tiny, 1e-20, 1.0], dtype=dtype, requires_grad=True)
    y = function(x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert y.isfinite().all()
    assert slope.isfinite().all()
    assert (slope > 0).all()
    assert (y.diff() >= 0).all()


def test_continuous_at_the_floor():
    floor = floor_of(torch.ones(1, dtype=torch.float64))
    around = torch.tensor([floor * (1 - 1e-9), floor, floor * (1 + 1e-9)], dtype=torch.float64)
    assert_close(safe_log(around), torch.full((3,), around[1].log().item(), dtype=torch.float64), rtol=0, atol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_over_zero_is_decided(dtype):
    top = torch.tensor([0.0, 1.0, 0.0], dtype=dtype, requires_grad=True)
    bottom = torch.tensor([0.0, 0.0, 2.0], dtype=dtype, requires_grad=True)
    quotient = safe_divide(top, bottom, otherwise=0.5)
    assert quotient.tolist() == [0.5, 0.5, 0.0]
    for slope in torch.autograd.grad(quotient.sum(), (top, bottom)):
        assert slope.isfinite().all()


def test_nan_is_not_hidden():
    nan = torch.tensor(float("nan"))
    for value in (safe_log(nan), safe_sqrt(nan), safe_divide(nan, torch.tensor(1.0)), safe_divide(nan, nan)):
        assert value.isnan()
