"""Scores and weights at both ends of a dtype's range."""

import contextlib
import itertools

import pytest
import torch
from torch.nn import functional as F

import metricfit as mf
from metricfit.losses import CrossEntropyLoss
from metricfit.numerics import fused

PATHS = {"fused": contextlib.nullcontext, "plain": fused.disable}
DTYPES = [torch.float64, torch.float32, torch.bfloat16]
NORMAL = [mf.smoothing.Normal(method=method) for method in ("quadrature", "genz", "monte_carlo")]
LOSSES = [
    mf.ExactLoss(),
    mf.ExactLoss(normalize_scores=False),
    mf.ExactLoss(normalize_scores=False, margin=1.0, link="log"),
    mf.ExactLoss(0.01, link="leaky"),
    mf.ExpectedErrorLoss(),
    mf.ExpectedErrorLoss(1e-10),
    mf.LeakyExpectedErrorLoss(),
    mf.EastLoss(),
    mf.HingeLoss(),
    mf.DiceLoss(),
    CrossEntropyLoss(),
    mf.MetricLoss("mcc", leak=0.1),
    *(
        mf.MetricLoss(metric, smoothing, link)
        for metric, link in (("accuracy", "linear"), ("accuracy", "log"), ("f1_macro", "log"))
        for smoothing in (*NORMAL, mf.smoothing.Softmax(), mf.smoothing.SoftSet(), mf.smoothing.Hard())
    ),
]
EXACT_LOSSES = [loss for loss in LOSSES if getattr(loss, "smoothing", None) not in NORMAL[1:]]  # without random numbers


def cases(losses, dtypes):
    """Path, loss and dtype: both paths where there is a fused kernel, for normal noise up to float32."""
    found = []
    for loss, dtype in itertools.product(losses, dtypes):
        smoothing = getattr(loss, "smoothing", None)
        has_kernel = dtype != torch.float64 and isinstance(smoothing, mf.smoothing.Normal) and smoothing.method == "quadrature"
        found += [(path, loss, dtype) for path in (PATHS if has_kernel else ["plain"])]
    return found


def value_and_gradient(loss, scores, labels, *args):
    scores = scores.detach().clone().requires_grad_()
    value = loss(scores, labels, *args)
    return value.detach(), torch.autograd.grad(value, scores)[0]


@pytest.fixture(params=PATHS)
def _path(request):
    with PATHS[request.param]():
        yield


@pytest.mark.usefixtures("_path")
@pytest.mark.parametrize("n_classes", [2, 20])
@pytest.mark.parametrize(("_path", "loss", "dtype"), cases(LOSSES, DTYPES), ids=str, indirect=["_path"])
def test_the_largest_scores_give_finite_losses_and_gradients(loss, n_classes, dtype):
    generator = torch.Generator().manual_seed(0)
    signs = torch.randint(-1, 2, (8, n_classes), generator=generator)
    labels = torch.randint(0, n_classes, (8,), generator=generator)
    for share in (1.0, 0.6, 0.3):
        scores = share * torch.finfo(dtype).max * signs.to(dtype)
        value, gradient = value_and_gradient(loss, scores, labels)
        assert value.isfinite()
        assert gradient.isfinite().all()


@pytest.mark.parametrize("loss", [CrossEntropyLoss(), mf.MetricLoss("accuracy", link="log")], ids=str)
@pytest.mark.parametrize("row", [[2e38, 1e38, 0.0], [2e38, 0.0, -1e38], [-3e38, -3e38, 0.0], [3e38, -3e38, 0.0]])
def test_huge_losses_are_those_of_torch_while_they_are_numbers(loss, row):
    scores, label = torch.tensor([row], requires_grad=True), torch.tensor([1])
    expected = F.cross_entropy(scores, label)
    value, gradient = value_and_gradient(loss, scores, label)
    assert value == expected.clamp(max=torch.finfo(torch.float32).max)
    assert gradient.equal(torch.autograd.grad(expected, scores)[0])


@pytest.mark.usefixtures("_path")
@pytest.mark.parametrize(("_path", "loss", "dtype"), cases(EXACT_LOSSES, DTYPES[:2]), ids=str, indirect=["_path"])
def test_a_row_of_weight_zero_has_no_influence(loss, dtype):
    scores = torch.randn(6, 3, dtype=dtype, generator=torch.Generator().manual_seed(0))
    labels, weight = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([1.0, 2.0, 0.0, 1.0, 0.5, 1.0])
    kept = weight > 0
    scores[2] = torch.finfo(dtype).max * torch.tensor([1.0, 0.9, -1.0], dtype=dtype)
    expected, expected_gradient = value_and_gradient(loss, scores[kept], labels[kept], weight[kept])
    value, gradient = value_and_gradient(loss, scores, labels, weight)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient[kept], expected_gradient)
    assert (gradient[2] == 0).all()


@pytest.mark.parametrize("normalize", [False, True])
def test_an_ignored_row_has_no_influence_on_the_fused_loss(normalize):
    scores = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([-100, 1, 2, 0, 1, 2])
    loss = mf.ExactLoss(normalize_scores=normalize)
    expected, expected_gradient = value_and_gradient(loss, scores[1:], labels[1:])
    for size in (1e10, 3e38):
        scores[0] = torch.tensor([size, 0.0, -size])
        value, gradient = value_and_gradient(loss, scores, labels)
        torch.testing.assert_close(value, expected)
        torch.testing.assert_close(gradient[1:], expected_gradient)
        assert (gradient[0] == 0).all()


