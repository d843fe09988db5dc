import pytest
import torch

from metricfit.numerics import _normal_parts
from metricfit.numerics._normal import log_cdf, ratio
from metricfit.numerics._normal_parts import log_cdf_and_ratio
from tests.numerics.test_normal import POINTS, exact

DTYPES = [torch.float32, torch.float64]


@pytest.fixture(autouse=True)
def none_are_few(monkeypatch):
    monkeypatch.setattr(_normal_parts, "FEW", 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_relative_error_is_rounding(dtype):
    points = torch.tensor([*POINTS, -0.0, -1e-30, -6.0, -4.0, 4.0], dtype=dtype)
    logs, ratios = log_cdf_and_ratio(points)
    for x, log_value, ratio_value in zip(points.tolist(), logs.tolist(), ratios.tolist(), strict=True):
        allowed = (4 + (x * x if x > 0 else 0)) * torch.finfo(dtype).eps
        for value, truth in ((log_value, exact("log_cdf", x)), (ratio_value, exact("ratio", x))):
            assert abs(value - truth) <= allowed * abs(truth), (x, value, truth)


@pytest.mark.parametrize("dtype", DTYPES)
def test_agrees_with_torch_everywhere(dtype):
    x = torch.cat([torch.linspace(-40.0, 9.0, 20_001, dtype=dtype), -torch.logspace(0.0, 12.0, 2_001, dtype=dtype)])
    eps = torch.finfo(dtype).eps
    for value, expected in zip(log_cdf_and_ratio(x), (log_cdf(x), ratio(x)), strict=True):
        assert ((value - expected).abs() <= (16 + 2 * x.clamp(min=0).square()) * eps * expected.abs()).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_ends(dtype):
    inf, huge = torch.inf, 1e15 if dtype == torch.float32 else 1e100
    logs, ratios = log_cdf_and_ratio(torch.tensor([-huge, huge, -inf, inf, torch.nan], dtype=dtype))
    assert logs[:4].tolist() == [pytest.approx(-0.5 * huge**2), 0.0, -inf, 0.0]
    assert ratios[:4].tolist() == [pytest.approx(huge), pytest.approx(0.0, abs=1e-30), inf, pytest.approx(0.0, abs=1e-30)]
    assert logs[4].isnan()
    assert ratios[4].isnan()


def test_shapes_and_strides_do_not_matter_and_the_input_stays():
    x = torch.randn(4, 3, 5).transpose(0, 2)
    before = x.clone()
    for value, expected in zip(log_cdf_and_ratio(x), (log_cdf(x), ratio(x)), strict=True):
        torch.testing.assert_close(value, expected)
    assert torch.equal(x, before)
    assert log_cdf_and_ratio(torch.empty(0, 3))[0].shape == (0, 3)


def test_few_go_to_torch(monkeypatch):
    monkeypatch.setattr(_normal_parts, "FEW", 4)
    x = torch.randn(3)
    assert torch.equal(log_cdf_and_ratio(x)[0], log_cdf(x))
    assert log_cdf_and_ratio(torch.empty(2, 3, device="meta"))[1].shape == (2, 3)


def test_the_two_polynomials_agree():
    t = torch.linspace(-1.0, 1.0, 1001, dtype=torch.float64)
    short, long = (
        sum(c * t**m for m, c in enumerate(reversed(p))) for p in (_normal_parts._DEGREE_9, _normal_parts._DEGREE_22)
    )
    assert (short - long).abs().max() < 7e-8
