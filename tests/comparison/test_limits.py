"""``metricfit.compare`` with constraints: the metric, how the limits are kept, refusals, and the verdict."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.metrics import precision_score, recall_score

import metricfit as mf
from metricfit.comparison import Kept, Limits, MetricWords
from metricfit.metrics import Cost, resolve_metric
from tests.comparison.made import around, compare_scores

PROMISE = {"subject_to": "precision >= 0.6", "confidence": 0.9, "calibration": 0.4}
LINEAR = "linear, threshold"


@cache
def data(n=1500):
    random = np.random.default_rng(0)
    x = random.normal(size=(n, 3))
    return x, np.where(x[:, 0] + 0.5 * random.normal(size=n) > 0.6, "bad", "good")


@cache
def compared(**options):
    return mf.compare(*data(), "recall", models=["linear"], **{"n_splits": 3, **PROMISE, **options})


def test_values_and_intervals_are_those_of_the_held_out_rows():
    found = compared()
    result, truth = found.results[LINEAR], found.classes[found.labels]
    assert result.kept.n_refused == 0
    predicted = found.classes[result.held_out.predicted]
    (value,) = result.kept.values
    assert value["constraint"] == "precision[bad] >= 0.6"
    assert value["value"] == precision_score(truth, predicted, pos_label="bad")
    n, hits = (predicted == "bad").sum(), ((predicted == "bad") & (truth == "bad")).sum()
    np.testing.assert_allclose(value["interval"], [beta(hits, n - hits + 1).ppf(0.025), beta(hits + 1, n - hits).ppf(0.975)])
    assert np.mean(result.scores[:3]) == pytest.approx(recall_score(truth, predicted, pos_label="bad"), abs=0.01)
    assert len(result.kept.by_split) == 6


def test_a_contender_is_the_classifier_with_the_same_options():
    x, y = data()
    test = x[1000:], y[1000:]
    found = mf.compare(x[:1000], y[:1000], "recall", models=["linear"], test=test, **PROMISE)
    alone = mf.MetricClassifier("recall", model="linear", pos_label="bad", random_state=0, **PROMISE).fit(x[:1000], y[:1000])
    np.testing.assert_array_equal(found.classes[found.results[LINEAR].held_out.predicted], alone.predict(test[0]))
    assert found.results[LINEAR].estimate.mean == alone.score(*test)


def test_refusals_count_as_zero():
    found = compared(subject_to="precision >= 0.999")
    kept = found.results[LINEAR].kept
    assert found.results[LINEAR].scores == [0.0] * 6
    assert kept.by_split == (None,) * 6
    assert all(why.startswith("Not attainable: the best precision[bad]") for why in kept.refusals)
    assert found.verdict.recommended is None
    assert found.verdict.headline == (
        "Not attainable: no model can promise precision[bad] >= 0.999 with confidence 0.9 on most splits."
    )
    json.dumps(found.as_json())
    assert found.table[1]["refused"] == 6
    assert found.table[1]["precision[bad] >= 0.999"] is None


def test_a_refused_test_set_counts_as_zero_with_certainty():
    x, y = data()
    options = {**PROMISE, "subject_to": "precision >= 0.999"}
    found = mf.compare(x[:1000], y[:1000], "recall", models=["linear"], test=(x[1000:], y[1000:]), **options)
    estimate = found.results[LINEAR].estimate
    assert (estimate.mean, estimate.low, estimate.high) == (0.0, 0.0, 0.0)


def test_a_constant_answer_keeps_the_limits_by_the_same_rule():
    assert compared().results["trivial, constant"].kept.n_refused == 6  # its precision is 0.3
    found = compared(subject_to="fpr <= 0.2")
    assert found.results["trivial, constant"].kept.by_split == (True,) * 6
    assert found.constant_answer == "good"
    assert found.verdict.recommended == LINEAR


def test_three_classes_and_no_promise():
    x, _ = data()
    y = np.digitize(x[:, 0] + np.random.default_rng(1).normal(size=len(x)), [-1, 1])
    given = {"n_splits": 2, "n_repeats": 1, "subject_to": "recall[2] >= 0.8", "calibration": 0.4}
    found = mf.compare(x[:600], y[:600], "f1_macro", models=["linear"], **given)
    (value,) = found.results[LINEAR].kept.values
    assert value["constraint"] == "recall[2] >= 0.8"
    assert value["interval"][0] < value["value"] < value["interval"][1]
    assert value["value"] > 0.6
    assert "Nothing is promised without a confidence" in found.verdict.sentence


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["exact"]}, "`methods` should be left out with `subject_to`"),
        ({"groups": np.arange(1500) // 2}, "`confidence` needs independent rows"),
        ({"subject_to": None}, "`confidence` is for constraints"),
        ({"subject_to": "recall[evil] >= 0.9"}, "should name classes of the labels, ['bad', 'good'], got 'evil'"),
        ({"subject_to": "recall >= 0.9 and recall <= 0.8"}, "contradicts itself"),
        ({"calibration": 2}, "`calibration` should be a share of the rows such as 0.25, got 2."),
    ],
)
def test_mistakes_are_named_before_training(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        mf.compare(*data(), "recall", **{**PROMISE, **options})


def test_a_refused_split_has_the_highest_cost():
    classes, counts = np.array(["bad", "good"]), np.array([3, 7])
    metric = resolve_metric(Cost({("bad", "good"): 5, ("good", "bad"): 1}), None, None, classes, None, counts)
    limits = Limits.read("recall >= 0.9", 0.9, None, metric, None, classes, counts)
    assert limits.refused_score == -5.0
    words = MetricWords("minus cost", metric.metric)
    assert "A split whose rule refuses counts as 5." in limits.sentence(words)
    assert "The promise is approximate" in limits.sentence(words)


def limited(refused=None, **scores):
    """A comparison of these scores, whose contenders kept the limits on every split that they did not refuse."""
    classes, counts = np.array(["bad", "good"]), np.array([10, 10])
    metric = resolve_metric("f1", None, "bad", classes, None, counts)
    limits = Limits.read("precision >= 0.9", 0.9, None, metric, None, classes, counts)
    found = compare_scores(**scores)

    def kept(result):
        n = (refused or {}).get(result.contender.model, 0)
        value = {"constraint": "precision[bad] >= 0.9", "value": 0.93, "interval": (0.9, 0.95), "kept": True}
        return Kept((None,) * n + (True,) * (10 - n), ("Not attainable: no.",) * n + ("",) * (10 - n), (value,))

    results = {name: replace(result, kept=kept(result)) for name, result in found.results.items()}
    return replace(found, limits=limits, results=results)


SCORES = {"linear_threshold": around(0.5, 0.01), "boosting_threshold": around(0.6, 0.01)}


def test_the_verdict_recommends_the_best_that_can_be_promised():
    verdict = limited({"trivial": 10}, **SCORES).verdict
    assert verdict.recommended == "boosting, threshold"
    assert verdict.headline == (
        "Use boosted trees with a tuned threshold: f1 0.6000 subject to precision[bad] >= 0.9 with confidence 0.9."
    )
    assert "precision[bad] is 0.9300 (0.900 to 0.950) on held-out rows, kept on 10 of 10 splits" in verdict.about_model
    close = limited({"trivial": 10}, **{**SCORES, "linear_threshold": around(0.599, 0.01)}).verdict
    assert close.recommended == LINEAR


def test_a_model_that_mostly_refuses_is_not_recommended():
    assert limited({"trivial": 10, "boosting": 5}, **SCORES).verdict.recommended == LINEAR
    assert limited({"trivial": 10, "boosting": 4}, **SCORES).verdict.recommended == "boosting, threshold"
    nothing = limited({"trivial": 10, "linear": 8, "boosting": 5}, **SCORES).verdict
    assert (nothing.recommended, nothing.status) == (None, "none")


def test_a_constant_answer_counts_only_if_it_keeps_the_limits():
    scores = {**SCORES, "trivial_constant": around(0.7)}
    assert limited({}, **scores).verdict.recommended == "trivial, constant"
    assert limited({"trivial": 10}, **scores).verdict.recommended == "boosting, threshold"


def test_the_verdict_on_the_fitted_model_names_a_better_one():
    found = limited({"trivial": 10, "linear": 1}, **SCORES).about(LINEAR)
    assert found.verdict.recommended == "boosting, threshold"
    assert "linear, threshold refused on 1 of 10 splits, first with: Not attainable: no." in found.verdict.sentence
    assert "Fit it with --model boosting." in found.verdict.sentence