@pytest.mark.usefixtures("_path")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("with_weight", [False, True])
def test_normalised_scores_have_no_scale(dtype, with_weight):
    """From the smallest normal numbers to the largest; the gradient has the inverse scale."""
    scores = torch.randn(6, 3, dtype=dtype, generator=torch.Generator().manual_seed(0))
    labels, weight = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([1.0, 2.0, 0.0, 1.0, 0.5, 1.0]) if with_weight else None
    expected, expected_gradient = value_and_gradient(mf.ExactLoss(), scores, labels, weight)
    smallest, largest = (-124, 125) if dtype == torch.float32 else (-1020, 1020)
    for exponent in (smallest, smallest // 2, -20, 20, largest // 2, largest):
        factor = 2.0**exponent
        value, gradient = value_and_gradient(mf.ExactLoss(), scores * factor, labels, weight)
        torch.testing.assert_close(value, expected)
        torch.testing.assert_close(gradient.double() * factor, expected_gradient.double(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("exponent", [1000, 1020, -100, -1000, -1070])
@pytest.mark.parametrize(
    "loss", [mf.ExactLoss(), mf.LeakyExpectedErrorLoss(), mf.DiceLoss(), mf.MetricLoss("mcc", leak=0.1)], ids=str
)
def test_only_ratios_of_weights_count_in_a_mean(loss, exponent, dtype):
    scores = torch.randn(6, 3, dtype=dtype, generator=torch.Generator().manual_seed(0))
    labels, weight = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([1.0, 2.0, 0.0, 1.0, 4.0, 1.0], dtype=torch.float64)
    expected = value_and_gradient(loss, scores, labels, weight)
    torch.testing.assert_close(value_and_gradient(loss, scores, labels, weight * 2.0**exponent), expected)


@pytest.mark.parametrize("metric", ["accuracy", "mcc"])
def test_weights_whose_sum_is_no_number_are_refused(metric):
    scores, labels, weight = torch.zeros(2, 2), torch.tensor([0, 1]), torch.tensor([3e38, 3e38])
    with pytest.raises(
        ValueError, match=r"The weights of 2 rows should sum to less than 2e\+19 .* Divide them by the largest"
    ):
        mf.MetricLoss(metric, reduction="sum")(scores, labels, weight)
    assert mf.MetricLoss(metric)(scores, labels, weight).isfinite()


@pytest.mark.usefixtures("_path")
@pytest.mark.parametrize("n_classes", [2, 5, 20])
def test_a_gap_at_the_margin_has_a_gradient(n_classes):
    """As with ``torch.clamp``; otherwise equal scores and a margin of zero would never move."""
    scores, labels = torch.zeros(3, n_classes), torch.tensor([0, 1, 1])
    _, expected = value_and_gradient(mf.ExactLoss(normalize_scores=False), scores, labels)
    _, gradient = value_and_gradient(mf.ExactLoss(normalize_scores=False, margin=0.0), scores, labels)
    assert expected[0, 0] < -0.01
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("name", ["precision_macro", "precision_weighted", "f1_weighted", "fowlkes_mallows_macro"])
@pytest.mark.parametrize("smoothing", [mf.smoothing.Softmax(), mf.smoothing.SoftSet(1e-30)], ids=str)
def test_a_class_that_is_hardly_predicted_has_a_finite_gradient(name, smoothing):
    for gap in (60.0, 80.0, 88.0, 95.0, 100.0, 104.0):
        scores = torch.tensor([[gap, 0.0, 0.0], [gap, 0.0, 0.0]])
        _, gradient = value_and_gradient(mf.MetricLoss(name, smoothing), scores, torch.tensor([0, 1]))
        assert gradient.isfinite().all()


def test_the_correlation_stays_within_its_bounds_beside_tiny_weights():
    loss = mf.MetricLoss("mcc", mf.smoothing.Hard())
    for seed in range(200):
        random = torch.Generator().manual_seed(seed)
        weight = 10.0 ** (60.0 * torch.rand(12, dtype=torch.float64, generator=random) - 60.0)
        scores = torch.randn(12, 2, dtype=torch.float64, generator=random)
        assert -1e-6 <= loss(scores, torch.randint(0, 2, (12,), generator=random), weight) <= 2.0 + 1e-6


def test_a_huge_leak_keeps_the_gradient_of_its_sum():
    scores, labels = torch.tensor([[3e38, -3e38, 0.0], [0.0, 3e38, -3e38]]), torch.tensor([1, 0])
    for leak_weight in (None, torch.tensor([0.3, 1.0, 1.0])):
        loss = mf.MetricLoss("mcc", leak=0.1, leak_weight=leak_weight, reduction="sum")
        value, gradient = value_and_gradient(loss, scores, labels)
        assert value.isfinite()
        assert gradient.abs().max() < 1.0


def test_a_memory_of_tiny_weights_gives_finite_gradients():
    loss, scores, weight = mf.MetricLoss("jaccard_micro", memory=0.9), torch.randn(3, 4), torch.full((3,), 1e-44)
    for _ in range(2):
        value, gradient = value_and_gradient(loss, scores, torch.tensor([0, 1, 2]), weight)
        assert value.isfinite()
        assert gradient.isfinite().all()


@pytest.mark.parametrize("temperature", [1e-300, 1e-30, 1e-10])
@pytest.mark.parametrize("link", ["linear", "log", "leaky(3)"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_soft_sets_of_tiny_temperature_have_finite_gradients(temperature, link, dtype):
    scores = torch.tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.5, 0.0]], dtype=dtype)
    loss = mf.MetricLoss("accuracy", mf.smoothing.SoftSet(temperature), link, reduction="sum")
    value, gradient = value_and_gradient(loss, scores, torch.tensor([0, 2, 1]), torch.full((3,), 1e15))
    assert value.isfinite()
    assert gradient.isfinite().all()
