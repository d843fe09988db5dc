"""``OffsetClassifier`` with constraints, and what it promises."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import metricfit as mf
from metricfit.decisions import DecisionRule, NotAttainableError


def data(n=2000, seed=0, n_classes=2):
    weights = [0.8, 0.2] if n_classes == 2 else None
    options = {"n_features": 6, "n_informative": 4, "n_classes": n_classes, "weights": weights, "class_sep": 0.9}
    features, y = make_classification(4 * n, random_state=seed, **options)
    return (features[:n], y[:n]), (features[n:], y[n:])


def test_without_constraints_nothing_changes():
    (x, y), _ = data(400)
    plain = mf.OffsetClassifier(GaussianNB(), "f1", random_state=0).fit(x, y)
    assert not hasattr(plain, "rule_")


def test_constraints_hold_on_out_of_fold_rows():
    (x, y), (new, truth) = data()
    free = mf.OffsetClassifier(GaussianNB(), "recall", random_state=0).fit(x, y)
    tuned = mf.OffsetClassifier(GaussianNB(), "recall", subject_to="precision >= 0.8", random_state=0).fit(x, y)
    assert precision_score(truth, free.predict(new)) < 0.7
    assert precision_score(truth, tuned.predict(new)) > 0.75
    assert tuned.rule_.constraints_[0]["value"] >= 0.8
    assert isinstance(tuned.estimator_, GaussianNB)
    np.testing.assert_array_equal(tuned.predict(new), (tuned.predict_proba(new)[:, 1] > tuned.threshold_).astype(int))
    np.testing.assert_array_equal(tuned.predict(new), tuned.rule_.predict(tuned.predict_proba(new)))
    np.testing.assert_array_equal(tuned.predict(new), (tuned.decision_function(new) > 0.0).astype(int))
    assert tuned.score(new, truth) == pytest.approx(((tuned.predict(new) == 1) & (truth == 1)).sum() / (truth == 1).sum())


def test_with_confidence_the_mean_of_the_fold_models_predicts():
    (x, y), (new, truth) = data()
    options = {"subject_to": "precision >= 0.75", "confidence": 0.9, "cv": 4, "random_state": 0}
    tuned = mf.OffsetClassifier(GaussianNB(), "recall", **options).fit(x, y)
    assert tuned.rule_.attainable_
    assert precision_score(truth, tuned.predict(new)) >= 0.75
    folds = tuned.estimator_.estimators_
    np.testing.assert_allclose(tuned.predict_proba(new), np.mean([one.predict_proba(new) for one in folds], 0))
    assert len(folds) == 4
    assert "The promise is approximate" in tuned.rule_.summary()
    assert tuned.n_features_in_ == 6


def test_held_out_rows_make_it_exact():
    (x, y), (new, truth) = data()
    options = {"subject_to": "precision >= 0.65", "confidence": 0.9, "calibration": 0.25, "random_state": 0}
    tuned = mf.OffsetClassifier(GaussianNB(), "recall", **options).fit(x, y)
    assert isinstance(tuned.estimator_, GaussianNB)
    assert tuned.estimator_.class_count_.sum() == 1500
    assert "The model was trained on other rows than the 500 that set the rule." in tuned.rule_.summary()
    assert "approximate" not in tuned.rule_.summary()
    assert precision_score(truth, tuned.predict(new)) >= 0.65


def test_a_fitted_estimator():
    (x, y), (new, truth) = data()
    fitted = GaussianNB().fit(new[:2000], truth[:2000])
    tuned = mf.OffsetClassifier(fitted, "recall", subject_to="precision >= 0.75", confidence=0.9, cv="prefit").fit(x, y)
    direct = DecisionRule("recall", subject_to="precision >= 0.75", confidence=0.9).fit(fitted.predict_proba(x), y)
    np.testing.assert_allclose(tuned.offsets_, direct.offsets_)


def test_scores_that_are_no_probabilities():
    (x, y), (new, truth) = data()
    for confidence in (None, 0.9):
        options = {"subject_to": "precision >= 0.7", "confidence": confidence, "random_state": 0}
        tuned = mf.OffsetClassifier(LinearSVC(random_state=0), "recall", **options).fit(x, y)
        assert precision_score(truth, tuned.predict(new)) >= 0.7
        assert not hasattr(tuned, "predict_proba")


def test_several_classes_and_names():
    (x, y), (new, truth) = data(3000, 1, 3)
    names = np.array(["low", "mid", "top"])
    options = {"subject_to": "precision[low] >= 0.8", "confidence": 0.9, "random_state": 0}
    tuned = mf.OffsetClassifier(LogisticRegression(), "f1", average="macro", **options).fit(x, names[y])
    found = tuned.predict(new)
    assert (names[truth][found == "low"] == "low").mean() >= 0.8
    assert repr(tuned.rule_).startswith("DecisionRule: maximise f1_macro subject to precision[low] >= 0.8")


def test_what_cannot_be_kept():
    (x, y), _ = data(400)
    options = {"subject_to": "precision >= 0.999", "confidence": 0.9, "random_state": 0}
    tuned = mf.OffsetClassifier(GaussianNB(), "recall", **options).fit(x, y)
    assert not tuned.rule_.attainable_
    with pytest.raises(NotAttainableError, match="Not attainable"):
        tuned.predict(x)
    lenient = clone(tuned).set_params(fallback="best").fit(x, y)
    assert set(lenient.predict(x)) <= {0, 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 0.9}, "`confidence` is for constraints: pass `subject_to` too"),
        ({"calibration": 0.25}, "`calibration` is for constraints"),
        (
            {"subject_to": "precision >= 0.9", "calibration": 3},
            "`calibration` should be a share of the rows such as 0.25, got 3.",
        ),
        ({"subject_to": "precision >= 0.9", "smooth": False}, "`smooth` should stay True"),
        ({"subject_to": "precison >= 0.9"}, "Did you mean 'precision'?"),
        (
            {"subject_to": "precision >= 0.9", "confidence": 0.9, "cv": RepeatedStratifiedKFold(n_splits=2, n_repeats=2)},
            "`confidence` needs splits that hold out every row once at most. Try cv=5.",
        ),
    ],
)
def test_options_that_do_not_fit(options, message):
    (x, y), _ = data(200)
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        mf.OffsetClassifier(GaussianNB(), "recall", **options).fit(x, y)


def test_weights_cannot_be_promised():
    (x, y), _ = data(200)
    tuned = mf.OffsetClassifier(GaussianNB(), "recall", subject_to="precision >= 0.5", confidence=0.9)
    with pytest.raises(ValueError, match="leave out `sample_weight`"):
        tuned.fit(x, y, 1.0 + y)
