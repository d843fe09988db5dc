"""Whether probabilities are calibrated."""

import numpy as np
import pytest
from scipy.special import expit

from metricfit import DecisionRule
from metricfit.decisions import Reliability
from metricfit.decisions._rows import Rows


def rows(n, rng, shift=0.0):
    """Rows whose log-odds are off by ``shift``."""
    odds = rng.normal(-1.0, 1.5, n)
    y = (rng.random(n) < expit(odds)).astype(int)
    return Rows(np.stack([np.zeros(n), odds + shift], 1), y, np.ones(n))


def test_calibrated_probabilities_are_seldom_blamed():
    rng = np.random.default_rng(0)
    p_values = np.array([Reliability.of(rows(2000, rng), 1).p_value for _ in range(400)])
    # sd of a share of 400 draws is at most 0.025
    assert (p_values < 0.5).mean() == pytest.approx(0.5, abs=0.075)
    assert (p_values < 0.05).mean() < 0.1


def test_bins_say_what_was_said_and_what_happened():
    y = np.repeat([0, 1, 0, 1], [80, 20, 40, 60])
    odds = np.log(np.repeat([0.2 / 0.8, 0.5 / 0.5], 100))
    found = Reliability.of(Rows(np.stack([np.zeros(200), odds], 1), y, np.ones(200)), 1)
    np.testing.assert_allclose(found.predicted, [0.2, 0.5])
    np.testing.assert_allclose(found.observed, [0.2, 0.6])
    np.testing.assert_allclose(found.counts, [100, 100])
    assert found.distance == pytest.approx(0.05)
    assert found.p_value == pytest.approx(np.exp(-0.5 * 10**2 / 25))  # of chi-squared with two degrees of freedom


def test_the_summary_warns_about_probabilities_only():
    rng = np.random.default_rng(1)
    drawn = rows(3000, rng, shift=1.0)
    y, logits = drawn.labels, drawn.scores[:, 1]
    wrong = "The probabilities are not calibrated: of the rows with values around"
    assert wrong in DecisionRule("f1").fit(expit(logits), y).summary()
    assert wrong not in DecisionRule("f1").fit(expit(logits - 1.0), y).summary()
    assert wrong not in DecisionRule("f1").fit(logits, y).summary()
    three = np.stack([logits, np.zeros(3000), np.full(3000, -3.0)], 1)
    table = np.exp(three) / np.exp(three).sum(1, keepdims=True)
    assert "% are of the most probable class" in DecisionRule().fit(table, 1 - y, np.ones(3000)).summary()


def test_rows_in_groups_are_not_tested():
    rng = np.random.default_rng(2)
    drawn = rows(500, rng, shift=2.0)
    rule = DecisionRule("f1").fit(expit(drawn.scores[:, 1]), drawn.labels, groups=np.arange(500) // 5)
    assert np.isnan(rule.reliability_.p_value)
    assert rule.reliability_.as_json()["p_value"] is None
