"""With softmax, accuracy and the log link, the loss is cross-entropy: torch is the reference for every layout and option."""

import itertools

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import metricfit as mf

WEIGHT = torch.tensor([0.5, 2.0, 1.0, 0.25], dtype=torch.float64)


def cross_entropy(**options):
    return mf.MetricLoss("accuracy", mf.smoothing.Softmax(), "log", **options)


def layouts():
    random = torch.Generator().manual_seed(0)
    for shape in [(4,), (6, 4), (5, 4, 3), (2, 4, 3, 2)]:
        scores = torch.randn(shape, dtype=torch.float64, generator=random)
        class_dim = min(1, len(shape) - 1)
        labels = torch.randint(4, shape[:class_dim] + shape[class_dim + 1 :], generator=random)
        yield pytest.param(scores, labels, id=f"labels{shape}")
        yield pytest.param(
            scores, torch.rand(shape, dtype=torch.float64, generator=random).softmax(class_dim), id=f"shares{shape}"
        )


@pytest.mark.parametrize(("scores", "target"), list(layouts()))
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_every_layout_and_option(scores, target, reduction):
    for weight, smoothing in itertools.product([None, WEIGHT], [0.0, 0.3]):
        options = {"weight": weight, "label_smoothing": smoothing, "reduction": reduction}
        a, b = (scores.clone().requires_grad_() for _ in range(2))
        ours, theirs = cross_entropy(**options, mode="multiclass")(a, target), nn.CrossEntropyLoss(**options)(b, target)
        assert_close(ours, theirs)
        ours.sum().backward()
        theirs.sum().backward()
        assert_close(a.grad, b.grad)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
def test_ignored_rows(reduction, label_smoothing):
    scores, target = torch.randn(3, 4, 5, dtype=torch.float64), torch.randint(4, (3, 5))
    target[0, :3] = 7
    options = {"ignore_index": 7, "weight": WEIGHT, "reduction": reduction, "label_smoothing": label_smoothing}
    assert_close(cross_entropy(**options)(scores, target), nn.CrossEntropyLoss(**options)(scores, target))


def test_sample_weight_counts_rows():
    scores, target = torch.randn(4, 3, dtype=torch.float64), torch.tensor([0, 1, 2, 1])
    weight = torch.tensor([1, 3, 0, 2])
    assert_close(
        cross_entropy()(scores, target, sample_weight=weight.double()),
        nn.CrossEntropyLoss()(scores.repeat_interleave(weight, 0), target.repeat_interleave(weight)),
    )


def test_pixels_may_have_weights_and_scales():
    scores, target = torch.randn(2, 3, 4, dtype=torch.float64), torch.randint(3, (2, 4))
    weight, scale = torch.rand(2, 4).double(), 0.5 + torch.rand(2, 4).double()
    flat = scores.movedim(1, -1).reshape(-1, 3)
    assert_close(
        mf.MetricLoss("mcc")(scores, target, weight, scale),
        mf.MetricLoss("mcc")(flat, target.reshape(-1), weight.reshape(-1), scale.reshape(-1)),
    )


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("name", ["exact", "metric", "hinge", "dice", "east", "cost"])
def test_one_hot_targets_are_labels(name, weight):
    scores, target = torch.randn(8, 4, dtype=torch.float64), torch.randint(4, (8,))
    loss = {
        "exact": mf.ExactLoss(link="leaky"),
        "metric": mf.MetricLoss("f1_macro", mf.smoothing.Normal()),
        "hinge": mf.HingeLoss(),
        "dice": mf.DiceLoss(),
        "east": mf.EastLoss("mcc"),
        "cost": mf.MetricLoss(mf.metrics.Cost(torch.rand(4, 4)), link="log"),
    }[name]
    one_hot = nn.functional.one_hot(target, 4).double()
    assert_close(loss(scores, one_hot), loss(scores, target), rtol=1e-9, atol=1e-11)
