"""-log E[p]: the log of the batch's mean probability, which is no mean over samples."""

import math

import pytest
import torch
from torch.testing import assert_close

import metricfit as mf
from metricfit import functional

SCORES = torch.tensor([[0.5, 0.5], [0.25, 0.75]], dtype=torch.float64).log()
LABELS = torch.tensor([0, 0])
SMOOTHINGS = [mf.smoothing.Softmax(), mf.smoothing.Normal(), mf.smoothing.SoftSet()]


def random_rows(n=12, k=3, dtype=torch.float64):
    random = torch.Generator().manual_seed(0)
    scores = torch.randn(n, k, dtype=dtype, generator=random)
    return scores, torch.randint(k, (n,), generator=random), 0.5 + torch.rand(n, dtype=dtype, generator=random)


def test_by_hand():
    """p = 1/2 and 1/4: the mean is 3/8. With weights 1 and 3 it is (1/2 + 3/4) / 4 = 5/16."""
    loss = mf.MetricLoss("accuracy", link="log_of_mean")
    assert loss(SCORES, LABELS).item() == pytest.approx(-math.log(3 / 8))
    assert loss(SCORES, LABELS, torch.tensor([1.0, 3.0])).item() == pytest.approx(-math.log(5 / 16))
    total = mf.MetricLoss("accuracy", link="log_of_mean", reduction="sum")
    assert total(SCORES, LABELS).item() == pytest.approx(-2 * math.log(3 / 8))  # the mean times the sum of weights
    assert functional.metric_loss(SCORES, LABELS, link="log_of_mean").item() == pytest.approx(-math.log(3 / 8))


def critique_forms(gaps, sigma):
    """1 - E[p], -log E[p] and E[-log p] of the critique, for two classes whose scores differ by so many sigma √2."""
    scores = torch.stack([math.sqrt(2.0) * sigma * gaps, torch.zeros_like(gaps)], 1)
    labels = torch.zeros(len(gaps), dtype=torch.int64)
    losses = [mf.ExactLoss(normalize_scores=False, link=link) for link in ("linear", "log_of_mean", "log")]
    return [loss(scores, labels, scale=sigma).item() for loss in losses]


@pytest.mark.parametrize("sigma", [0.1, 1.0, 7.0])
def test_the_forms_of_the_critique_by_hand(sigma):
    """p = Φ(gap): Φ(1) = 0.841345 and Φ(-1) = 0.158655, whose mean is 1/2 and whose logarithms are -0.172753 and -1.841022."""
    accuracy, log_of_mean, log = critique_forms(torch.tensor([1.0, -1.0], dtype=torch.float64), sigma)
    assert (accuracy, log_of_mean) == (pytest.approx(0.5), pytest.approx(math.log(2.0)))
    assert log == pytest.approx((0.172753 + 1.841022) / 2, rel=1e-6)


def test_the_forms_of_the_critique_meet_where_p_is_near_one():
    """log x ≈ x - 1: with 1 - p = 1 - Φ(3) = 0.00135 and 1 - Φ(3.5) = 0.000233 they differ by less than the square of it."""
    accuracy, log_of_mean, log = critique_forms(torch.tensor([3.0, 3.5], dtype=torch.float64), 1.0)
    assert accuracy == pytest.approx((0.001349898 + 0.000232629) / 2, rel=1e-6)
    assert 0.0 < log_of_mean - accuracy < 0.00135**2
    assert 0.0 < log - log_of_mean < 0.00135**2  # Jensen's inequality


@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=lambda one: type(one).__name__)
def test_the_confusion_matrix_gives_the_same(smoothing):
    """Another way to the same number: accuracy of the matrix, as for metrics that are no mean over samples."""
    scores, labels, weight = random_rows()
    own = mf.metrics.Custom(lambda c: c.diagonal().sum() / c.sum(), limits=(0.0, 1.0))
    shares = torch.nn.functional.one_hot(labels, 3).double()
    for target in (labels, 0.7 * shares + 0.1):
        loss, matrix = mf.MetricLoss("accuracy", smoothing, "log_of_mean"), mf.MetricLoss(own, smoothing, "log")
        assert_close(loss(scores, target, weight), matrix(scores, target, weight))


def test_a_cost_is_averaged_before_the_logarithm():
    """Costs 0 and 2: expected gains are the shares of the worst cost that are saved, here 1/2 and 1/4, and 2 is the span."""
    cost = mf.metrics.Cost([[0.0, 2.0], [2.0, 0.0]])
    assert mf.MetricLoss(cost, link="log_of_mean")(SCORES, LABELS).item() == pytest.approx(-2 * math.log(3 / 8))
    assert mf.MetricLoss(cost, link="log")(SCORES, LABELS).item() == pytest.approx(3 * math.log(2))


def test_there_is_no_loss_of_one_sample():
    for call in (mf.MetricLoss, lambda *args, **options: functional.metric_loss(SCORES, LABELS, *args, **options)):
        with pytest.raises(
            ValueError, match=r'"mean" or "sum" for LogOfMean\(\) of Accuracy\(\), a function of the whole batch'
        ):
            call("accuracy", link="log_of_mean", reduction="none")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_finite_where_every_sample_is_far_off(dtype):
    scores = torch.tensor([[0.0, 60.0], [0.0, 1e4]], dtype=dtype, requires_grad=True)
    value = mf.MetricLoss("accuracy", link="log_of_mean")(scores, torch.tensor([0, 0]))
    (gradient,) = torch.autograd.grad(value, scores)
    assert value.item() == pytest.approx(60.0 + math.log(2.0), rel=1e-6)
    assert gradient[0].tolist() == pytest.approx([-1.0, 1.0], rel=1e-5)
    assert gradient.isfinite().all()
