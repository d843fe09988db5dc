"""Every smoothing, every metric name, every link: gradients by scores, scale and sample weight in float64.

A loss is a chain of these three, and the chain rule is autograd's. So not all triples are tested, but each part, and the places
where code depends on two of them: accuracy has its own path from each smoothing to each link.
"""

import pytest
import torch

import metricfit as mf

SMOOTHINGS = {
    "softmax": mf.smoothing.Softmax(),
    "normal": mf.smoothing.Normal(),
    "soft_set": mf.smoothing.SoftSet(),
    "hard": mf.smoothing.Hard(),
}
LINKS = ["linear", "log", "log_of_mean", "leaky(0.1)", "power(0.5)"]
TRIPLES = dict.fromkeys(
    [
        *((smoothing, "accuracy", link) for smoothing in SMOOTHINGS for link in LINKS),
        *((smoothing, "f1_macro", "linear") for smoothing in SMOOTHINGS),
        *(("softmax", "mcc", link) for link in LINKS),  # a metric from -1 to 1 is rescaled for its link
        *(("softmax", metric, "leaky(0.1)") for metric in mf.metrics.names()),
    ]
)
LABELS = torch.tensor([0, 1, 1, 0, 1, 0])


def inputs(smoothing: str):
    random = torch.Generator().manual_seed(0)  # its hard decisions fill all four cells
    scores = torch.randn(6, 2, dtype=torch.float64, generator=random).requires_grad_()
    weight = (0.5 + torch.rand(6, dtype=torch.float64, generator=random)).requires_grad_()
    low, high = (0.1, 0.3) if smoothing == "soft_set" else (0.4, 1.5)
    scale = torch.linspace(low, high, 6, dtype=torch.float64).requires_grad_()
    return scores, weight, scale


@pytest.mark.parametrize(("smoothing", "metric", "link"), TRIPLES)
def test_names(smoothing, metric, link):
    loss = mf.MetricLoss(metric, SMOOTHINGS[smoothing], link)
    scores, weight, scale = inputs(smoothing)
    if smoothing == "hard":  # it has no width, and its derivative by the scores is zero
        assert torch.autograd.gradcheck(lambda s, w: loss(s, LABELS, w), (scores, weight))
    else:
        assert torch.autograd.gradcheck(lambda s, w, c: loss(s, LABELS, w, c), (scores, weight, scale))


@pytest.mark.parametrize(
    "loss",
    [
        mf.ExactLoss(margin=0.6, link="leaky"),
        mf.ExactLoss(label_smoothing=0.1),
        mf.MetricLoss(mf.metrics.Cost([[0.0, 1.0], [3.0, 0.5]]), mf.smoothing.Normal(), "log"),
        mf.MetricLoss(mf.metrics.Cost([[0.0, 1.0], [3.0, 0.5]]), mf.smoothing.Normal(), "log_of_mean"),
        mf.ExactLoss(margin=0.6, link="log_of_mean"),
        mf.ExactLoss(link="log_of_mean", label_smoothing=0.1),
        mf.MetricLoss(lambda c: c.diagonal().prod() / c.sum() ** 2, mf.smoothing.Normal()),
        mf.MetricLoss(mf.metrics.FBeta([0.25, 5.0]), margin=0.4, normalize_scores=True),
        mf.HingeLoss(),
        mf.DiceLoss(label_smoothing=0.1),
        mf.DiceLoss(),
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_others(loss):
    scores, weight, _ = inputs("softmax")
    assert torch.autograd.gradcheck(lambda s, w: loss(s, LABELS, w), (scores, weight))


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro", "mcc", "g_mean"])
@pytest.mark.parametrize("smoothing", ["softmax", "soft_set"])
def test_second_derivatives(smoothing, metric):
    loss = mf.MetricLoss(metric, SMOOTHINGS[smoothing], "leaky")
    scores, _, _ = inputs(smoothing)
    assert torch.autograd.gradgradcheck(lambda s: loss(s, LABELS), scores)
