"""``OffsetClassifier`` and ``MetricClassifier`` with constraints, and what they promise."""

import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score
from sklearn.model_selection import GridSearchCV, GroupKFold, RepeatedStratifiedKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.svm import LinearSVC

import metricfit as mf
from metricfit.decisions import DecisionRule, NotAttainableError
from metricfit.estimators import FitSpec, SharedFits


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


def limited(limit=0.7, metric="recall", **options):
    constraint = {"subject_to": f"precision >= {limit}", "confidence": 0.9, "random_state": 0}
    return mf.MetricClassifier(metric, **{"model": "linear", "cv": 3, **constraint, **options})


def assert_same_decisions(one, other, rows):
    np.testing.assert_array_equal(one.predict(rows), other.predict(rows))
    np.testing.assert_array_equal(one.predict_proba(rows), other.predict_proba(rows))


MODELS = {
    "linear": "linear",
    "ensemble": ["linear", "boosting", "extra_trees"],
    "boosting": "boosting",
    "estimator": GaussianNB(),
    "network": mf.Network(n_members=2, max_epochs=20, lr=0.05, hidden_layer_sizes=(8,)),
}


@cache
def fitted_model(name):
    (x, y), _ = data(700)
    return limited(0.6, model=MODELS[name], cv=2).fit(x, y)


@pytest.mark.parametrize("name", MODELS)
class TestEveryModel:
    """One rule decides, whatever is trained."""

    def test_the_promise_holds_on_fresh_rows(self, name):
        classifier, (_, (new, truth)) = fitted_model(name), data(700)
        assert classifier.attainable_
        assert precision_score(truth, classifier.predict(new)) >= 0.6
        assert len(classifier.model_.models) == 2

    def test_every_way_to_decide_agrees(self, name):
        classifier, (_, (new, truth)) = fitted_model(name), data(700)
        found, probability = classifier.predict(new), classifier.predict_proba(new)
        np.testing.assert_array_equal(found, classifier.rule_.predict(probability))
        np.testing.assert_array_equal(found, classifier.decision_function(new) > 0.0)
        np.testing.assert_array_equal(found, probability[:, 1] > classifier.threshold_)
        np.testing.assert_array_equal(found, classifier.scores_and_probabilities(new)[0].argmax(1))
        assert classifier.score(new, truth) == pytest.approx(found[truth == 1].mean())

    def test_it_is_saved_with_its_rule(self, name, tmp_path):
        classifier, (_, (new, _)) = fitted_model(name), data(700)
        classifier.save(tmp_path / "model")
        loaded = mf.MetricClassifier.load(tmp_path / "model")
        assert_same_decisions(loaded, classifier, new)
        assert_same_decisions(pickle.loads(pickle.dumps(classifier)), classifier, new)
        assert loaded.subject_to == classifier.subject_to
        assert loaded.summary().splitlines()[:4] == classifier.summary().splitlines()[:4]

    def test_the_summary_has_the_sentences_of_the_rule(self, name):
        classifier = fitted_model(name)
        assert classifier.rule_.summary() in classifier.summary()
        assert "The promise is approximate" in classifier.summary()
        assert "the mean of the 2 fold models predicts" in classifier.summary()


