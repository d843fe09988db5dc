"""Several labels per row in ``OffsetClassifier``: thresholds of a rule, from scores of rows that the models have not seen."""

import numpy as np
import pytest
import sklearn.utils.estimator_checks as checks
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GroupKFold, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import LinearSVC

from metricfit import DecisionRule, OffsetClassifier

FEATURES, Y = make_multilabel_classification(160, 8, n_classes=3, n_labels=1, random_state=0)
LOGISTIC = OneVsRestClassifier(LogisticRegression())


@pytest.mark.parametrize(
    "estimator",
    [
        LOGISTIC,
        MultiOutputClassifier(LogisticRegression()),
        RandomForestClassifier(5, random_state=0),
        OneVsRestClassifier(LinearSVC()),
    ],
    ids=["one vs rest", "multi output", "forest", "without probabilities"],
)
def test_the_thresholds_are_those_of_a_rule_for_out_of_fold_scores(estimator):
    splits = list(KFold(3).split(FEATURES))
    tuned = OffsetClassifier(estimator, "f1_samples", cv=splits).fit(FEATURES, Y)
    scores = np.concatenate([column(clone(estimator).fit(FEATURES[a], Y[a]), FEATURES[b]) for a, b in splits])
    kind = "probability" if hasattr(estimator, "predict_proba") else "logit"
    rule = DecisionRule("f1_samples", kind=kind).fit(scores, Y)
    assert tuned.thresholds_ == pytest.approx(rule.thresholds_)
    new = column(clone(estimator).fit(FEATURES, Y), FEATURES)
    assert np.array_equal(tuned.predict(FEATURES), rule.predict(new))
    assert tuned.decision_function(FEATURES) == pytest.approx(rule.decision_function(new))
    assert tuned.score(FEATURES, Y) == pytest.approx(f1_score(Y, tuned.predict(FEATURES), average="samples", zero_division=0))
    if kind == "probability":
        assert tuned.predict_proba(FEATURES) == pytest.approx(new)


def column(fitted, features):
    if not hasattr(fitted, "predict_proba"):
        return fitted.decision_function(features)
    found = fitted.predict_proba(features)
    return np.stack([one[:, 1] for one in found], 1) if isinstance(found, list) else found


def test_tables_groups_weights_and_prefit():
    pd = pytest.importorskip("pandas")
    splits = list(GroupKFold(2).split(FEATURES, Y, np.arange(160) // 20))
    plain = OffsetClassifier(LOGISTIC, "f1_micro", cv=splits).fit(FEATURES, csr_array(Y))
    assert plain.classes_.tolist() == [0, 1, 2]
    names = pd.DataFrame(Y, columns=["jazz", "rock", "folk"])
    again = OffsetClassifier(LOGISTIC, "f1", average="micro", cv=GroupKFold(2)).fit(
        FEATURES, names, groups=np.arange(160) // 20
    )
    assert np.array_equal(again.thresholds_, plain.thresholds_)
    assert again.classes_.tolist() == ["jazz", "rock", "folk"]
    forest, weight = RandomForestClassifier(3, random_state=0).fit(FEATURES, Y), np.where(Y[:, 0], 5.0, 1.0)
    prefit = OffsetClassifier(forest, "f1_samples", cv="prefit").fit(FEATURES[:80], Y[:80], weight[:80])
    rule = DecisionRule("f1_samples", kind="probability").fit(column(forest, FEATURES[:80]), Y[:80], weight[:80])
    assert np.array_equal(prefit.thresholds_, rule.thresholds_)
    assert prefit.__sklearn_tags__().classifier_tags.multi_label


def test_a_label_that_a_fold_has_not_seen_and_one_that_no_row_has():
    rare = np.zeros((160, 1), int)
    rare[7] = 1
    y = np.hstack([Y, rare, 0 * rare])
    tuned = OffsetClassifier(RandomForestClassifier(3, random_state=0), "f1_macro", cv=4, random_state=0).fit(FEATURES, y)
    assert np.isfinite(tuned.thresholds_).all()
    assert not tuned.predict(FEATURES)[:, 4].any()


def test_folds_have_equal_shares_of_a_rare_label():
    from metricfit.estimators._folds import label_splits

    y = np.hstack([Y, np.arange(160)[:, None] < 8])
    assert [int(y[test, 3].sum()) for _, test in label_splits(4, y, None, 0)] == [2, 2, 2, 2]
    groups = np.arange(160) // 2
    for train, test in label_splits(4, y, groups, 0):
        assert not set(groups[train]) & set(groups[test])
    assert len(list(label_splits(2, np.eye(3, dtype=int), None, 0))) == 2


def test_errors_say_what_to_try():
    with pytest.raises(ValueError, match="`subject_to` is for rows with one label each, and these have several"):
        OffsetClassifier(LOGISTIC, "f1_macro", subject_to="precision >= 0.9").fit(FEATURES, Y)
    with pytest.raises(ValueError, match="0 and 1, one column per label"):
        OffsetClassifier(LOGISTIC, "f1_macro").fit(FEATURES, Y + 1)
    with pytest.raises(ValueError, match="`metric` 'accuracy' is for one label per row"):
        OffsetClassifier(LOGISTIC).fit(FEATURES, Y)
    alone = LogisticRegression().fit(FEATURES, Y[:, 0])
    with pytest.raises(ValueError, match=r"one score for each of the 3 labels, got shape \(160, 2\).*MultiOutputClassifier"):
        OffsetClassifier(alone, "f1_macro", cv="prefit").fit(FEATURES, Y)
    tuned = OffsetClassifier(LOGISTIC, "f1_macro", cv=2).fit(FEATURES, Y)
    with pytest.raises(AttributeError, match="See thresholds_"):
        _ = tuned.threshold_
    with pytest.raises(AttributeError, match="several labels per row only"):
        _ = OffsetClassifier(LogisticRegression(), cv=2).fit(FEATURES, Y[:, 0]).thresholds_
    with pytest.raises(ValueError, match="put rule_"):
        tuned.to_onnx()


@pytest.mark.parametrize("name", ["representation_invariance", "output_format_predict_proba"])
def test_the_checks_of_scikit_learn(name):
    estimator = OffsetClassifier(LOGISTIC, "f1_micro", cv=2, random_state=0)
    getattr(checks, f"check_classifiers_multilabel_{name}")("OffsetClassifier", estimator)
