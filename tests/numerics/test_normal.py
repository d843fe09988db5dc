"""The normal distribution against mpmath: the functions of torch, and the two that are computed together."""

import mpmath as mp
import pytest
import torch

from metricfit.numerics import _normal, _normal_parts
from metricfit.numerics._normal import log_cdf, ratio
from metricfit.numerics._normal_parts import log_cdf_and_ratio

mp.mp.dps = 40
DTYPES = [torch.float32, torch.float64]
# the right end stays where the answers are above rounding of one
POINTS = [-1e4, -500.0, -100.0, -40.0, -20.0, -12.0, -8.0, -6.0, -5.0, -4.0, -3.0, -1.0, -0.3, -1e-3, -1e-30, -0.0]
POINTS += [0.0, 1e-3, 0.5, 1.0, 3.0, 4.0, 5.0, 8.0]
FUNCTIONS = {name: getattr(_normal, name) for name in ("pdf", "cdf", "log_cdf", "ratio")}
TOGETHER = {"log_cdf": lambda x: log_cdf_and_ratio(x)[0], "ratio": lambda x: log_cdf_and_ratio(x)[1]}


@pytest.fixture(autouse=True)
def none_are_few(monkeypatch):
    monkeypatch.setattr(_normal_parts, "FEW", 0)


def exact(name: str, x: float) -> mp.mpf:
    x = mp.mpf(x)
    left, right = mp.erfc(-x / mp.sqrt(2)) / 2, mp.erfc(x / mp.sqrt(2)) / 2
    density = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
    log_cdf = mp.log(left) if x < 0 else mp.log1p(-right)
    return {"pdf": density, "cdf": left, "log_cdf": log_cdf, "ratio": density / left}[name]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "function", "rounding"), [(*one, 8) for one in FUNCTIONS.items()] + [(*one, 4) for one in TOGETHER.items()]
)
def test_relative_error_is_rounding(name, function, rounding, dtype):
    info = torch.finfo(dtype)
    points = torch.tensor(POINTS, dtype=dtype)
    for x, value in zip(points.tolist(), function(points).tolist(), strict=True):
        truth = exact(name, x)
        if truth < info.tiny and name in ("pdf", "cdf"):
            assert 0.0 <= value <= 2 * info.tiny
            continue
        # units in the last place; a rounded square is worth x**2 of them once it is exponentiated
        allowed = rounding + (x * x if name in ("pdf", "cdf") or x > 0 else 0)
        assert abs(value - truth) <= allowed * info.eps * abs(truth), (x, value, truth)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    x = torch.tensor([-30.0, -3.0, 0.0, 0.7, 3.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(FUNCTIONS[name], x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_together_they_agree_with_torch_everywhere(dtype):
    x = torch.cat([torch.linspace(-40.0, 9.0, 20_001, dtype=dtype), -torch.logspace(0.0, 12.0, 2_001, dtype=dtype)])
    eps = torch.finfo(dtype).eps
    for value, expected in zip(log_cdf_and_ratio(x), (log_cdf(x), ratio(x)), strict=True):
        assert ((value - expected).abs() <= (16 + 2 * x.clamp(min=0).square()) * eps * expected.abs()).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_ends(dtype):
    inf, huge = torch.inf, 1e15 if dtype == torch.float32 else 1e100
    x = torch.tensor([-huge, huge, -inf, inf, torch.nan], dtype=dtype)
    for logs, ratios in (log_cdf_and_ratio(x), (log_cdf(x), ratio(x))):
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
