import mpmath as mp
import pytest
import torch

from metricfit.numerics import _normal as normal

mp.mp.dps = 40
# the right end stays where the answers are above rounding of one
POINTS = [-1e4, -500.0, -100.0, -40.0, -20.0, -12.0, -8.0, -5.0, -3.0, -1.0, -0.3, -1e-3, 0.0, 1e-3, 0.5, 1.0, 3.0, 5.0, 8.0]


def exact(name: str, x: float) -> mp.mpf:
    x = mp.mpf(x)
    left, right = mp.erfc(-x / mp.sqrt(2)) / 2, mp.erfc(x / mp.sqrt(2)) / 2
    density = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
    log_cdf = mp.log(left) if x < 0 else mp.log1p(-right)
    return {"pdf": density, "cdf": left, "log_cdf": log_cdf, "ratio": density / left}[name]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["pdf", "cdf", "log_cdf", "ratio"])
def test_relative_error_is_rounding(name, dtype):
    info = torch.finfo(dtype)
    points = torch.tensor(POINTS, dtype=dtype)
    for x, value in zip(points.tolist(), getattr(normal, name)(points).tolist(), strict=True):
        truth = exact(name, x)
        if truth < info.tiny and name in ("pdf", "cdf"):
            assert 0.0 <= value <= 2 * info.tiny
            continue
        # units in the last place; a rounded square is worth x**2 of them once it is exponentiated
        allowed = 8 + (x * x if name in ("pdf", "cdf") or x > 0 else 0)
        assert abs(value - truth) <= allowed * info.eps * abs(truth), (x, value, truth)


@pytest.mark.parametrize("name", ["pdf", "cdf", "log_cdf", "ratio"])
def test_gradients(name):
    x = torch.tensor([-30.0, -3.0, 0.0, 0.7, 3.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(getattr(normal, name), x)


def test_finite_at_the_ends_of_float32():
    x = torch.tensor([-1e15, 1e15])
    assert normal.log_cdf(x).isfinite().all()
    assert normal.ratio(x).isfinite().all()
    assert normal.ratio(x)[1] == 0.0
