"""Three algorithms, one answer."""

import pytest
import torch
from torch.testing import assert_close

from metricfit.smoothing import Normal

SCORES = torch.tensor([[0.5, -0.2, 0.1, 1.2], [2.0, 0.0, -1.0, 0.3]], dtype=torch.float64)
LABELS = torch.tensor([0, 3])
ROUNDS = 400  # independent estimates, from whose spread the standard error of their mean is taken


def value_and_gradient(smoothing, scores, labels, margin):
    scores = scores.clone().requires_grad_()
    p = smoothing.label_probability(scores, labels, margin)
    return p.detach(), torch.autograd.grad(p.sum(), scores)[0]


@pytest.mark.parametrize("margin", [None, 0.4])
@pytest.mark.parametrize(("method", "samples"), [("genz", 32), ("monte_carlo", 256)])
def test_sampling_agrees_with_quadrature_within_four_standard_errors(method, samples, margin):
    sampled = Normal(0.7, method, samples=samples, generator=torch.Generator().manual_seed(5))
    rows = SCORES.repeat(ROUNDS, 1)
    estimates = value_and_gradient(sampled, rows, LABELS.repeat(ROUNDS), margin)
    exact = value_and_gradient(Normal(0.7), SCORES, LABELS, margin)
    for estimate, truth in zip(estimates, exact, strict=True):
        estimate = estimate.view(ROUNDS, *truth.shape)
        standard_error = estimate.std(0) / ROUNDS**0.5
        assert ((estimate.mean(0) - truth).abs() <= 4 * standard_error + 1e-12).all()


@pytest.mark.parametrize(("method", "samples", "atol"), [("genz", 4000, 0.01), ("monte_carlo", 100_000, 2 * 100_000**-0.5)])
def test_sampling_assigns_all_classes(method, samples, atol):
    sampled = Normal(method=method, samples=samples, generator=torch.Generator().manual_seed(2))
    assert_close(sampled.assign(SCORES), Normal().assign(SCORES), rtol=0, atol=atol)


def test_the_order_can_be_chosen():
    coarse = Normal(order=8).assign(SCORES) - Normal().assign(SCORES)
    assert 1e-12 < coarse.abs().max() < 1e-2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 4}, r"`samples` applies to method='genz' or 'monte_carlo', got 4 with method='quadrature'"),
        ({"generator": torch.Generator()}, "`generator` applies to method='genz' or 'monte_carlo'"),
        ({"method": "genz", "order": 8}, "`order` applies to method='quadrature', got 8 with method='genz'"),
    ],
)
def test_options_of_another_method_are_not_ignored(options, message):
    with pytest.raises(ValueError, match=message):
        Normal(**options)
