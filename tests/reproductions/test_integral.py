"""Appendix C's integral, which has a value that can be had by other means."""

import pytest
import torch

import metricfit as mf
from reproductions.exact_2022._estimates import by_mpmath, by_smoothing, drawing


def test_quadrature_has_the_digits_of_mpmath():
    ours, exact = by_smoothing(mf.smoothing.Normal()), by_mpmath()
    assert exact.value.item() == pytest.approx(6.0320738e-4, rel=1e-7)
    torch.testing.assert_close(ours.value, exact.value, rtol=0.0, atol=1e-17)
    torch.testing.assert_close(ours.gradient, exact.gradient, rtol=0.0, atol=1e-17)


@pytest.mark.parametrize("method", ["Genz", "plain Genz", "Monte-Carlo"])
def test_random_methods_mean_the_integral(method):
    """Within four standard errors of their mean, value and gradient."""
    n_rows, truth = 2000, by_smoothing(mf.smoothing.Normal())
    for drawn, exact in zip(drawing(method, 64)(n_rows), truth, strict=True):
        off = (drawn.mean(0) - exact).abs()
        assert (off <= 4.0 * drawn.std(0) / n_rows**0.5).all()
