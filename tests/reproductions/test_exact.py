"""EXACT's tables: many models at once against one at a time, the splits, the search, and what is made of the results."""

import math

import pytest
import torch
from torch import nn

import metricfit as mf
from reproductions._experiment import Scope
from reproductions.exact_2022 import _arms, tabular
from reproductions.exact_2022._arms import ARMS, RANGES, draw_options, search_and_refit, table_8
from reproductions.exact_2022._batched import Method, Options, train_models
from reproductions.exact_2022._protocol import FLOOR, SIGMA, Dataset, fit_linear
from reproductions.exact_2022._slopes import exact_slopes, win_slopes
from reproductions.exact_2022._splits import load_splits

STEPS = 40


def random_data(n_classes, n_rows=300, n_features=6):
    """More rows than a batch has, so that the order of rows matters."""
    draw = torch.Generator().manual_seed(n_classes)
    features = torch.randn(n_rows, n_features, generator=draw)
    labels = (features @ torch.randn(n_features, n_classes, generator=draw) + torch.randn(n_rows, 1)).argmax(1)
    return Dataset((features, labels), (features, labels), n_classes)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize(
    ("method", "loss", "options"),
    [
        (Method("cross-entropy", normalize=True), nn.CrossEntropyLoss(), {"clip": 0.5, "floor": 0.2}),
        (Method("hinge"), mf.HingeLoss(margin=0.5), {"margin": 0.5, "decay": 0.01}),
        (Method("exact", normalize=True), mf.ExactLoss(margin=0.4), {"margin": 0.4, "floor": FLOOR}),
        (Method("exact", "constant"), mf.ExactLoss(margin=2.0), {"margin": 2.0, "decay": 0.001}),
    ],
)
def test_many_models_take_the_steps_of_the_trainer(method, loss, options, n_classes):
    """Three groups of two models; the second model of the second group is the one of the trainer."""
    data, rate, seed = random_data(n_classes), 0.5, 3
    known = {name: options[name] for name in ("clip", "decay") if name in options}
    normalizer = mf.GradientNormalizer(floor=options.get("floor", 0.0)) if method.normalize else None
    sigma = mf.schedules.geometric(*SIGMA, STEPS) if method.sigma == "scheduled" else mf.schedules.constant(1.0)
    scale = sigma if method.loss == "exact" else None
    one = fit_linear(data, loss, rate=rate, seed=seed, steps=STEPS, scale=scale, normalizer=normalizer, **known)
    drawn = Options.filled((3, 2), **options)
    drawn.rate[:] = torch.tensor([[0.1, 0.2], [2.0, rate], [0.3, 1.0]])
    features, labels = (part.expand(3, *part.shape) for part in data.train)
    many = train_models(features, labels, n_classes, method, drawn, steps=STEPS, seeds=[7, seed, 8])
    found = torch.cat([one.module.linear.weight, one.module.linear.bias[:, None]], 1)
    torch.testing.assert_close(many.weights[1, :, 1], found, rtol=1e-4, atol=1e-4)
    assert (many.weights[1, :, 0] - found).abs().max() > 1e-2  # another rate ends elsewhere
    assert torch.equal(many.predict(features)[1, 1], one.scores(data.train[0]).argmax(1))


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_slopes_are_those_of_the_loss(n_classes):
    """By autograd in float64, also by a sigma of each row."""
    draw = torch.Generator().manual_seed(0)
    scores, labels = torch.randn(40, n_classes, generator=draw), torch.randint(0, n_classes, (40,), generator=draw)
    sigma = torch.rand(40, generator=draw) + 0.2
    known, width = scores.double().requires_grad_(), sigma.double().requires_grad_()
    mf.ExactLoss(margin=0.5)(known, labels, scale=width).backward()
    by_scores, by_sigma = exact_slopes(
        scores.T[None, :, None].contiguous(), labels[None], torch.full((1, 1, 1, 1), 0.5), sigma.view(1, 1, 1, -1)
    )
    torch.testing.assert_close(by_scores[0, :, 0].T.double(), known.grad, rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(by_sigma.flatten().double(), width.grad, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("n_classes", [3, 4, 10])
@pytest.mark.parametrize("spread", [0.1, 4.0])
def test_the_trapezoidal_rule_is_the_quadrature(n_classes, spread):
    draw = torch.Generator().manual_seed(0)
    scores, labels = spread * torch.randn(500, n_classes, generator=draw), torch.randint(0, n_classes, (500,), generator=draw)
    gaps = scores.gather(1, labels[:, None]) - scores
    found = win_slopes(gaps.T[None, :, None].contiguous(), labels[None])[0, :, 0].T
    known = (-gaps.double()).requires_grad_()
    mf.smoothing.Normal().label_probability(known, labels).sum().backward()
    expected = (-known.grad).scatter(1, labels[:, None], 0.0)
    torch.testing.assert_close(found.double(), expected, rtol=0.0, atol=3e-7)


def test_a_predicted_sigma_begins_at_one_and_shrinks():
    """Section 4.5.3: gradient descent reduces it. Here no label is wrong, and less noise is always better."""
    features = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    rows = features[None], (features[:, 0] > 0).long()[None]
    options = Options.filled((1, 1), 0.1, floor=FLOOR)
    start, end = (train_models(*rows, 2, Method("exact", "predicted", True), options, steps=n, seeds=[0]) for n in (1, 300))
    assert start.sigma(rows[0]).mean() == pytest.approx(1.0, abs=0.2)
    assert end.sigma(rows[0]).median() < 0.3
    assert end.sigma(rows[0]).min() >= 1e-3


def test_a_gradient_that_is_not_finite_is_left_out():
    rows = torch.randn(1, 20, 2), torch.arange(20)[None] % 2
    huge = torch.full((1, 20, 2), 3e38)
    found = train_models(huge, rows[1], 2, Method("cross-entropy"), Options.filled((1, 1)), steps=3, seeds=[0])
    assert found.weights.isfinite().all()


def test_draws_are_within_table_8_and_the_same_for_all_methods():
    drawn = draw_options(200, range(3))
    for name, (low, high) in RANGES.items():
        column = getattr(drawn, name)
        used = column[column > 0.0]
        assert low <= used.min() <= 2.0 * low
        assert 0.5 * high <= used.max() <= high
    assert 0.4 < (drawn.decay == 0.0).float().mean() < 0.6
    assert torch.equal(draw_options(200, [2]).rate[0], drawn.rate[2])
    plain, exact = (ARMS[name].restrict(drawn) for name in ("Cross-entropy", "EXACT"))
    assert torch.equal(plain.rate, exact.rate)
    assert plain.margin.isinf().all()
    assert exact.clip.isinf().all()
    assert torch.equal(exact.margin, drawn.margin)


def test_search_takes_the_best_on_held_out_rows(monkeypatch):
    """Of three draws two hardly move the weights. They are worse on the rows held out, and only the other is trained again."""
    data, arm = random_data(3), ARMS["Cross-entropy"]
    inner, held_out = ((data.train[0][None, part], data.train[1][None, part]) for part in (slice(240), slice(240, None)))
    rows, drawn = (data.train[0][None], data.train[1][None]), Options.filled((1, 3))
    drawn.rate[:] = torch.tensor([[1e-6, 1.0, 1e-6]])
    monkeypatch.setattr(_arms, "draw_options", lambda n_draws, seeds: drawn)
    chosen = search_and_refit(arm, rows, inner, held_out, 3, n_draws=3, steps=STEPS, seeds=[0])
    assert chosen.options.rate.item() == 1.0
    again = train_models(*rows, 3, arm.method, chosen.options, steps=STEPS, seeds=[0])
    assert torch.equal(chosen.models.weights, again.weights)
    assert 0.0 < chosen.validation.item() <= 100.0


def test_splits_share_no_rows_and_use_all(data):
    found = load_splits("balance-scale", data, 3)
    shapes = [tuple(part[1].shape) for part in (found.train, found.inner, found.held_out, found.test)]
    assert shapes == [(3, 500), (3, 400), (3, 100), (3, 125)]
    counts = torch.stack([labels.bincount() for labels in found.test[1]])
    assert ((counts - 0.2 * torch.tensor([49, 288, 288])).abs() < 1.0).all()  # stratified
    assert not torch.equal(found.test[0][0], found.test[0][1])
    for split in range(3):
        inside = torch.cat([found.inner[0][split], found.held_out[0][split]])
        assert torch.equal(inside.sort(0).values, found.train[0][split].sort(0).values)
        whole = torch.cat([found.train[0][split], found.test[0][split]]).unique(dim=0)
        assert len(whole) == 625  # all rows of the set, each once
        torch.testing.assert_close(found.train[0][split].mean(0), torch.zeros(4), rtol=0.0, atol=1e-5)


def test_large_sets_are_cut_unless_run_in_full(data, monkeypatch):
    monkeypatch.setitem(load_splits.__wrapped__.__globals__["MOST_ROWS"], "wine", 100)
    assert load_splits("wine", data, 2).train[1].shape == (2, 80)
    assert load_splits("wine", data, 2, capped=False).train[1].shape == (2, 142)


def test_table_8_has_what_each_method_uses():
    exact, plain = table_8("EXACT without margin", "car"), table_8("Hinge with normalizer", "car")
    assert (exact.rate.item(), exact.margin.item(), exact.clip.item()) == (pytest.approx(0.05), math.inf, math.inf)
    assert (plain.rate.item(), plain.margin.item(), plain.clip.item()) == (1.0, 0.5, pytest.approx(0.01))
    assert table_8("EXACT", "car").floor.item() == pytest.approx(FLOOR)
    assert table_8("EXACT without floor", "car").floor.item() == 0.0


def test_discordant_rows_are_the_difference_of_the_accuracies(data):
    runs = ({"set": "balance-scale", "method": method} for method in ("EXACT", "Cross-entropy"))
    (exact,), (plain,) = (tabular.run(cell, Scope(data, quick=True)) for cell in runs)
    assert exact["only_exact"] - exact["only_plain"] == pytest.approx((exact["test"] - plain["test"]) / 100.0 * 125)
    assert exact["test_rows"] == 125
