"""Equations (3) to (5) of EAST, computed by hand and by a plain loop."""

import pytest
import torch
from torch.testing import assert_close

from metricfit.smoothing import SoftSet


def log(*p):
    return torch.tensor([p], dtype=torch.float64).log()


@pytest.mark.parametrize(
    ("p", "temperature", "expected"),
    [
        # tau = 0.45, tau_m = 5 * 0.2 * 0.45 = 0.45: corners at 0.225 and 0.675; m1 = 0.2 / 0.225, m2 = 0.6 / 0.45
        # 0.1 -> 0.1 * 0.2 / 0.225 = 0.08889; 0.3 -> 0.5 - 0.15 * 4/3 = 0.3; 0.6 -> 0.5 + 0.15 * 4/3 = 0.7; sum 1.08889
        ((0.1, 0.3, 0.6), 0.2, (0.08163265, 0.27551020, 0.64285714)),
        # tau = 0.5, tau_m = 0.25: corners at 0.375 and 0.625; m1 = 0.1 / 0.375, m3 = 0.1 / 0.375
        # 0.2 -> 0.05333; 0.8 -> 0.9 + 0.175 * 0.26667 = 0.946667; sum 1
        ((0.2, 0.8), 0.1, (0.05333333, 0.94666667)),
        # tau = 0.25 (uniform), tau_m = 0.25: all on the threshold, H = 1/2 each
        ((0.25, 0.25, 0.25, 0.25), 0.2, (0.25, 0.25, 0.25, 0.25)),
    ],
)
def test_values_by_hand(p, temperature, expected):
    assert_close(SoftSet(temperature).assign(log(*p))[0], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-8)


def heaviside(p, tau, temperature):
    """Eq. (4) as it is printed."""
    tau_m = 5 * temperature * min(tau, 1 - tau)
    m1 = temperature / (tau - tau_m / 2)
    m2 = (1 - 2 * temperature) / tau_m
    m3 = temperature / (1 - tau - tau_m / 2)
    if p < tau - tau_m / 2:
        return p * m1
    if p > tau + tau_m / 2:
        return p * m3 + (1 - temperature - m3 * (tau + tau_m / 2))
    return p * m2 + (0.5 - m2 * tau)


@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("temperature", [0.39, 0.2, 0.05, 0.001])
def test_against_a_plain_loop(k, temperature):
    scores = 2 * torch.randn(40, k, dtype=torch.float64, generator=torch.Generator().manual_seed(k))
    for row, assignment in zip(scores.softmax(1).tolist(), SoftSet(temperature).assign(scores), strict=True):
        best, second = sorted(row)[::-1][:2]
        steps = [heaviside(p, (best + second) / 2, temperature) for p in row]
        expected = torch.tensor([step / sum(steps) for step in steps], dtype=torch.float64)
        assert_close(assignment, expected, rtol=1e-9, atol=1e-12)
