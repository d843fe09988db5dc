"""Many classes as few weighted ones, against all of them one by one."""

import math

import pytest
import torch
from torch.testing import assert_close

from metricfit.numerics import _condense, _race

DTYPES = [torch.float32, torch.float64]
TOLERANCE = {torch.float32: 1e-6, torch.float64: 2e-14}
ORDER = {dtype: _race.default_order(dtype) for dtype in DTYPES}
KINDS = ["random", "leading", "tied", "behind", "far behind", "ahead", "far ahead", "all equal"]


def batch(k, spread, kind, dtype, n=6):
    random = torch.Generator().manual_seed(k + int(100 * spread))
    scores = spread * torch.randn(n, k, dtype=torch.float64, generator=random)
    labels = torch.randint(k, (n,), generator=random) if kind == "random" else scores.argmax(1)
    rows, moved = torch.arange(n), {"behind": -20.0, "far behind": -3000.0, "ahead": 6.0, "far ahead": 3000.0}.get(kind, 0.0)
    scores[rows, labels] += moved * torch.linspace(0.2, 1.0, n, dtype=torch.float64)
    if kind == "tied":
        scores[rows, (labels + 1) % k] = scores.amax(1)
    if kind == "all equal":
        scores.zero_()
    return scores.to(dtype), labels


def one_by_one(monkeypatch):
    monkeypatch.setattr(_condense, "MANY", dict.fromkeys(DTYPES, 10**9))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spread", [0.01, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("k", [600, 10_000])
def test_label(k, spread, kind, dtype, monkeypatch):
    scores, labels = batch(k, spread, kind, dtype, n=6 if k < 1000 else 2)
    gaps = scores - scores.gather(1, labels[:, None])
    log_p, slopes = _race.log_win(gaps, labels, ORDER[dtype], True)
    one_by_one(monkeypatch)
    exact_log_p, exact_slopes = _race.log_win(gaps, labels, ORDER[dtype], True)
    eps = torch.finfo(dtype).eps
    assert ((log_p - exact_log_p).abs() <= 64 * eps * exact_log_p.abs().clamp(min=1.0)).all()
    assert ((slopes - exact_slopes).abs() <= 64 * eps * exact_slopes.abs().amax(1, keepdim=True) + eps).all()
    assert_close(_race.log_win(gaps, labels, ORDER[dtype], False)[0], exact_log_p, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spread", [0.0, 0.01, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("k", [600, 10_000])
def test_all_classes(k, spread, dtype, monkeypatch):
    scores, _ = batch(k, spread, "random", dtype, n=3)
    incoming = torch.randn(scores.shape, dtype=dtype, generator=torch.Generator().manual_seed(1))
    wins, gradient = _race.win_all(scores, ORDER[dtype]), _race.win_all_gradient(scores, incoming, ORDER[dtype])
    one_by_one(monkeypatch)
    eps = torch.finfo(dtype).eps
    exact = _race.win_all(scores, ORDER[dtype])
    assert ((wins - exact).abs() <= 256 * eps * exact.amax(1, keepdim=True)).all()
    exact_gradient = _race.win_all_gradient(scores, incoming, ORDER[dtype])
    # where one class is certain to win, two terms of the incoming gradient's size cancel
    assert ((gradient - exact_gradient).abs() <= 64 * eps * exact_gradient.abs().amax(1, keepdim=True) + 32 * eps).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_a_number_stays_in_its_row(dtype):
    scores, labels = batch(700, 1.0, "random", dtype)
    scores[1, 5], scores[2, 6], scores[3, 7] = math.nan, math.inf, -math.inf
    gaps = scores - scores.gather(1, labels[:, None])
    log_p, slopes = _race.log_win(gaps, labels, ORDER[dtype], True)
    wins = _race.win_all(scores, ORDER[dtype])
    broken = torch.tensor([False, True, True, False, False, False])
    assert torch.equal(log_p.isnan(), broken)
    assert torch.equal(slopes.isnan().all(1), broken)
    assert torch.equal(wins.isnan().all(1), broken)
    assert torch.equal(wins.isnan().any(1), broken)


def test_chunks_do_not_change_the_numbers(monkeypatch):
    scores, labels = batch(600, 20.0, "random", torch.float64)
    gaps = scores - scores.gather(1, labels[:, None])
    whole = _race.log_win(gaps, labels, 64, True)
    monkeypatch.setattr(_condense, "_CHUNK_ELEMENTS", 1)
    for part, full in zip(_race.log_win(gaps, labels, 64, True), whole, strict=True):
        assert_close(part, full, rtol=1e-12, atol=1e-14)
    assert _race.log_win(gaps[:0], labels[:0], 64, True)[1].shape == (0, 600)
    assert _race.win_all(gaps[:0], 64).shape == (0, 600)
