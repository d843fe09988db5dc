"""What the Triton kernels compute, in Triton's interpreter, against the portable functions in float64.

``test_race_triton.py`` runs this file in a process of its own, because Triton chooses between interpreter and compiler when
it is first imported. By hand: ``TRITON_INTERPRET=1 pytest tests/numerics/race_triton_interpreted.py``.

The interpreter runs one program after the other, and a program costs as much for a few numbers as for many. So most tests
widen the tile to the whole batch, which holds scores of every spread.
"""

import math
import os

import pytest
import torch
from torch.testing import assert_close

if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs TRITON_INTERPRET=1 in the environment", allow_module_level=True)

import triton
import triton.language as tl

from metricfit.numerics import _normal, _race_triton
from metricfit.smoothing import _race_ops

ORDER, EXACT_ORDER = 24, 64
CLASSES = [2, 3, 10, 65, 300]
SPREADS = [0.01, 1.0, 5.0, 30.0]


@pytest.fixture
def wide_tiles(monkeypatch):
    """Tiles of 16 rows, or as many as it is called with."""
    blocks = _race_triton._blocks

    def widen(n_rows):
        monkeypatch.setattr(_race_triton, "_blocks", lambda k, q: (n_rows, *blocks(k, q)[1:]))

    widen(16)
    return widen


def batch(k, spread, seed=0):
    """Three kinds of rows, five each: random labels, leading labels, and scores rounded until they tie; scales 0.5 to 1.5."""
    random = torch.Generator().manual_seed(1000 * seed + k)
    scores = spread * torch.randn(15, k, generator=random)
    labels = torch.randint(k, (15,), generator=random)
    labels[5:10] = scores[5:10].argmax(1)
    scores[10:] = spread * (scores[10:] / spread).round()
    scores[14] = spread
    return scores, labels, 0.5 + torch.rand(15, generator=random)


def batches(k, spreads):
    """One batch of each spread, joined, and the rows of each."""
    parts = zip(*(batch(k, spread) for spread in spreads), strict=True)
    return *map(torch.cat, parts), [slice(15 * place, 15 * place + 15) for place in range(len(spreads))]


def assert_log_win(scores, labels, scale, margin):
    value, by_scores, by_scale = computed = _race_triton.log_win(scores, labels, scale, margin, ORDER, True)
    exact, exact_by_scores, exact_by_scale = _race_ops._log_win(
        scores.double(), labels, scale.double(), margin, EXACT_ORDER, True
    )
    assert_close(value.double().exp(), exact.exp(), rtol=0, atol=1e-6)  # measured: 2.4e-7
    assert ((value - exact).abs() <= 1e-5 * exact.abs().clamp(min=1.0)).all()  # measured: 4e-7
    largest = exact_by_scores.abs().amax(1, keepdim=True)
    assert ((by_scores - exact_by_scores).abs() <= 1e-5 * largest + 2e-7).all()
    assert ((by_scale - exact_by_scale).abs() <= 1e-5 * (exact_by_scale.abs() + largest[:, 0]) + 2e-7).all()
    return computed


@pytest.mark.parametrize("k", CLASSES)
def test_log_win(k, wide_tiles):
    wide_tiles(64)
    assert_log_win(*batches(k, SPREADS)[:3], None)


@pytest.mark.usefixtures("wide_tiles")
@pytest.mark.parametrize("margin", [0.0, 1.0])
@pytest.mark.parametrize("k", [2, 10, 65])
def test_margin(k, margin):
    scores, labels, scale = batch(k, 3.0)
    _, by_scores, by_scale = assert_log_win(scores, labels, scale, margin)
    clipped = scores - scores.gather(1, labels[:, None]) < -margin
    assert (by_scores[clipped] == 0.0).all()
    # where the label leads every rival may be clipped, and more noise still lowers log p
    assert margin == 0.0 or (by_scale[5:10] < 0.0).all()


