"""``OffsetClassifier`` and ``MetricClassifier`` with constraints, and what they promise."""

import pickle
import re
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import precision_score
from sklearn.model_selection import GridSearchCV, GroupKFold, RepeatedStratifiedKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.svm import LinearSVC

import metricfit as mf
from metricfit.decisions import DecisionRule, NotAttainableError
from metricfit.estimators import FitSpec, SharedFits
from tests.estimators.forged import read_description, write_description


def data(n=2000, seed=0, n_classes=2):
    weights = [0.8, 0.2] if n_classes == 2 else None
    options = {"n_features": 6, "n_informative": 4, "n_classes": n_classes, "weights": weights, "class_sep": 0.9}
    features, y = make_classification(4 * n, random_state=seed, **options)
    return (features[:n], y[:n]), (features[n:], y[n:])


def tuned(limit=0.7, metric="recall", estimator=None, **options):
    constraint = {"subject_to": f"precision >= {limit}", "confidence": 0.9, "random_state": 0}
    return mf.OffsetClassifier(estimator or GaussianNB(), metric, **constraint | options)


def limited(limit=0.7, metric="recall", **options):
    constraint = {"subject_to": f"precision >= {limit}", "confidence": 0.9, "random_state": 0}
    return mf.MetricClassifier(metric, **{"model": "linear", "cv": 3} | constraint | options)


def assert_same_decisions(one, other, rows):
    np.testing.assert_array_equal(one.predict(rows), other.predict(rows))
    np.testing.assert_array_equal(one.predict_proba(rows), other.predict_proba(rows))


@pytest.mark.parametrize("build", [tuned, limited])
class TestBothEstimators:
    def test_without_a_promise_the_limit_holds_out_of_fold(self, build):
        (x, y), (new, truth) = data()
        free = build(subject_to=None, confidence=None).fit(x, y)
        kept = build(0.8, confidence=None).fit(x, y)
        assert precision_score(truth, free.predict(new)) < 0.7 < 0.75 < precision_score(truth, kept.predict(new))
        assert kept.rule_.constraints_[0]["value"] >= 0.8
        assert "promise" not in kept.rule_.summary()
        assert not hasattr(free, "rule_")

    def test_held_out_rows_make_the_promise_exact(self, build):
        (x, y), (new, truth) = data()
        exact = build(0.65, calibration=0.25).fit(x, y)
        assert "The model was trained on other rows than the 500 that set the rule." in exact.rule_.summary()
        assert "approximate" not in exact.rule_.summary()
        assert precision_score(truth, exact.predict(new)) >= 0.65

    def test_several_classes_and_names(self, build):
        (x, y), (new, truth) = data(1500, 1, 3)
        names = np.array(["low", "mid", "top"], dtype=object)
        fitted = build(metric="f1", average="macro", subject_to="precision[low] >= 0.8").fit(x, names[y])
        found = fitted.predict(new)
        assert (names[truth][found == "low"] == "low").mean() >= 0.8
        assert found.dtype == fitted.classes_.dtype
        assert repr(fitted.rule_).startswith("DecisionRule: maximise f1_macro subject to precision[low] >= 0.8")

    def test_what_cannot_be_kept(self, build):
        (x, y), _ = data(400)
        refused = build(0.999).fit(x, y)
        assert not refused.attainable_
        for ask in (refused.predict, lambda rows: refused.score(rows, y)):
            with pytest.raises(NotAttainableError, match="Not attainable: the best precision"):
                ask(x)
        assert set(clone(refused).set_params(fallback="best").fit(x, y).predict(x)) <= {0, 1}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"subject_to": None}, "`confidence` is for constraints: pass `subject_to` too"),
            ({"subject_to": None, "confidence": None, "calibration": 0.25}, "`calibration` is for constraints"),
            ({"calibration": 3}, "`calibration` should be a share of the rows such as 0.25, got 3."),
            ({"confidence": 90}, "`confidence` should lie between 0 and 1"),
            ({"subject_to": "precison >= 0.9"}, "Did you mean 'precision'?"),
            ({"cv": RepeatedStratifiedKFold(n_splits=2, n_repeats=2)}, "hold out every row once at most. Try cv=5."),
        ],
    )
    def test_options_that_do_not_fit(self, build, options, message):
        (x, y), _ = data(200)
        with pytest.raises(ValueError, match=re.escape(message)):
            build(**options).fit(x, y)

    def test_weights_cannot_be_promised(self, build):
        (x, y), _ = data(200)
        with pytest.raises(ValueError, match="leave out `sample_weight`"):
            build(0.5).fit(x, y, 1.0 + y)


