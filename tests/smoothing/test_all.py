"""What every smoothing keeps to."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from metricfit.smoothing import Hard, Normal, Softmax, SoftSet

SOFT = [Softmax(0.7), Normal(0.8), SoftSet(0.3)]
ALL = [*SOFT, Hard()]
SAMPLED = [Normal(method=method, samples=64, generator=torch.Generator().manual_seed(0)) for method in ("genz", "monte_carlo")]


def random_scores(n=6, k=4, seed=0, dtype=torch.float64):
    random = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(n, k, dtype=dtype, generator=random), torch.randint(k, (n,), generator=random)


@pytest.mark.parametrize("smoothing", ALL, ids=str)
def test_rows_sum_to_one(smoothing):
    for dtype, atol in ((torch.float64, 1e-14), (torch.float32, 1e-6)):
        assignment = smoothing.assign(random_scores(dtype=dtype)[0])
        assert_close(assignment.sum(1), torch.ones(6, dtype=dtype), rtol=0, atol=atol)
        assert (assignment >= 0).all()


@pytest.mark.parametrize("smoothing", ALL, ids=str)
def test_the_four_methods_agree(smoothing):
    scores, labels = random_scores()
    assignment = smoothing.assign(scores)
    chosen = assignment.gather(1, labels[:, None]).squeeze(1)
    assert_close(smoothing.label_probability(scores, labels), chosen, rtol=1e-12, atol=1e-13)
    assert_close(smoothing.log_assign(scores).exp(), assignment, rtol=1e-12, atol=1e-13)
    assert_close(smoothing.log_label_probability(scores, labels).exp(), chosen, rtol=1e-12, atol=1e-13)
    assert_close(smoothing(scores), assignment)


@pytest.mark.parametrize("smoothing", ALL, ids=str)
def test_only_differences_of_scores_count(smoothing):
    scores, _ = random_scores()
    assert_close(
        smoothing.assign(scores + torch.randn(6, 1, dtype=torch.float64)), smoothing.assign(scores), rtol=1e-11, atol=1e-13
    )


@pytest.mark.parametrize("smoothing", ALL, ids=str)
def test_relabelling_classes_permutes_the_assignment(smoothing):
    scores, _ = random_scores()
    order = torch.tensor([2, 0, 3, 1])
    assert_close(smoothing.assign(scores[:, order]), smoothing.assign(scores)[:, order])


@pytest.mark.parametrize("smoothing", SOFT, ids=str)
def test_raising_a_score_never_lowers_its_share(smoothing):
    scores, labels = random_scores()
    raised = [
        smoothing.label_probability(scores.scatter_add(1, labels[:, None], torch.full((6, 1), step).double()), labels)
        for step in torch.linspace(-6, 6, 60)
    ]
    assert (torch.stack(raised).diff(dim=0) >= -1e-13).all()


@pytest.mark.parametrize("smoothing", SOFT, ids=str)
def test_the_limit_is_the_hard_decision(smoothing):
    scores, _ = random_scores(n=200)
    assert_close(smoothing.assign(scores, scale=1e-9), Hard().assign(scores), rtol=0, atol=1e-6)


@pytest.mark.parametrize("smoothing", SOFT, ids=str)
def test_gradcheck_by_scores_and_scale(smoothing):
    scores, labels = random_scores()
    scores.requires_grad_()
    scale = torch.linspace(0.1, 0.35, 6, dtype=torch.float64, requires_grad=True)
    for function in (
        lambda s, w: smoothing.assign(s, w),
        lambda s, w: smoothing.log_assign(s, w),
        lambda s, w: smoothing.label_probability(s, labels, None, w),
        lambda s, w: smoothing.log_label_probability(s, labels, None, w),
        lambda s, w: smoothing.log_label_probability(s, labels, 0.6, w),
    ):
        assert torch.autograd.gradcheck(function, (scores, scale))
        assert torch.autograd.gradcheck(function, (scores, scale.detach()[:1].squeeze().clone().requires_grad_()))


@pytest.mark.parametrize("smoothing", [Normal(), *SAMPLED], ids=str)
def test_second_derivative_of_normal_noise_says_that_there_is_none(smoothing):
    scores, labels = random_scores()
    scores.requires_grad_()
    for value in (smoothing.log_label_probability(scores, labels).sum(), smoothing.assign(scores).square().sum()):
        (gradient,) = torch.autograd.grad(value, scores, create_graph=True)
        with pytest.raises(RuntimeError, match="`Normal` has first derivatives only"):
            gradient.sum().backward()


@pytest.mark.parametrize("smoothing", [*SOFT, *SAMPLED], ids=str)
def test_the_margin_caps_what_a_lead_is_worth(smoothing):
    scores = torch.tensor([[5.0, 0.0, 1.0]], dtype=torch.float64)
    label = torch.tensor([0])
    torch.manual_seed(0)
    capped = smoothing.label_probability(scores, label, margin=0.5)
    small = smoothing.label_probability(torch.tensor([[0.5, 0.0, 0.0]], dtype=torch.float64), label)
    if smoothing in SOFT:
        assert_close(capped, small)
    assert capped < smoothing.label_probability(scores, label)
    # and leaves a label that is behind alone
    behind = torch.tensor([1])
    if smoothing in SOFT:
        assert_close(smoothing.label_probability(scores, behind, margin=0.5), smoothing.label_probability(scores, behind))


@pytest.mark.parametrize("smoothing", SOFT, ids=str)
def test_confidently_wrong_keeps_its_gradient(smoothing):
    scores = torch.tensor([[300.0, -300.0, 0.0]], requires_grad=True)
    log_p = smoothing.log_label_probability(scores, torch.tensor([1]))
    (gradient,) = torch.autograd.grad(log_p.sum(), scores)
    assert log_p.item() < -100
    assert gradient[0, 1] > 0.5
    assert gradient[0, 0] < -0.5


@pytest.mark.parametrize("smoothing", ALL, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(smoothing, dtype):
    scores, labels = random_scores(dtype=torch.float32)
    scores = scores.to(dtype).requires_grad_()
    value = smoothing.label_probability(scores, labels)
    assert value.dtype == torch.float32
    assert_close(value, smoothing.label_probability(scores.float(), labels))
    value.sum().backward()
    assert scores.grad.dtype == dtype


@pytest.mark.parametrize("smoothing", ALL, ids=str)
def test_no_rows(smoothing):
    scores, labels = torch.empty(0, 3, requires_grad=True), torch.empty(0, dtype=torch.long)
    assert smoothing.assign(scores).shape == (0, 3)
    smoothing.log_label_probability(scores, labels).sum().backward()
    assert scores.grad.shape == (0, 3)


def test_width_is_a_buffer_and_may_be_learned():
    assert Softmax(0.3).state_dict()["temperature"] == 0.3
    scores, labels = random_scores()
    learned = Normal(torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64)))
    learned.log_label_probability(scores, labels).sum().backward()
    assert learned.scale.grad.isfinite()
    fixed = Normal(scores.new_tensor([0.5, 1.0, 2.0, 0.5, 1.0, 2.0]))
    assert_close(fixed.assign(scores)[1], Normal(1.0).assign(scores)[1])


def test_numbers_of_any_kind_will_do():
    for one in (1, np.float32(1), np.int64(1), torch.tensor(1.0)):
        assert Normal(one).scale.item() == 1.0


def test_a_learned_width_is_checked_in_every_call():
    width = torch.nn.Parameter(torch.tensor(1.0))
    smoothing = Normal(width)
    with torch.no_grad():
        width.fill_(-1.0)
    with pytest.raises(ValueError, match="`scale` should be positive and finite, got -1"):
        smoothing.assign(torch.zeros(1, 2))


def test_a_device_without_float64_takes_the_width_in_float32():
    def to_such_a_device(tensor):
        if tensor.dtype == torch.float64:
            raise TypeError("no float64 here")
        return tensor

    assert Normal(0.5)._apply(to_such_a_device).scale.dtype == torch.float32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Softmax(0.0), ValueError, r"`temperature` should be greater than 0, got 0.0"),
        (lambda: Softmax("warm"), TypeError, r"`temperature` should be a number, got 'warm'"),
        (lambda: SoftSet(0.4), ValueError, r"`temperature` should be between 0 and 0.4, got 0.4"),
        (lambda: Normal(method="quadratur"), ValueError, r"got 'quadratur'. Did you mean 'quadrature'\?"),
        (lambda: Normal(order=2), ValueError, r"`order` should be an integer of at least 4, got 2"),
        (lambda: Normal().assign([[0.0, 1.0]]), TypeError, r"`scores` should be a torch.Tensor, got list"),
        (lambda: Normal().assign(torch.zeros(3, 2).long()), TypeError, r"`scores` should have a floating-point dtype, got torch.int64"),
        (lambda: Normal().assign(torch.zeros(3)), ValueError, r"shape \(n, k\) with k >= 2, got \(3,\).*binary_scores"),
        (lambda: Normal().assign(torch.zeros(3, 1)), ValueError, r"got \(3, 1\)"),
        (lambda: Normal().assign(torch.tensor([[0.0, float("nan")]])), ValueError, r"`scores` should be finite, got 1 NaN or infinite of 2"),
        (lambda: Normal().assign(torch.zeros(3, 2), scale=-1.0), ValueError, r"`scale` should be positive and finite, got -1"),
        (lambda: Normal().assign(torch.zeros(3, 2), scale=torch.ones(2)), ValueError, r"`scale` should be a number or have shape \(3,\), got \(2,\)"),
        (lambda: Normal().label_probability(torch.zeros(3, 2), torch.zeros(3)), TypeError, r"`labels` should have an integer dtype, got torch.float32"),
        (lambda: Normal().label_probability(torch.zeros(3, 2), torch.zeros(2).long()), ValueError, r"`labels` should have shape \(3,\).*got \(2,\)"),
        (lambda: Normal().label_probability(torch.zeros(1, 2), torch.tensor([2])), ValueError, r"`labels` should lie in 0 ... 1 for scores of 2 classes, got 2 ... 2"),
        (lambda: Normal().label_probability(torch.zeros(1, 2), torch.tensor([1]), margin=-1), ValueError, r"`margin` should be at least 0, got -1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("k", [2, 5, 15, 16, 17])
@pytest.mark.parametrize("n", [3, 700])  # few and many rows, few and many classes take other ways through torch
def test_softmax_is_the_formula_for_any_number_of_rows_and_classes(n, k):
    scores, labels = random_scores(n, k)
    scores.requires_grad_()
    powers = (scores / 0.7).exp()
    expected = powers / powers.sum(1, keepdim=True)
    for found, wanted in (
        (Softmax(0.7).assign(scores), expected),
        (Softmax(0.7).log_label_probability(scores, labels), expected[torch.arange(n), labels].log()),
    ):
        assert_close(found, wanted, rtol=1e-12, atol=1e-13)
        weight = torch.linspace(-1.0, 2.0, found.numel(), dtype=found.dtype).view_as(found)
        gradients = [torch.autograd.grad((one * weight).sum(), scores, retain_graph=True)[0] for one in (found, wanted)]
        assert_close(*gradients, rtol=1e-11, atol=1e-12)