@pytest.mark.parametrize("k", CLASSES)
def test_win_all(k, wide_tiles):
    wide_tiles(64)
    scores, _, scale, parts = batches(k, [0.01, 1.0, 30.0])
    wins = _race_triton.win_all(scores, scale, ORDER)
    assert_close(wins.double(), _race_ops._win_all(scores.double(), scale.double(), EXACT_ORDER), rtol=0, atol=1e-6)
    assert_close(wins.sum(1), torch.ones(len(scores)), rtol=0, atol=1e-6)

    incoming = torch.randn((15, k), generator=torch.Generator().manual_seed(k)).repeat(len(parts), 1)
    computed = _race_triton.win_all_gradient(incoming, scores, scale, ORDER)
    exact = _race_ops._win_all_backward(incoming.double(), scores.double(), scale.double(), EXACT_ORDER)
    # the derivative is a difference of terms as large as `incoming`: rounding is relative to those (measured: 1.1e-6, 3e-6)
    for values, exact_values, rounding in zip(computed, exact, (2e-6, 5e-6), strict=True):
        for rows in parts:
            part, exact_part = values[rows], exact_values[rows]
            assert ((part - exact_part).abs() <= 1e-5 * exact_part.abs().max() + rounding).all()


@pytest.mark.parametrize("k", [2, 10, 65, 129])
def test_tiles_as_on_a_gpu(k, monkeypatch):
    # 9 rows leave the last tile of 8 almost empty; 65 and 129 classes leave the last block so
    scores, labels, scale = (part[:9] if k == 2 else part[:2] for part in batch(k, 2.0))
    tiled = _race_triton.log_win(scores, labels, scale, 1.5, ORDER, True)
    tiled_all = _race_triton.win_all(scores, scale, ORDER)
    tiled_gradient = _race_triton.win_all_gradient(scores, scores, scale, ORDER)
    monkeypatch.setattr(_race_triton, "_blocks", lambda k, q: (16 if k == 2 else 2, triton.next_power_of_2(k), 1))
    whole = _race_triton.log_win(scores, labels, scale, 1.5, ORDER, True)
    assert_close(tiled, whole, rtol=1e-5, atol=1e-6)
    assert_close(tiled_all, _race_triton.win_all(scores, scale, ORDER), rtol=0, atol=1e-6)
    assert_close(tiled_gradient, _race_triton.win_all_gradient(scores, scores, scale, ORDER), rtol=1e-5, atol=2e-6)


def test_two_tied_scores_by_hand():
    log_p, by_scores, by_scale = _race_triton.log_win(torch.zeros(1, 2), torch.tensor([1]), torch.ones(1), None, ORDER, True)
    assert_close(log_p.exp(), torch.tensor([0.5]))
    assert_close(by_scores, torch.tensor([[-1.0, 1.0]]) / math.sqrt(math.pi))  # phi(0) / sqrt(2) / (1/2)
    assert by_scale.item() == 0.0


def test_gradient_only_when_asked_for():
    scores, labels, scale = (part[:2] for part in batch(3, 1.0))
    value, *empty = _race_triton.log_win(scores, labels, scale, None, ORDER, False)
    assert [part.shape for part in empty] == [(0,), (0,)]
    assert_close(value, _race_triton.log_win(scores, labels, scale, None, ORDER, True)[0])


@pytest.mark.parametrize("order", [5, 32, 40])
def test_other_numbers_of_nodes(order):
    scores, labels, scale = (part[:2] for part in batch(3, 1.0))
    portable = _race_ops._log_win(scores, labels, scale, None, order, True)
    assert_close(_race_triton.log_win(scores, labels, scale, None, order, True), portable, rtol=1e-5, atol=2e-6)


def test_no_rows():
    scores, labels, scale = torch.empty(0, 4), torch.empty(0, dtype=torch.int64), torch.empty(0)
    shapes = [part.shape for part in _race_triton.log_win(scores, labels, scale, None, ORDER, True)]
    assert shapes == [(0,), (0, 4), (0,)]
    assert _race_triton.win_all(scores, scale, ORDER).shape == (0, 4)
    assert [part.shape for part in _race_triton.win_all_gradient(scores, scores, scale, ORDER)] == [(0, 4), (0,)]


def test_strided_and_expanded_inputs():
    scores = torch.randn(4, 2, generator=torch.Generator().manual_seed(0)).T
    assert_log_win(scores, torch.tensor([0, 3]), torch.ones(1).expand(2), None)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy, about the NaN it is given