class TestOffsetClassifier:
    def test_every_way_to_decide_agrees(self):
        (x, y), (new, truth) = data()
        fitted = tuned(0.8, confidence=None).fit(x, y)
        assert isinstance(fitted.estimator_, GaussianNB)
        assert_ways_agree(fitted, new, truth)

    def test_with_confidence_the_mean_of_the_fold_models_predicts(self):
        (x, y), (new, truth) = data()
        fitted = tuned(0.75, cv=4).fit(x, y)
        assert fitted.attainable_
        assert precision_score(truth, fitted.predict(new)) >= 0.75
        folds = fitted.estimator_.estimators_
        np.testing.assert_allclose(fitted.predict_proba(new), np.mean([one.predict_proba(new) for one in folds], 0))
        assert len(folds) == 4
        assert "The promise is approximate" in fitted.rule_.summary()
        assert fitted.n_features_in_ == 6

    def test_a_fitted_estimator(self):
        (x, y), (new, truth) = data()
        model = GaussianNB().fit(new[:2000], truth[:2000])
        direct = DecisionRule("recall", subject_to="precision >= 0.75", confidence=0.9).fit(model.predict_proba(x), y)
        np.testing.assert_allclose(tuned(0.75, estimator=model, cv="prefit").fit(x, y).offsets_, direct.offsets_)
        with pytest.raises(ValueError, match="leave it out with cv='prefit'"):
            tuned(estimator=model, cv="prefit", calibration=0.25).fit(x, y)

    @pytest.mark.parametrize("confidence", [None, 0.9])
    def test_scores_that_are_no_probabilities(self, confidence):
        (x, y), (new, truth) = data()
        fitted = tuned(0.7, estimator=LinearSVC(random_state=0), confidence=confidence).fit(x, y)
        assert precision_score(truth, fitted.predict(new)) >= 0.7
        assert not hasattr(fitted, "predict_proba")

    def test_noise_is_not_for_constraints(self):
        (x, y), _ = data(200)
        with pytest.raises(ValueError, match="`smooth` should stay True"):
            tuned(smooth=False).fit(x, y)


def assert_ways_agree(fitted, new, truth):
    found, probability = fitted.predict(new), fitted.predict_proba(new)
    np.testing.assert_array_equal(found, fitted.rule_.predict(probability))
    np.testing.assert_array_equal(found, fitted.decision_function(new) > 0.0)
    np.testing.assert_array_equal(found, probability[:, 1] > fitted.threshold_)
    assert fitted.score(new, truth) == pytest.approx(found[truth == 1].mean())


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
        assert_ways_agree(classifier, new, truth)
        np.testing.assert_array_equal(classifier.predict(new), classifier.scores_and_probabilities(new)[0].argmax(1))

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

    def test_a_refusal_is_saved(self, tmp_path):
        (x, y), _ = data(400)
        limited(0.999).fit(x, y).save(tmp_path / "model")
        loaded = mf.MetricClassifier.load(tmp_path / "model")
        assert not loaded.attainable_
        assert "Not attainable: the best precision[1] that can be promised" in loaded.summary()
        with pytest.raises(NotAttainableError, match="Not attainable"):
            loaded.predict(x)

    @pytest.mark.parametrize(
        ("part", "value", "problem"),
        [("classes", [0, 7], "the rule has other classes"), ("offsets", [0.0], "its offsets do not fit its classes")],
    )
    def test_a_damaged_rule_is_refused(self, part, value, problem, tmp_path):
        (x, y), _ = data(300)
        limited(0.5).fit(x, y).save(tmp_path / "model")
        found = read_description(tmp_path / "model")
        found["rule"][part] = value
        write_description(tmp_path / "model", found)
        with pytest.raises(ValueError, match=f"contains a damaged model: {problem}"):
            mf.MetricClassifier.load(tmp_path / "model")

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

    def test_a_constraint_as_an_object_is_saved_as_a_sentence(self, tmp_path):
        (x, y), (new, _) = data(600, 1, 3)
        names = np.array(["low", "mid", "top"], dtype=object)
        constraint = mf.Constraint("precision", ">=", 0.5, "low")
        classifier = limited(metric="f1_macro", subject_to=constraint).fit(x, names[y])
        classifier.save(tmp_path / "model")
        loaded = mf.MetricClassifier.load(tmp_path / "model")
        assert_same_decisions(loaded, classifier, new)
        assert loaded.subject_to == "precision[low] >= 0.5"

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
            ({"warm_start": True}, "`warm_start` should stay False with `subject_to`"),
            ({"preprocess": TargetEncoder()}, "`preprocess` is fitted to all rows, also to those that set the rule."),
        ],
    )
    def test_options_that_would_know_the_rows_of_the_rule(self, options, message):
        (x, y), _ = data(200)
        with pytest.raises(ValueError, match=message):
            limited(**options).fit(x, y)
