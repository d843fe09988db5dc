"""Intervals and p-values against scipy, and against simulation."""

import numpy as np
import pytest
from scipy import stats

from metricfit.comparison._statistics import SplitScores, corrected_estimate, differences, holm


def test_without_overlap_it_is_the_usual_t_test():
    values = np.random.default_rng(0).normal(0.3, 1.0, 12)
    found, usual = corrected_estimate(values, 0.0), stats.ttest_1samp(values, 0.0)
    assert found.p == pytest.approx(usual.pvalue)
    low, high = usual.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_overlap_widens_by_the_factor_of_the_paper():
    values = np.random.default_rng(1).normal(size=10)
    plain, corrected = corrected_estimate(values, 0.0), corrected_estimate(values, 0.25)
    ratio = (corrected.high - corrected.low) / (plain.high - plain.low)
    assert ratio == pytest.approx(np.sqrt((1 / 10 + 0.25) / (1 / 10)))


def test_constant_and_single_values():
    assert corrected_estimate([0.0, 0.0, 0.0], 0.25).p == 1.0
    assert corrected_estimate([0.1, 0.1, 0.1], 0.25).p == 1.0  # no scatter, no claim
    one = corrected_estimate([0.1], 0.25)
    assert one.p == 1.0
    assert one.high == np.inf


def test_holm_rejects_no_more_than_it_may():
    """Ten true hypotheses: some p-value falls below 5 % in at most about 5 % of the cases."""
    random = np.random.default_rng(2)
    wrong = np.mean([min(holm(random.uniform(size=10).tolist())) < 0.05 for _ in range(4000)])
    assert wrong == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 4000))


def test_holm_keeps_the_order():
    assert holm([0.5, 0.001, 0.02]) == pytest.approx([0.5, 0.003, 0.04])
    assert holm([]) == []


def test_intervals_of_differences_have_the_level_that_holm_used():
    """Three comparisons: the smallest p-value is multiplied by three, and its interval has the level 0.05 / 3."""
    random = np.random.default_rng(3)
    scores = {"base": [0.5] * 10} | {
        f"c{shift}": (0.5 + shift / 100 + random.normal(0, 0.02, 10)).tolist() for shift in (1, 3, 6)
    }
    found = differences(SplitScores(scores, 0.25, None), list(scores), "base")
    smallest = min(found, key=lambda name: found[name][1])
    assert found[smallest][1] == pytest.approx(3.0 * found[smallest][0].p)
    wide = corrected_estimate(np.subtract(scores[smallest], 0.5), 0.25, 0.05 / 3.0)
    assert (found[smallest][0].low, found[smallest][0].high) == pytest.approx((wide.low, wide.high))
    for estimate, p_holm in found.values():
        assert (estimate.low > 0.0) == (p_holm < 0.05)
    planned = differences(SplitScores(scores, 0.25, None), list(scores), "base", planned="c6")["c6"]
    assert planned[1] == planned[0].p  # as it is
    assert planned[0].low > found["c6"][0].low
