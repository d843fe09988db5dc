"""Mistakes that a new user makes, and the errors that say what to do instead."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricfit as mf

X, Y = make_classification(200, 4, random_state=0)
P = 1.0 / (1.0 + np.exp(-X[:, 0]))


@pytest.mark.parametrize("regressor", [LinearRegression(), make_pipeline(StandardScaler(), LinearRegression())])
def test_regressors_are_refused(regressor):
    with pytest.raises(TypeError, match="`estimator` should be a classifier, got the regressor"):
        mf.OffsetClassifier(regressor, "f1").fit(X, Y)


def test_a_table_of_labels_points_to_the_other_estimator():
    with pytest.raises(ValueError, match=r"one label per row, got shape \(200, 2\)\. .* use OffsetClassifier"):
        mf.MetricClassifier("f1_macro", model="linear").fit(X, np.stack([Y, 1 - Y], 1))


@pytest.mark.parametrize("make", [mf.MetricClassifier, lambda cost: mf.OffsetClassifier(mf.MetricClassifier(), cost)])
def test_costs_among_the_features(make):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c", "amount"])
    cost = mf.metrics.Cost({(1, 0): "amount", (0, 1): 1})
    with pytest.raises(ValueError, match=r"the column 'amount'\. X has it: pass fit\(X, y, costs=X\)"):
        make(cost).fit(frame, Y)
    with pytest.raises(ValueError, match="the column 'amount' of the costs: pass a data frame with it"):
        make(cost).fit(X, Y)


def test_a_time_limit_is_a_number():
    with pytest.raises(TypeError, match="`time_limit` should be a number, got '60'"):
        mf.MetricClassifier("f1", time_limit="60").fit(X, Y)


def test_a_rule_before_its_fit():
    rule = mf.DecisionRule("f1")
    for method in (rule.predict, rule.decision_function, rule.adapt, lambda scores: rule.score(scores, Y)):
        with pytest.raises(NotFittedError):
            method(P)


def test_shares_are_a_dict():
    rule = mf.DecisionRule("f1").fit(P, np.where(Y == 1, "fraud", "ok"))
    with pytest.raises(TypeError, match=r"`shares` should be a dict .* such as \{'(fraud|ok)': 0.01\}, got 0.04"):
        rule.for_prevalence(0.04)


def test_an_existing_file_names_the_option_of_python(tmp_path):
    rule = mf.DecisionRule("f1").fit(P, Y)
    rule.save(tmp_path / "rule.json")
    with pytest.raises(FileExistsError, match="Choose another name or pass overwrite=True"):
        rule.save(tmp_path / "rule.json")
