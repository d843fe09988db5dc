"""A leak of cross-entropy under any metric, with offsets that only the metric sees."""

import pickle

import pytest
import torch
from torch import nn

import metricfit as mf
from metricfit import functional, metrics
from metricfit.smoothing import Normal, Softmax

torch.manual_seed(0)
SCORES, LABELS = torch.randn(30, 3, dtype=torch.float64), torch.arange(30) % 3
WEIGHT = torch.rand(30, dtype=torch.float64) + 0.5


def cross_entropy(weight=None):
    losses = nn.functional.cross_entropy(SCORES, LABELS, reduction="none")
    return losses.mean() if weight is None else (losses * weight).sum() / weight.sum()


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_with_accuracy_under_the_softmax_it_is_leaky_expected_error(alpha, reduction):
    leaked = mf.MetricLoss("accuracy", leak=alpha, reduction=reduction)(SCORES, LABELS)
    torch.testing.assert_close(leaked, mf.LeakyExpectedErrorLoss(alpha, reduction=reduction)(SCORES, LABELS))


@pytest.mark.parametrize(
    "metric", ["accuracy", "mcc", "f1_macro", metrics.Cost([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 1.0, 0.0]])]
)
@pytest.mark.parametrize("smoothing", [Softmax(0.3), Normal(0.4)])
def test_it_adds_cross_entropy_of_the_scores_without_offsets(metric, smoothing):
    offsets = torch.tensor([0.3, -0.1, -0.2], dtype=torch.float64)
    leaked = mf.MetricLoss(metric, smoothing, leak=0.2, offsets=offsets)(SCORES, LABELS, WEIGHT)
    alone = mf.MetricLoss(metric, smoothing)(SCORES + offsets, LABELS, WEIGHT)
    torch.testing.assert_close(leaked, alone + 0.2 * cross_entropy(WEIGHT))
    by_function = functional.metric_loss(SCORES, LABELS, metric, smoothing, leak=0.2, offsets=offsets, sample_weight=WEIGHT)
    assert by_function == leaked


@pytest.mark.parametrize("metric", ["accuracy", "mcc"])
def test_leak_weight_counts_in_cross_entropy_alone(metric):
    per_class = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
    leaked = mf.MetricLoss(metric, leak=0.5, leak_weight=per_class)(SCORES, LABELS, WEIGHT)
    torch.testing.assert_close(
        leaked, mf.MetricLoss(metric)(SCORES, LABELS, WEIGHT) + 0.5 * cross_entropy(WEIGHT * per_class[LABELS])
    )


def test_class_probabilities_as_targets():
    shares = torch.softmax(torch.randn(30, 3, dtype=torch.float64), 1)
    leaked = mf.MetricLoss("mcc", leak=0.5)(SCORES, shares)
    torch.testing.assert_close(
        leaked, mf.MetricLoss("mcc")(SCORES, shares) + 0.5 * nn.functional.cross_entropy(SCORES, shares)
    )


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro"])
def test_gradients_by_scores_and_offsets(metric):
    def loss(scores, offsets):
        return functional.metric_loss(scores, LABELS[:6], metric, Softmax(0.5), leak=0.3, offsets=offsets)

    leaves = SCORES[:6].clone().requires_grad_(), torch.tensor([0.1, 0.2, -0.3], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, leaves)


def test_offsets_given_as_a_parameter_are_trained():
    loss = mf.MetricLoss("balanced_accuracy", leak=0.1, offsets=nn.Parameter(torch.zeros(3)))
    assert [name for name, _ in loss.named_parameters()] == ["offsets"]
    loss(SCORES.float(), LABELS).backward()
    assert loss.offsets.grad.abs().sum() > 0.0
    assert "offsets" in mf.MetricLoss("mcc", offsets=torch.zeros(3)).state_dict()


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="`leak` should be at least 0, got -1"):
        mf.MetricLoss("mcc", leak=-1)
    with pytest.raises(ValueError, match=r"`offsets` should have shape \(3,\), got \(2,\)"):
        mf.MetricLoss("mcc", offsets=torch.zeros(2))(SCORES, LABELS)
    with pytest.raises(TypeError, match="`leak_weight` should be a"):
        mf.MetricLoss("mcc", leak=0.1, leak_weight=[1, 2, 3])


def test_an_attribute_that_changes_after_a_call_counts():
    """The objective is kept between calls; a changed option, dtype or copy has to build it again."""
    loss = mf.MetricLoss("accuracy", Normal(), offsets=torch.zeros(3))
    before = loss(SCORES, LABELS)
    loss.margin = 0.1
    torch.testing.assert_close(loss(SCORES, LABELS), mf.MetricLoss("accuracy", Normal(), margin=0.1)(SCORES, LABELS))
    loss.margin, loss.offsets = None, torch.tensor([1.0, 0.0, 0.0])
    moved = loss(SCORES, LABELS)
    assert moved != before
    loss.offsets.zero_()
    assert loss(SCORES, LABELS) == before
    loss.double()
    loss.offsets[0] = 1.0
    torch.testing.assert_close(loss(SCORES, LABELS), moved)
    twin = pickle.loads(pickle.dumps(loss))
    twin.offsets.zero_()
    assert (twin(SCORES, LABELS), loss(SCORES, LABELS)) == (before, moved)
