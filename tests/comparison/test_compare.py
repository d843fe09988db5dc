"""The comparison as a whole: honest on noise, awake where training for the metric pays."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB

from metricfit import methods
from metricfit.comparison import compare
from metricfit.comparison._contenders import REFERENCE


def with_outliers(n=4000, seed=0):
    """Two overlapping clouds, and a few rows far out, which turn the direction of logistic regression."""
    random = np.random.default_rng(seed)
    target = (random.uniform(size=n) < 0.2).astype(int)
    features = random.normal(size=(n, 2)) + np.stack([2.5 * target, np.zeros(n)], 1)
    far = random.uniform(size=n) < 0.06
    features[far] = random.normal([-8.0, 0.0], [8.0, 15.0], (int(far.sum()), 2))
    target[far] = features[far].sum(1) > 0.0
    return features, target


@pytest.fixture(scope="module")
def outliers():
    return compare(*with_outliers(), "f1", models=["linear"])


def test_training_for_the_metric_pays_where_outliers_lead_cross_entropy_astray(outliers):
    assert outliers.verdict.answer == "yes"
    assert outliers.verdict.about_method.startswith("Linear model: yes, training for f1 helps. ")
    assert outliers.results["linear, auto"].estimate.mean > outliers.reference.estimate.mean + 0.03
    assert outliers.verdict.recommended != REFERENCE  # it is 0.03 behind, more than the margin


def test_scores_are_those_of_the_held_out_rows(outliers):
    _, target = with_outliers()
    for result in outliers.results.values():
        assert len(result.scores) == 10
        pooled = f1_score(target, result.held_out.predicted)
        assert pooled == pytest.approx(np.mean(result.scores), abs=0.03)  # the mean of folds is not the score of all
        np.testing.assert_allclose(result.held_out.probability.sum(1), 1.0)


def test_all_methods_are_there_in_order(outliers):
    assert list(outliers.results) == ["trivial, constant", *(f"linear, {name}" for name in methods.names())]
    assert [row["method"] for row in outliers.table] == ["constant", *methods.names()]
    assert {row["model"] for row in outliers.table[1:]} == {"linear"}
    assert outliers.reference is outliers.results[REFERENCE]
    assert outliers.reference.difference.mean == 0.0
    assert outliers.best.behind_best.mean == 0.0
    for name in ("expected_error", "leaky", "exact", "east", "direct"):
        history = outliers.results[f"linear, {name}"].history
        assert {"step", "stage", "surrogate", "metric", "width", "gradient_norm"} <= set(history[0])
        assert all(np.isfinite(row["gradient_norm"]) for row in history)


def test_json_holds_it_all_and_nothing_that_json_does_not_know(outliers):
    found = json.loads(json.dumps(outliers.as_json(), allow_nan=False))
    assert found["answer"] == "yes"
    assert [len(row["scores"]) for row in found["results"]] == [10] * 10
    assert found["reference"] == "linear, threshold"
    assert found["best"] == outliers.best.contender.name
    assert [found[key] for key in ("recommended", "status", "headline", "margin", "subject")] == [
        *(outliers.verdict.recommended, outliers.verdict.status, outliers.verdict.headline),
        *(0.01, None),
    ]
    for row in found["results"]:  # the interval and the p-value of a line agree
        assert (row["behind_best_low"] > 0.0 or row["behind_best_high"] < 0.0) == (row["p_behind"] < 0.05)
    assert found["verdict"].splitlines() == [outliers.verdict.about_model, outliers.verdict.about_method]
    assert {row["importance"] for row in found["results"]} == {None}
    assert found["rows"] == 4000
    assert (found["evaluation"], found["positive"]) == ("5-fold cross-validation, 2 repeats", 1)
    assert (found["warnings"], found["order"], found["constant_answer"]) == ([], [], 1)
    assert found["results"][0]["chosen"] == {"1": 10}
    assert sum(found["classes"].values()) == 4000


def test_intervals_stay_within_the_limits_of_the_metric(outliers):
    for result in outliers.results.values():
        assert 0.0 <= result.estimate.low <= result.estimate.mean <= result.estimate.high <= 1.0


def test_noise_gives_no():
    random = np.random.default_rng(0)
    options = {"models": ["linear"], "methods": ["leaky", "direct", "auto"], "n_repeats": 1}
    found = compare(random.normal(size=(300, 4)), random.integers(0, 2, 300), "balanced_accuracy", **options)
    assert found.verdict.answer == "no"
    assert (found.verdict.status, found.verdict.recommended) == ("constant", "trivial, constant")
    assert found.verdict.about_model.startswith("No model is shown to beat always answering ")
    assert found.verdict.about_method == ""


@pytest.mark.slow
def test_the_same_for_any_number_of_jobs():
    features, target = load_breast_cancer(return_X_y=True)
    options = {"models": ["boosting", "ensemble"], "methods": ["auto"], "n_splits": 2, "n_repeats": 1, "importance": True}
    one, two = (compare(features[::3, :4], target[::3], "f1", n_jobs=n, **options) for n in (1, 2))
    for name in one.results:
        assert one.results[name].scores == two.results[name].scores
        np.testing.assert_array_equal(one.results[name].held_out.probability, two.results[name].held_out.probability)
        np.testing.assert_equal(one.results[name].importance, two.results[name].importance)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ["lekay"]}, "`method` should be one of"),
        ({"models": ["bosting"]}, "`models` should be some of 'linear', .*; got 'bosting'. Did you mean 'boosting'"),
        ({"models": ["trivial"]}, "`models` should be some of"),
        ({"models": "linear"}, "`models` should be a list of names or a dictionary"),
        ({"models": 3}, "`models` should be a list of names or a dictionary"),
        ({"models": []}, "`models` should be names"),
        ({"models": [GaussianNB()]}, "pass your own as a dictionary"),
        ({"models": {"linear": GaussianNB()}}, "should give your models new names, got 'linear'"),
        ({"models": {"trivial": GaussianNB()}}, "should give your models new names, got 'trivial'"),
        ({"models": {3: GaussianNB()}}, "should give your models new names, got 3"),
        ({"models": {"mine": GaussianNB}}, "got the class GaussianNB: pass GaussianNB()"),
        ({"n_splits": 1}, "`n_splits` should be at least 2"),
        ({"time_limit": 0}, "`time_limit` should be a positive number of seconds, got 0"),
        ({"time_limit": 60, "models": ["linear"]}, "`time_limit` is for the ensemble: add it to `models`"),
        ({"metric": "f1x"}, "Did you mean 'f1'"),
        ({"pos_label": 7}, "`pos_label` should be one of"),
        ({"y": np.repeat([0, 1], [59, 1])}, "at least two rows each, got 1 of"),
        ({"y": np.zeros(60)}, "`y` should have at least two classes"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"X": np.zeros((60, 2)), "y": np.arange(60) % 2, "metric": "f1", **change}
    with pytest.raises((TypeError, ValueError), match=message):
        compare(**arguments)


def test_a_choice_not_to_train_gets_no_credit(outliers):
    """MetricClassifier that took cross-entropy is cross-entropy."""
    auto = dataclasses.replace(outliers.results["linear, auto"], chosen={"cross_entropy": 9, "direct(1)": 1})
    assert not auto.trained_for_metric
    assert outliers.results["linear, auto"].trained_for_metric
    few = dataclasses.replace(outliers, results={REFERENCE: outliers.reference, "linear, auto": auto})
    assert few.verdict.answer == "no"
    assert "The automatic choice mostly did not train for f1" in few.verdict.about_method
    alone = dataclasses.replace(outliers, results={REFERENCE: outliers.reference})
    assert "None of the compared methods trains for f1" in alone.verdict.about_method
    assert alone.choice is alone.reference


@pytest.mark.parametrize(
    ("features", "target", "left_out"),
    [
        (np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2, ["boosting", "ensemble"]),
        (csr_matrix(np.random.default_rng(0).normal(size=(200, 2))), np.arange(200) % 2, ["boosting"]),
    ],
)
def test_default_models_that_cannot_take_the_data_are_left_out_and_named(features, target, left_out):
    found = compare(features, target, "f1", methods=["threshold"], n_splits=2, n_repeats=1)
    assert [note.split()[0] for note in found.notes] == left_out
    assert not {result.contender.model for result in found.results.values()} & set(left_out)
    assert all(note in repr(found) for note in found.notes)
    own = compare(features, target, "f1", models={"mine": "extra_trees"}, methods=["threshold"], n_splits=2, n_repeats=1)
    models = list(dict.fromkeys(result.contender.model for result in own.results.values()))
    assert models == ["trivial", "linear", "mine", *([] if "ensemble" in left_out else ["ensemble"])]
