"""Intervals and p-values of splits and of a test set, against scipy and against simulation."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from metricfit import metrics
from metricfit.comparison import compare
from metricfit.comparison._statistics import (
    FEWEST_TEST_ROWS,
    Scores,
    corrected_estimate,
    differences,
    estimate_of_splits,
    estimate_of_test,
    holm,
    percentile_estimate,
    resample_scores,
)

LINEAR = {"models": ["linear"], "methods": ["threshold"]}


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
    scores = {"base": np.full(10, 0.5)} | {f"c{shift}": 0.5 + shift / 100 + random.normal(0, 0.02, 10) for shift in (1, 3, 6)}
    statistics = Scores(scores, partial(estimate_of_splits, test_share=0.25), None)
    found = differences(statistics, list(scores), "base")
    smallest = min(found, key=lambda name: found[name].p_holm)
    assert found[smallest].p_holm == pytest.approx(3.0 * found[smallest].p)
    wide = corrected_estimate(np.subtract(scores[smallest], 0.5), 0.25, 0.05 / 3.0)
    assert (found[smallest].low, found[smallest].high) == pytest.approx((wide.low, wide.high))
    for difference in found.values():
        assert (difference.low > 0.0) == (difference.p_holm < 0.05)
    planned = differences(statistics, list(scores), "base", planned="c6")["c6"]
    assert planned.p_holm == planned.p  # as it is
    assert planned.low > found["c6"].low


def test_resampled_scores_are_those_of_resampled_rows():
    """Two algorithms, one distribution: draws of combinations of predictions, and draws of rows."""
    random, n = np.random.default_rng(0), 80
    labels = random.integers(0, 2, n)
    predicted = {"one": np.where(random.uniform(size=n) < 0.8, labels, 1 - labels), "none": np.zeros(n, int)}
    found = resample_scores(metrics.get("f1"), predicted, labels, 2, 1, 4000)
    assert set(found["none"]) == {0.0}
    rows = random.integers(0, n, (4000, n))
    true, called = labels[rows], predicted["one"][rows]
    direct = 2.0 * (true * called).sum(1) / (true.sum(1) + called.sum(1))
    assert found["one"].mean() == pytest.approx(direct.mean(), abs=4 * direct.std() * (2 / 4000) ** 0.5)
    assert found["one"].std() == pytest.approx(direct.std(), rel=0.1)


def test_the_same_rows_for_all_and_in_small_parts(monkeypatch):
    labels = np.arange(60) % 3
    predicted = {"a": labels, "b": labels.copy(), "c": np.roll(labels, 1)}
    whole = resample_scores(metrics.get("f1_macro"), predicted, labels, 3, 0, 50)
    np.testing.assert_array_equal(whole["a"], whole["b"])
    monkeypatch.setattr("metricfit.comparison._statistics.MOST_NUMBERS", 100)
    parts = resample_scores(metrics.get("f1_macro"), predicted, labels, 3, 0, 50)
    np.testing.assert_allclose(parts["c"], whole["c"])


def test_p_values_and_equal_draws():
    assert percentile_estimate(0.2, np.full(999, 0.2)).p == 1.0  # no scatter, no claim
    assert percentile_estimate(0.0, np.zeros(999)).p == 1.0
    assert percentile_estimate(0.2, np.linspace(0.1, 0.3, 999)).p == pytest.approx(0.002)
    half = percentile_estimate(0.0, np.linspace(-1.0, 1.0, 999))
    assert half.p == 1.0
    assert (half.low, half.high) == pytest.approx((-0.95, 0.95), abs=0.004)


def test_percentile_intervals_and_p_values_agree():
    random, claims = np.random.default_rng(5), 0
    for level in (0.05, 0.01, 0.003):
        for shift in np.linspace(0.0, 4.0, 41):
            found = percentile_estimate(shift, random.normal(shift, 1.0, 2000), level)
            assert (found.low > 0.0) == (found.p < level)
            claims += found.p < level
    assert 30 < claims < 90
    biased = percentile_estimate(-0.1, np.linspace(0.1, 0.3, 999))  # the draws say other than the value
    assert (biased.p, biased.low) == (1.0, -0.1)


def test_few_rows_and_limits():
    values = {"a": np.append(0.9, np.linspace(0.5, 1.5, 999)), "b": np.append(0.5, np.linspace(0.0, 1.0, 999))}
    many, few = (
        Scores(values, partial(estimate_of_test, n_rows=n), (0.0, 1.0)) for n in (FEWEST_TEST_ROWS, FEWEST_TEST_ROWS - 1)
    )
    assert many.estimate("a").high == 1.0
    assert many.difference("a", "b").mean == pytest.approx(0.4)
    assert not few.estimate("a").known
    assert few.difference("a", "b").p == 1.0


def test_intervals_cover_the_accuracy_of_a_fixed_rule():
    """Accuracy 0.8 on 100 rows: 95 % intervals cover it in most of 300 test sets."""
    random, inside = np.random.default_rng(0), 0
    for _ in range(300):
        labels = random.integers(0, 2, 100)
        predicted = {"a": np.where(random.uniform(size=100) < 0.8, labels, 1 - labels)}
        drawn = resample_scores(metrics.get("accuracy"), predicted, labels, 2, 0, 400)
        found = percentile_estimate(float((predicted["a"] == labels).mean()), drawn["a"])
        inside += found.low <= 0.8 <= found.high
    assert 0.90 <= inside / 300 <= 0.985


def data(n, seed):
    random = np.random.default_rng(seed)
    features = random.normal(size=(n, 3))
    return pd.DataFrame(features, columns=list("abc")), np.where(features[:, 0] + random.normal(size=n) > 0.3, "sick", "well")


def test_a_test_set_is_judged_once():
    train, (features, target) = data(150, 0), data(80, 1)
    found = compare(*train, "f1", test=(features, target), pos_label="sick", importance=True, **LINEAR)
    assert (found.evaluation, found.is_test_set, found.n_splits, found.n_repeats) == ("a test set of 80 rows", True, 1, 1)
    assert (found.n_rows, len(found.labels), found.positive) == (150, 80, "sick")
    np.testing.assert_array_equal(found.classes[found.labels], target)
    reference = found.reference
    assert reference.scores == [f1_score(target, found.classes[reference.held_out.predicted], pos_label="sick")]
    assert reference.estimate.low < reference.scores[0] < reference.estimate.high
    assert reference.importance.shape == (1, 3)
    assert (found.verdict.answer, found.verdict.recommended) == ("no", "linear, threshold")
    assert "Best: linear, threshold" in found.verdict.sentence
    assert "split" not in found.verdict.sentence
    assert "repeat" not in found.verdict.sentence
    again = compare(*train, "f1", test=(features, target), pos_label="sick", **LINEAR)
    assert again.reference.estimate == reference.estimate
    small = compare(*train, "f1", test=(features[:20], target[:20]), pos_label="sick", **LINEAR)
    assert small.verdict.answer == "none"
    row = json.loads(json.dumps(small.as_json(), allow_nan=False))["results"][0]
    assert [row[key] for key in ("low", "high", "difference_low", "p", "p_holm")] == [None] * 5
    assert "  -  " in repr(small)
