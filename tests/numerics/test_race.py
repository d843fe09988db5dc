"""The one-dimensional integral against 30 digits, a closed form, simulation and itself."""

import math

import mpmath as mp
import pytest
import torch
from torch.testing import assert_close

from metricfit.numerics import _pair, _race, fused
from metricfit.numerics._normal import cdf
from tests.numerics.reference.cases import references

# what the issue asks for; measured: 3e-15 in float64, 1.3e-7 in float32
P_TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-6}
LOG_P_TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-5}


def log_win(scores, labels, **options):
    gaps = scores - scores.gather(1, labels[:, None])
    return _race.log_win(gaps, labels, options.pop("order", _race.default_order(scores.dtype)), True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("case", "truth"), references(), ids=str)
def test_thirty_digits(case, truth, dtype):
    values, label = case.scores()
    scores, labels = torch.tensor(values).to(dtype)[None], torch.tensor([label])
    log_p = mp.mpf(truth)

    (value,), _ = log_win(scores, labels)
    assert abs(value.item() - log_p) <= LOG_P_TOLERANCE[dtype] * max(1, abs(log_p))
    assert abs(math.exp(value) - mp.exp(log_p)) <= P_TOLERANCE[dtype]

    wins = _race.win_all(scores, _race.default_order(dtype))[0]
    assert abs(wins.sum().item() - 1.0) <= 1e-6
    assert abs(wins[label].item() - mp.exp(log_p)) <= P_TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("k", [2, 10, 1000])
def test_other_devices_need_no_values(k, dtype):
    """As on a GPU: a tensor of the CPU in between, or a step that reads a value, is an error on the device "meta"."""
    scores, labels = torch.empty(9, k, dtype=dtype, device="meta"), torch.empty(9, dtype=torch.int64, device="meta")
    assert not fused.covers(scores)
    order = _race.default_order(dtype)
    found = (
        *_race.log_win(scores, labels, order, True),
        _race.win_all(scores, order),
        _race.win_all_gradient(scores, scores, order),
    )
    if k == 2:
        found += (*_pair.log_win(scores, labels, 0, True), _pair.win_all(scores, 0), _pair.win_all_gradient(scores, scores, 0))
    assert all(values.device.type == "meta" and values.dtype == dtype for values in found)
    assert [values.shape for values in found[:4]] == [(9,), (9, k), (9, k), (9, k)]


@pytest.mark.parametrize("gap", [-40.0, -3.0, 0.0, 0.5, 10.0, 141.0])
def test_two_classes_in_closed_form(gap):
    x = -gap / math.sqrt(2)
    (log_p,), slope = log_win(torch.tensor([[0.0, gap]], dtype=torch.float64), torch.tensor([0]))
    assert_close(log_p, torch.special.log_ndtr(torch.tensor(x, dtype=torch.float64)), rtol=1e-13, atol=1e-14)
    density_ratio = mp.npdf(x) / mp.ncdf(x) / mp.sqrt(2)
    assert abs(slope[0, 1].item() + density_ratio) <= 1e-12 * max(1, density_ratio)


@pytest.mark.parametrize("k", [2, 5, 40])
def test_simulation(k):
    n = 400_000
    random = torch.Generator().manual_seed(k)
    scores = torch.randn(1, k, dtype=torch.float64, generator=random)
    draws = scores + torch.randn(n, k, dtype=torch.float64, generator=random)
    shares = torch.bincount(draws.argmax(1), minlength=k) / n
    # the deviation of a mean of n coin flips is at most 1 / (2 sqrt n); allow four of them
    assert_close(_race.win_all(scores, 64)[0], shares.double(), rtol=0, atol=2 * n**-0.5)


@pytest.mark.parametrize("k", [2, 3, 17, 300])
@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_all_classes_agree_with_one_by_one(k, spread):
    scores = spread * torch.randn(4, k, dtype=torch.float64, generator=torch.Generator().manual_seed(k))
    together = _race.win_all(scores, 64)
    for label in range(min(k, 20)):
        log_p, _ = log_win(scores, torch.full((4,), label))
        assert_close(together[:, label], log_p.exp(), rtol=0, atol=1e-13)


@pytest.mark.parametrize("k", [2, 30, 1000])
@pytest.mark.parametrize("spread", [0.1, 3.0, 60.0])
def test_float32_gradient(k, spread):
    random = torch.Generator().manual_seed(k)
    scores = spread * torch.randn(30, k, generator=random)
    labels = torch.randint(k, (30,), generator=random)
    labels[:10] = scores[:10].argmax(1)
    _, slope = log_win(scores, labels)
    _, exact = log_win(scores.double(), labels)
    # relative to the row's largest entry, down to 2e-7: what pulls at a label that leads by far is smaller than rounding
    largest = exact.abs().amax(1, keepdim=True)
    assert ((slope - exact).abs() <= 1e-5 * largest + 2e-7).all()


def test_gradient_keeps_its_size_where_the_label_is_far_behind():
    # k - 1 rivals ahead by g: log p is about -g**2 (k - 1) / (2 k), so the label's pull is g (k - 1) / k
    for dtype, gap in ((torch.float32, 1e4), (torch.float32, 1e6), (torch.float64, 1e12)):
        for k in (2, 3, 10):
            scores = torch.full((1, k), gap, dtype=dtype)
            scores[0, 0] = 0.0
            (log_p,), slope = log_win(scores, torch.tensor([0]))
            assert log_p.item() == pytest.approx(-0.5 * gap**2 * (k - 1) / k, rel=1e-3)
            assert -slope.sum().item() == pytest.approx(gap * (k - 1) / k, rel=1e-3)


def test_chunks_do_not_change_the_numbers(monkeypatch):
    scores = torch.randn(50, 7, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(50) % 7
    whole, whole_all = log_win(scores, labels), _race.win_all(scores, 24)
    monkeypatch.setattr(_race, "_CHUNK_ELEMENTS", 1)
    for part, full in zip(log_win(scores, labels), whole, strict=True):
        assert_close(part, full)
    assert_close(_race.win_all(scores, 24), whole_all)


def test_nearly_certain_winner_is_not_more_than_certain():
    log_p, _ = log_win(torch.tensor([[50.0, 0.0, -50.0]]), torch.tensor([0]))
    assert log_p.item() <= 0.0
    assert cdf(torch.tensor(50.0 / math.sqrt(2))) == 1.0
