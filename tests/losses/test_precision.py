"""Where rounding, not mathematics, would decide: large batches, common offsets, values at their bounds."""

import itertools

import pytest
import torch
from torch.testing import assert_close

import metricfit as mf

CONFUSABLE = mf.metrics.Cost([[0.0, 0.1, 0.7], [0.1, 0.0, 0.1], [0.7, 0.1, 0.0]])


@pytest.mark.parametrize("link", ["log", "leaky", "power(0.3)"])
@pytest.mark.parametrize(
    "metric", ["mcc", "kappa", "informedness", "f1_macro", "g_mean", CONFUSABLE, mf.metrics.Cost(torch.ones(3, 3))], ids=str
)
def test_links_are_not_steepened_by_rounding(metric, link):
    """A metric at its worst value is a difference of rounding errors; its logarithm must not take them seriously."""
    for gap in (0.0, 5.0, 12.0, 17.0, 20.0, 40.0, 60.0):
        scores = torch.zeros(6, 3)
        scores[torch.arange(6), (torch.arange(6) + 1) % 3] = gap  # all wrong
        scores.requires_grad_()
        loss = mf.MetricLoss(metric, link=link)
        value = loss(scores, torch.arange(6) % 3)
        (gradient,) = torch.autograd.grad(value, scores)
        assert gradient.abs().max() < 1e3, gap
        assert value.item() <= 2 * loss(scores.double(), torch.arange(6) % 3).item() + 1e-6


def test_a_cost_near_its_worst_keeps_its_digits():
    scores = torch.tensor([[0.0, 0.0, 20.0]])
    single, double = (mf.MetricLoss(CONFUSABLE, link="log")(s, torch.tensor([0])).item() for s in (scores, scores.double()))
    assert single == pytest.approx(double, rel=1e-5)


def test_counting_does_not_stop():
    n = 1_000_000
    share = torch.tensor([0.9, 0.1]).expand(n, 2)
    matrix = mf.confusion_matrix(share, torch.zeros(n, dtype=torch.long))
    # 256 additions in a row are off by at most 128 units in the last place; without blocks it would be 0.7 %
    assert_close(matrix[0], torch.tensor([0.9, 0.1]) * n, rtol=128 * torch.finfo(torch.float32).eps, atol=0)
    n = 2**24 + 1000
    hard = torch.tensor([1.0, 0.0]).expand(n, 2)
    assert mf.confusion_matrix(hard, torch.zeros(n, dtype=torch.long))[0, 0].item() == n


@pytest.mark.parametrize("name", mf.metrics.names())
def test_rare_classes_in_float32(name):
    metric = mf.metrics.get(name)
    for counts in ([[9999990.0, 5.0], [3.0, 2.0]], [[284315.0, 0.0], [492.0, 0.0]], [[284300.0, 15.0], [100.0, 392.0]]):
        assert metric(torch.tensor(counts)).item() == pytest.approx(metric(torch.tensor(counts).double()).item(), abs=1e-6)


@pytest.mark.parametrize("smoothing", [mf.smoothing.Softmax(0.01), mf.smoothing.Normal(0.01), mf.smoothing.SoftSet()], ids=str)
def test_an_offset_common_to_all_scores_costs_no_digits(smoothing):
    scores = torch.tensor([[9999.99, 10000.0, -1e4]])
    exact = smoothing.assign(scores.double())
    assert_close(smoothing.assign(scores).double(), exact, rtol=0, atol=1e-6)
    assert_close(smoothing.log_assign(scores).exp().double(), exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("metric", ["accuracy", "mcc"])
def test_sum_is_a_sum_also_by_the_weights(metric):
    scores = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.rand(5, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 1, 2, 1, 0])
    loss = mf.MetricLoss(metric, link="log", reduction="sum")
    assert torch.autograd.gradcheck(lambda s, w: loss(s, labels, w), (scores, weight))
    assert_close(loss(scores, labels, weight), mf.MetricLoss(metric, link="log")(scores, labels, weight) * weight.sum())


@pytest.mark.parametrize("smoothing", [mf.smoothing.Softmax(), mf.smoothing.Normal(), mf.smoothing.SoftSet()], ids=str)
@pytest.mark.parametrize("scale", [1e-5, 1e-20, 1e-37])
def test_any_width_has_finite_gradients(smoothing, scale):
    for name, link in itertools.product(["accuracy", "f1_macro"], ["linear", "log"]):
        scores = torch.randn(8, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
        width = torch.tensor(scale, requires_grad=True)
        mf.MetricLoss(name, smoothing, link)(scores, torch.arange(8) % 3, scale=width).backward()
        assert scores.grad.isfinite().all(), (name, link)
        assert width.grad.isfinite(), (name, link)


def test_every_name_of_accuracy_takes_its_link_sample_by_sample():
    scores, labels = torch.randn(9, 3, dtype=torch.float64), torch.arange(9) % 3
    expected = torch.nn.functional.cross_entropy(scores, labels)
    for name in (
        "accuracy",
        "f1_micro",
        "f2_micro",
        "recall_micro",
        "precision_micro",
        "recall_weighted",
        "fowlkes_mallows_micro",
    ):
        assert_close(mf.MetricLoss(name, link="log")(scores, labels), expected)


def test_the_linear_loss_of_soft_targets_is_the_mixture_of_its_parts():
    scores, labels = torch.randn(6, 4), torch.arange(6) % 4
    smoothed = mf.ExactLoss(label_smoothing=0.2)(scores, labels)
    parts = [mf.ExactLoss(reduction="none")(scores, torch.full((6,), c)) for c in range(4)]
    share = 0.8 * torch.nn.functional.one_hot(labels, 4) + 0.05
    assert_close(smoothed, (share * torch.stack(parts, 1)).sum(1).mean())
