"""Costs per row in both estimators: the answers are those of a rule for scores of held-out rows; and groups of rows."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict

import metricfit as mf

pd = pytest.importorskip("pandas")
FEATURES, LABELS = make_classification(300, 5, n_informative=4, n_redundant=0, weights=[0.7], flip_y=0.1, random_state=0)
Y = np.array(["ok", "fraud"])[LABELS]
COSTS = pd.DataFrame({"amount": np.random.default_rng(0).lognormal(3.0, 1.0, 300)})
COST = mf.metrics.Cost({("fraud", "ok"): "amount", ("ok", "fraud"): 5})
GROUPS = np.arange(300) // 6
SPLITS = list(GroupKFold(3).split(FEATURES, Y, GROUPS))


def linear(**options):
    return mf.MetricClassifier(COST, model="linear", C=1.0, cv=SPLITS, random_state=0, **options)


def paid(y, answers):
    return np.where(y == answers, 0.0, np.where(y == "fraud", COSTS["amount"], 5.0))


def test_the_answers_are_those_of_a_rule():
    tuned = mf.OffsetClassifier(LogisticRegression(), COST, cv=SPLITS).fit(FEATURES, Y, costs=COSTS)
    rows = np.concatenate([test for _, test in SPLITS])
    scores = cross_val_predict(LogisticRegression(), FEATURES, Y, cv=SPLITS, method="predict_proba")
    rule = mf.DecisionRule(COST, kind="probability").fit(scores[rows], Y[rows], costs=COSTS.iloc[rows])
    new = LogisticRegression().fit(FEATURES, Y).predict_proba(FEATURES)
    assert np.array_equal(tuned.predict(FEATURES, costs=COSTS), rule.predict(new, costs=COSTS))
    assert np.array_equal(tuned.decision_function(FEATURES, costs=COSTS), rule.decision_function(new, costs=COSTS))
    assert tuned.score(FEATURES, Y, costs=COSTS) == pytest.approx(-paid(Y, tuned.predict(FEATURES, costs=COSTS)).mean())
    assert "The predictions cost" in tuned.rule_.summary()


def test_a_metric_classifier_decides_by_costs_and_keeps_them_in_its_file(tmp_path):
    fitted = linear().set_params(cv=3).fit(FEATURES, Y, costs=COSTS)
    p, fraud = fitted.predict_proba(FEATURES), fitted.classes_.tolist().index("fraud")
    assert np.array_equal(fitted.predict(FEATURES, costs=COSTS), fitted.rule_.predict(p, costs=COSTS))
    dear = {"amount": np.full(300, 1e6)}
    assert set(fitted.predict(FEATURES, costs=dear)) == {"fraud"}
    assert fitted.score(FEATURES, Y, costs=COSTS) > -paid(Y, np.where(p[:, fraud] > 0.5, "fraud", "ok")).mean()
    fitted.save(tmp_path / "model")
    again = mf.MetricClassifier.load(tmp_path / "model")
    assert np.array_equal(again.predict(FEATURES, costs=COSTS), fitted.predict(FEATURES, costs=COSTS))
    assert again.score(FEATURES, Y, costs=COSTS) == pytest.approx(fitted.score(FEATURES, Y, costs=COSTS))
    assert "The predictions cost" in again.summary()
    with pytest.raises(ValueError, match="these answers depend on costs of the row"):
        fitted.to_onnx()


def test_rows_without_weight_take_their_costs_with_them():
    weight = np.where(np.arange(300) % 3 == 0, 0.0, 1.0)
    kept = weight > 0.0
    one = mf.MetricClassifier(COST, model="linear", C=1.0, cv=2, random_state=0)
    weighted = one.fit(FEATURES, Y, weight, costs=COSTS).predict(FEATURES, costs=COSTS)
    assert np.array_equal(weighted, one.fit(FEATURES[kept], Y[kept], costs=COSTS[kept]).predict(FEATURES, costs=COSTS))


def test_groups_stay_in_one_fold_of_a_metric_classifier():
    options = {"model": "linear", "C": 1.0, "random_state": 0}
    by_groups = mf.MetricClassifier("f1_macro", cv=GroupKFold(3), **options).fit(FEATURES, Y, groups=GROUPS)
    by_splits = mf.MetricClassifier("f1_macro", cv=SPLITS, **options).fit(FEATURES, Y)
    assert by_groups.candidates_ == by_splits.candidates_
    table = mf.MetricClassifier("f1_macro", cv=3, **options)._read(FEATURES, Y, None, GROUPS)
    for train, test in table.cv:
        assert not set(GROUPS[train]) & set(GROUPS[test])
    limited = mf.MetricClassifier("recall", subject_to="precision >= 0.5", pos_label="fraud", cv=3, **options)
    assert limited.fit(FEATURES, Y, groups=GROUPS).rule_.score_interval_ != limited.fit(FEATURES, Y).rule_.score_interval_


@pytest.mark.parametrize("build", [linear, lambda **options: mf.OffsetClassifier(LogisticRegression(), COST, **options)])
def test_errors_say_what_to_try(build):
    with pytest.raises(ValueError, match="`costs` should have the column 'amount'"):
        build().fit(FEATURES, Y)
    with pytest.raises(ValueError, match="`costs` should have 300 rows"):
        build().fit(FEATURES, Y, costs=COSTS[:7])
    with pytest.raises(ValueError, match="`subject_to` cannot be combined with costs per row"):
        build(subject_to="precision >= 0.5").fit(FEATURES, Y, costs=COSTS)
    with pytest.raises(ValueError, match="`costs` is for the columns that a metric `Cost` names"):
        build().set_params(metric="f1").fit(FEATURES, Y, costs=COSTS)
    with pytest.raises(ValueError, match=r"the column 'amount'\. X has it: pass fit\(X, y, costs=X\)"):
        build().fit(COSTS, Y)
    with pytest.raises(ValueError, match="a group for every row, got 300 without"):
        build().fit(FEATURES, Y, groups=[None] * 300, costs=COSTS)


def test_scores_alone_do_not_decide():
    with pytest.raises(ValueError, match="Costs per row need more than scores"):
        linear().fit(FEATURES, Y, costs=COSTS).scores_and_probabilities(FEATURES)
