"""Rules and classifiers inside scikit-learn's pipelines, frozen, with routed metadata, and through mlflow."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import metricfit as mf

FEATURES, Y = make_classification(400, 5, n_informative=4, n_redundant=0, weights=[0.8], flip_y=0.1, random_state=0)
WEIGHT = np.random.default_rng(0).random(400) + 0.1
GROUPS = np.arange(400) // 8
HALF, REST = slice(200), slice(200, None)


@pytest.fixture(scope="module")
def fitted():
    return LogisticRegression().fit(FEATURES[HALF], Y[HALF])


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def linear(**options):
    return mf.MetricClassifier("f1", model="linear", C=1.0, random_state=0, **options)


def rule_pipeline(fitted):
    return make_pipeline(FunctionTransformer(fitted.predict_proba), mf.DecisionRule("f1", kind="probability"))


def test_a_rule_is_the_last_step_of_a_pipeline(fitted):
    pipeline = rule_pipeline(fitted).fit(FEATURES[REST], Y[REST])
    rule = mf.DecisionRule("f1", kind="probability").fit(fitted.predict_proba(FEATURES[REST]), Y[REST])
    scores = fitted.predict_proba(FEATURES)
    assert np.array_equal(pipeline.predict(FEATURES), rule.predict(scores))
    assert pipeline.score(FEATURES, Y) == pytest.approx(sklearn.metrics.f1_score(Y, rule.predict(scores)))
    assert rule.score(scores, Y, WEIGHT) == pytest.approx(
        sklearn.metrics.f1_score(Y, rule.predict(scores), sample_weight=WEIGHT)
    )
    with pytest.raises(ValueError, match=r"classes of the rule, \[0, 1\], got also \[7\]"):
        rule.score(scores[:1], [7])
    fresh = clone(pipeline).set_params(decisionrule__metric="mcc")
    assert not hasattr(fresh[-1], "offsets_")
    assert repr(fresh[-1]) == "DecisionRule, not fitted: maximise mcc."
    assert set(cross_val_predict(rule_pipeline(fitted), FEATURES, Y)) == {0, 1}


def test_frozen_estimators(fitted):
    by_prefit = mf.OffsetClassifier(fitted, "f1", cv="prefit").fit(FEATURES[REST], Y[REST])
    for cv in ("prefit", 5):
        frozen = mf.OffsetClassifier(FrozenEstimator(fitted), "f1", cv=cv, random_state=0).fit(FEATURES[REST], Y[REST])
        assert frozen.threshold_ == pytest.approx(by_prefit.threshold_)
    model = linear().fit(FEATURES[HALF], Y[HALF])
    frozen = FrozenEstimator(model)
    assert np.array_equal(make_pipeline(frozen).fit(FEATURES, 1 - Y).predict(FEATURES), model.predict(FEATURES))
    assert CalibratedClassifierCV(frozen).fit(FEATURES[REST], Y[REST]).predict_proba(FEATURES).shape == (400, 2)


def test_cross_val_predict_and_weights_in_a_pipeline():
    assert set(cross_val_predict(make_pipeline(StandardScaler(), linear()), FEATURES, Y)) == {0, 1}
    tuned = mf.OffsetClassifier(LogisticRegression(), "f1", random_state=0)
    assert cross_val_predict(tuned, FEATURES, Y, method="decision_function").shape == (400,)
    weighted = make_pipeline(StandardScaler(), linear()).fit(FEATURES, Y, metricclassifier__sample_weight=WEIGHT)
    alone = linear().fit(StandardScaler().fit_transform(FEATURES), Y, WEIGHT)
    assert np.array_equal(weighted[-1].coef_, alone.coef_)


@pytest.mark.usefixtures("routing")
def test_weights_are_routed():
    asks = {"sample_weight": True}
    classifier = linear().set_fit_request(**asks, groups=False).set_score_request(**asks)
    found = cross_validate(classifier, FEATURES, Y, cv=GroupKFold(4), params={"sample_weight": WEIGHT, "groups": GROUPS})
    train, test = next(GroupKFold(4).split(FEATURES, Y, GROUPS))
    alone = linear().fit(FEATURES[train], Y[train], WEIGHT[train])
    assert found["test_score"][0] == alone.score(FEATURES[test], Y[test], WEIGHT[test])

    inside = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), LogisticRegression().set_fit_request(**asks))
    tuned = mf.OffsetClassifier(inside, "f1", random_state=0).fit(FEATURES, Y, sample_weight=WEIGHT)
    scaled = StandardScaler().fit_transform(FEATURES)
    assert np.array_equal(tuned.estimator_[-1].coef_, LogisticRegression().fit(scaled, Y, WEIGHT).coef_)


def keeps_groups(cv):
    """An estimator that fails if a group is in the training rows and in the rows that it is judged on."""

    class Judge(LogisticRegression):
        def fit(self, features, y):
            self.seen_ = set(features[:, 0])
            return super().fit(features, y)

        def predict_proba(self, features):
            if not self.seen_.isdisjoint(features[:, 0]) and len(features) < 400:
                raise AssertionError("a group is on both sides")
            return super().predict_proba(features)

    return mf.OffsetClassifier(Judge(), "f1", cv=cv, random_state=0)


@pytest.mark.parametrize("cv", [5, GroupKFold(4)])
def test_rows_of_a_group_stay_in_one_fold(cv):
    rows = np.column_stack([GROUPS, FEATURES])
    classifier = keeps_groups(cv).fit(rows, Y, groups=GROUPS)
    assert classifier.offsets_.shape == (2,)
    with pytest.raises((AssertionError, ValueError), match=r"both sides|'groups' parameter should not be None"):
        keeps_groups(cv).fit(rows, Y)


def test_groups_are_for_the_rule_of_constraints_and_not_for_promises():
    options = {"subject_to": "precision >= 0.5", "random_state": 0}
    classifier = mf.OffsetClassifier(LogisticRegression(), "recall", **options).fit(FEATURES, Y, groups=GROUPS)
    plain = mf.OffsetClassifier(LogisticRegression(), "recall", **options).fit(FEATURES, Y)
    assert classifier.rule_.score_interval_ != plain.rule_.score_interval_
    held_out = mf.OffsetClassifier(LogisticRegression(), "recall", calibration=0.5, **options).fit(FEATURES, Y, groups=GROUPS)
    assert 150 < len(held_out.rule_.predicted_) < 250
    with pytest.raises(ValueError, match="`confidence` needs independent rows"):
        mf.OffsetClassifier(LogisticRegression(), "recall", confidence=0.9, **options).fit(FEATURES, Y, groups=GROUPS)


@pytest.mark.slow
def test_mlflow_keeps_and_serves_them(fitted, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="pip install 'metricfit[howto]'")
    monkeypatch.chdir(tmp_path)
    models = {
        "classifier": make_pipeline(StandardScaler(), linear()).fit(FEATURES, Y),
        "offsets": mf.OffsetClassifier(LogisticRegression(), "recall", subject_to="precision >= 0.5").fit(FEATURES, Y),
        "rule": rule_pipeline(fitted).fit(FEATURES, Y),
    }
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # mlflow's own
            mlflow.sklearn.save_model(model, name, pip_requirements=["metricfit"], serialization_format="cloudpickle")
            loaded, served = mlflow.sklearn.load_model(name), mlflow.pyfunc.load_model(name)
        assert np.array_equal(loaded.predict(FEATURES), model.predict(FEATURES))
        assert np.array_equal(served.predict(FEATURES), model.predict(FEATURES))