@pytest.mark.parametrize("k", [2, 70])
def test_nan_stays_in_its_row(k, wide_tiles):
    wide_tiles(4)
    scores, labels, scale = (part[:4] for part in batch(k, 1.0))
    clean = _race_triton.log_win(scores, labels, scale, None, ORDER, True)
    clean_all = _race_triton.win_all(scores, scale, ORDER)
    scores, scale = scores.clone(), scale.clone()
    scores[1, labels[1]] = math.nan
    scores[2, (labels[2] + 1) % k] = math.nan
    scale[3] = math.nan
    for broken, whole in zip(_race_triton.log_win(scores, labels, scale, None, ORDER, True), clean, strict=True):
        assert_close(broken[:1], whole[:1])
        assert broken[1:].isnan().all()
    wins = _race_triton.win_all(scores, scale, ORDER)
    assert_close(wins[:1], clean_all[:1])
    assert wins[1:].isnan().all()
    assert all(part[1:].isnan().all() for part in _race_triton.win_all_gradient(scores, scores, scale, ORDER))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinite_scores():
    scores = torch.tensor([[0.0, 0.0, -math.inf], [0.0, math.inf, 0.0], [-math.inf, 0.0, 0.0]])
    log_p, by_scores, _ = _race_triton.log_win(scores, torch.zeros(3, dtype=torch.int64), torch.ones(3), None, ORDER, True)
    assert_close(log_p[0].exp().item(), 0.5)
    assert by_scores[0, 2].item() == 0.0
    assert log_p[1:].isnan().all()
    wins = _race_triton.win_all(scores, torch.ones(3), ORDER)
    assert_close(wins[[0, 2]], torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]))
    assert wins[1].isnan().all()


@pytest.mark.usefixtures("wide_tiles")
@pytest.mark.parametrize("gap", [1e4, 1e6, 1e20])
def test_far_behind_and_far_ahead(gap):
    # k - 1 rivals ahead by g: log p is about -g**2 (k - 1) / (2 k), so the label's pull is g (k - 1) / k; 1e20 is bounded
    scores = torch.tensor([[0.0, gap, gap], [gap, 0.0, 0.0]])
    log_p, by_scores, _ = _race_triton.log_win(scores, torch.tensor([0, 0]), torch.ones(2), None, ORDER, True)
    bounded = min(gap, 1e15)
    assert log_p[0].item() == pytest.approx(-(bounded**2) / 3, rel=1e-3)
    assert by_scores[0, 0].item() == pytest.approx(2 * bounded / 3, rel=1e-3)
    assert -1e-6 <= log_p[1].item() <= 0.0
    assert (by_scores[1] == 0.0).all()
    assert_close(_race_triton.win_all(scores, torch.ones(2), ORDER), torch.tensor([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]))


@triton.jit
def normal_kernel(x, log_cdf, ratio, bend, n: tl.constexpr):
    i = tl.arange(0, n)
    values = _race_triton._normal(tl.load(x + i))
    tl.store(log_cdf + i, values[0])
    tl.store(ratio + i, values[1])
    tl.store(bend + i, values[2])


def test_normal_functions():
    x = torch.cat([-torch.logspace(4, -6, 2048), torch.linspace(-12.0, 10.0, 2048)])
    log_cdf, ratio, bend = (torch.empty_like(x) for _ in range(3))
    normal_kernel[(1,)](x, log_cdf, ratio, bend, len(x))

    exact = x.double()
    exact_log, exact_ratio = _normal.log_cdf(exact), _normal.ratio(exact)
    # on the right the square is rounded before it is exponentiated: 6e-8 of x**2 / 2
    tolerance = 3e-7 + 6e-8 * exact.clamp(min=0.0).square()
    assert ((log_cdf - exact_log).abs() <= tolerance * exact_log.abs()).all()
    assert ((ratio - exact_ratio).abs() <= tolerance * exact_ratio).all()
    near = exact > -30.0  # further left the reference itself, x + r, is rounding error
    exact_bend = exact_ratio * (exact + exact_ratio)
    assert ((bend - exact_bend).abs()[near] <= 1e-6).all()
    assert ((bend >= 0.0) & (bend <= 1.0)).all()
    assert_close(bend[0].item(), 1.0, rtol=0, atol=1e-6)