class TestMetricClassifier:
    def test_the_rows_that_set_the_rule_train_nothing(self):
        """Of labels without any signal nothing can be promised, however well the model knows its training rows."""
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(300, 150)), rng.integers(0, 2, 300)
        for calibration in (None, 0.25):
            classifier = limited(0.75, calibration=calibration, model=["linear", "extra_trees"]).fit(x, y)
            assert not classifier.attainable_
            assert classifier.rule_.constraints_[0]["interval"][0] < 0.55

    def test_held_out_rows_make_the_promise_exact(self):
        (x, y), (new, truth) = data()
        exact = limited(0.65, calibration=0.25).fit(x, y)
        assert "The model was trained on other rows than the 500 that set the rule." in exact.summary()
        assert "approximate" not in exact.summary()
        assert precision_score(truth, exact.predict(new)) >= 0.65
        assert exact.coef_.shape == (1, 6)

    def test_without_a_promise_the_limit_holds_out_of_fold(self):
        (x, y), (new, truth) = data()
        classifier = limited(0.8, confidence=None).fit(x, y)
        assert classifier.rule_.constraints_[0]["value"] >= 0.8
        assert "promise" not in classifier.summary()
        assert precision_score(truth, classifier.predict(new)) > 0.7

    def test_what_cannot_be_kept(self, tmp_path):
        (x, y), _ = data(400)
        classifier = limited(0.999).fit(x, y)
        classifier.save(tmp_path / "model")
        for one in (classifier, mf.MetricClassifier.load(tmp_path / "model")):
            assert not one.attainable_
            assert "Not attainable: the best precision[1] that can be promised" in one.summary()
            for ask in (one.predict, lambda rows, one=one: one.score(rows, y)):
                with pytest.raises(NotAttainableError, match="Not attainable"):
                    ask(x)
        assert set(limited(0.999, fallback="best").fit(x, y).predict(x)) <= {0, 1}

    def test_a_later_fit_without_constraints_forgets_the_rule(self):
        (x, y), (new, _) = data(300)
        free = {"subject_to": None, "confidence": None}
        again, plain = limited(0.5).fit(x, y).set_params(**free).fit(x, y), limited(**free).fit(x, y)
        assert_same_decisions(again, plain, new)
        assert not hasattr(again, "rule_")
        assert not hasattr(again, "attainable_")

    def test_in_a_pipeline_and_a_search(self):
        (x, y), (new, truth) = data(900)
        limits = {"metricclassifier__subject_to": ["precision >= 0.5", mf.Constraint("precision", ">=", 0.6)]}
        search = GridSearchCV(make_pipeline(StandardScaler(), limited()), limits, cv=2, error_score="raise").fit(x, y)
        assert search.best_params_["metricclassifier__subject_to"] == "precision >= 0.5"
        assert precision_score(truth, search.predict(new)) >= 0.5
        assert clone(search.best_estimator_[-1]).get_params() == search.best_estimator_[-1].get_params()

    def test_several_classes_and_names(self, tmp_path):
        (x, y), (new, truth) = data(1500, 1, 3)
        names = np.array(["low", "mid", "top"], dtype=object)
        options = {"subject_to": mf.Constraint("precision", ">=", 0.8, "low"), "average": "macro"}
        classifier = limited(metric="f1", **options).fit(x, names[y])
        found = classifier.predict(new)
        assert (names[truth][found == "low"] == "low").mean() >= 0.8
        assert found.dtype == classifier.classes_.dtype
        classifier.save(tmp_path / "model")
        loaded = mf.MetricClassifier.load(tmp_path / "model")
        assert_same_decisions(loaded, classifier, new)
        assert loaded.subject_to == "precision[low] >= 0.8"

    @pytest.mark.parametrize("calibration", [None, 0.25])
    def test_groups_stay_on_one_side(self, calibration):
        """Rows of a group are equal: one in training would give away the others. The labels of groups are coin flips."""
        rng = np.random.default_rng(0)
        groups, labels, values = np.repeat(np.arange(60), 10), rng.integers(0, 2, 60), rng.normal(size=(60, 4))
        splits = list(GroupKFold(4).split(groups, groups=groups))
        options = {"model": ExtraTreesClassifier(10), "confidence": None}
        classifier = limited(0.95, cv=splits, calibration=calibration, **options).fit(values[groups], labels[groups])
        assert not classifier.attainable_ or (classifier.rule_.predicted_ == 1).mean() < 0.1
        assert limited(0.95, **{**options, "cv": 4}).fit(values[groups], labels[groups]).attainable_

    def test_rows_in_the_order_of_time(self):
        (x, y), _ = data(600)
        classifier = limited(0.5, cv=TimeSeriesSplit(5), calibration=0.2).fit(x, y)
        assert "other rows than the 100 that set the rule" in classifier.summary()
        with pytest.raises(ValueError, match=r"`cv` should have splits among the training rows .* or pass calibration=0.25"):
            limited(0.5, cv=TimeSeriesSplit(5)).fit(x, y)

    def test_shared_fits_are_the_fits(self):
        (x, y), (new, _) = data(300)
        for classifier in (limited(0.5), limited(0.5, calibration=0.3, fallback="best")):
            specs = [FitSpec("linear", method, "recall") for method in ("cross_entropy", "threshold")]
            shared = SharedFits(classifier, x, y, specs)
            for spec in specs:
                alone = clone(classifier).set_params(method=spec.method).fit(x, y)
                assert_same_decisions(shared.fit(spec)[0], alone, new)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"subject_to": None}, "`confidence` is for constraints: pass `subject_to` too"),
            ({"calibration": 3}, "`calibration` should be a share of the rows such as 0.25, got 3."),
            ({"subject_to": "precison >= 0.9"}, "Did you mean 'precision'?"),
            ({"confidence": 90}, "`confidence` should lie between 0 and 1"),
            ({"warm_start": True}, "`warm_start` should stay False with `subject_to`"),
            ({"preprocess": TargetEncoder()}, "`preprocess` is fitted to all rows, also to those that set the rule."),
            ({"cv": RepeatedStratifiedKFold(n_splits=2, n_repeats=2)}, "hold out every row once at most. Try cv=5."),
        ],
    )
    def test_options_that_do_not_fit(self, options, message):
        (x, y), _ = data(200)
        with pytest.raises(ValueError, match=message.replace("?", r"\?")):
            limited(**options).fit(x, y)
