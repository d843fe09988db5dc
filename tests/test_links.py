import pytest
import torch
from torch.testing import assert_close

from metricfit import links

P = torch.tensor([0.01, 0.3, 0.9, 1.0], dtype=torch.float64)


def test_formulas():
    log_p = P.log()
    assert_close(links.Linear()(P, log_p), 1 - P)
    assert_close(links.Log()(P, log_p), -log_p)
    assert_close(links.LogOfMean()(P.mean(), P.mean().log()), -P.mean().log())
    assert_close(links.Leaky(0.3)(P, log_p), (1 - P) - 0.3 * log_p)
    assert_close(links.Power(0.4)(P, log_p), (1 - P**0.4) / 0.4)


def test_power_runs_from_cross_entropy_to_expected_error():
    assert_close(links.Power(1.0)(P, P.log()), 1 - P)
    assert_close(links.Power(1e-9)(P, P.log()), -P.log(), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("link", [links.Linear(), links.Log(), links.LogOfMean(), links.Power(0.2)])
def test_zero_with_slope_minus_one_at_the_best(link):
    p = torch.ones((), dtype=torch.float64, requires_grad=True)
    value = link(p, p.log())
    assert value.item() == 0.0
    assert torch.autograd.grad(value, p)[0].item() == pytest.approx(-1.0)


def test_names():
    assert links.get("leaky(0.25)") == links.Leaky(0.25)
    assert links.get(links.Log()) == links.Log()
    with pytest.raises(TypeError, match="`link` should be a name or a link"):
        links.get(None)
    with pytest.raises(ValueError, match="`alpha` should be at least 0"):
        links.Leaky(-1)
