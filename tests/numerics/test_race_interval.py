"""Where the nodes are laid: intervals that cover, are tight, and stay finite however far apart the scores are."""

import math

import pytest
import torch

from metricfit.numerics import _race
from metricfit.numerics._condense import Classes
from metricfit.numerics._normal import log_cdf

KINDS = ["random", "leading", "tied", "behind", "ahead", "half on a level"]


def gaps_of(k, spread, kind, n=5):
    random = torch.Generator().manual_seed(k)
    scores = spread * torch.randn(n, k, dtype=torch.float64, generator=random)
    labels = torch.randint(k, (n,), generator=random) if kind == "random" else scores.argmax(1)
    rows, moved = torch.arange(n), torch.linspace(0.0, 1.0, n, dtype=torch.float64)
    scores[rows, labels] += {"behind": -50.0, "ahead": 12.0}.get(kind, 0.0) * moved
    if kind == "tied":
        scores[rows, (labels + 1) % k] = scores.amax(1)
    if kind == "half on a level":
        scores[:, ::2] = scores.amax(1, keepdim=True) - 8.0 * moved[:, None]
    return (scores - scores.gather(1, labels[:, None])).scatter(1, labels[:, None], -1e4)


def log_height(gaps, z):
    return log_cdf(z[:, None] - gaps).sum(1) - 0.5 * z.square()


def by_bisection(gaps, drop):
    """The mode by thirds, then the two points by halves."""
    low, high = torch.full_like(gaps[:, 0], -1.0), gaps.amax(1).clamp(min=0.0) + 10.0
    for _ in range(80):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        rising = log_height(gaps, a) < log_height(gaps, b)
        low, high = torch.where(rising, a, low), torch.where(rising, high, b)
    mode = 0.5 * (low + high)
    ends, target = [], log_height(gaps, mode) - drop
    for direction in (-1.0, 1.0):
        near, far = torch.zeros_like(mode), torch.full_like(mode, math.sqrt(2.0 * drop))
        for _ in range(40):
            middle = 0.5 * (near + far)
            inside = log_height(gaps, mode + direction * middle) > target
            near, far = torch.where(inside, middle, near), torch.where(inside, far, middle)
        ends.append(mode + direction * near)
    return torch.stack(ends, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spread", [0.0, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("k", [2, 4, 40, 400, 2000])
def test_covers_and_is_tight(k, spread, kind):
    gaps = gaps_of(k, spread, kind)
    for drop in (16.32, 32.0):
        found = _race._drop_points(Classes(gaps, k), _race._lower_mode(gaps, 32), drop)
        truth = by_bisection(gaps, drop)
        width = truth[:, 1] - truth[:, 0]
        slack = 1e-5 * width
        assert (found[:, 0] <= truth[:, 0] + slack).all()
        assert (found[:, 1] >= truth[:, 1] - slack).all()
        assert (found[:, 1] - found[:, 0] <= 1.1 * width).all()


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("k", [2, 4, 10, 40, 400, 4000])
def test_the_largest_is_not_missed(k, spread):
    scores = spread * torch.randn(8, k, dtype=torch.float64, generator=torch.Generator().manual_seed(k))
    scores[4:, 0] = scores[4:].amax(1) + torch.arange(4)
    scores -= scores.amax(1, keepdim=True)
    left, right = _race._maximum_ends(Classes(scores, k), 64).unbind(1)
    depth = -log_cdf(left[:, None] - scores).sum(1)
    assert (depth >= 32.0 * (1 - 1e-12)).all()
    # as deep as that no more than a twentieth of the interval further right
    assert (-log_cdf((left + 0.05 * (right - left))[:, None] - scores).sum(1) <= 32.0).all()
    assert (log_cdf(right[:, None] - scores).sum(1) >= -math.exp(-32.0)).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("k", [2, 3, 10, 50, 1000])
def test_finite_scores_give_finite_numbers_of_the_right_sign(k, dtype):
    random = torch.Generator().manual_seed(k)
    order = _race.default_order(dtype)
    for exponent in torch.linspace(-10.0, 15.0 if dtype == torch.float32 else 100.0, 26).tolist():
        scores = 10**exponent * torch.randn(16, k, dtype=torch.float64, generator=random)
        scores[5:10] = scores[5:10].sign() * 10**exponent
        scores[10] = 0.0
        scores[11, 0] = 10**exponent
        scores, labels = scores.to(dtype), torch.randint(k, (16,), generator=random)
        log_p, slopes = _race.log_win(scores - scores.gather(1, labels[:, None]), labels, order, True)
        wins = _race.win_all(scores, order)
        gradient = _race.win_all_gradient(scores, torch.ones_like(scores), order)
        assert all(values.isfinite().all() for values in (log_p, slopes, wins, gradient))
        assert (log_p <= 0).all()
        assert (slopes <= 0).all()
        assert (wins >= 0).all()
