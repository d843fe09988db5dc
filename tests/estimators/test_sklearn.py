"""scikit-learn's whole contract: its own checks, and its tools around our estimators."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from metricfit import MetricClassifier, Network, OffsetClassifier

linear = partial(MetricClassifier, model="linear")
# its point is to decide otherwise than the largest probability does, which this check forbids
DECIDES_OTHERWISE = {"check_classifiers_train": "the offsets move the decision away from the largest probability"}
# checks that fit a model to many tables, and for which two folds will do, by model
SPARSE = {"check_estimator_sparse_array", "check_estimator_sparse_matrix"}
TWO_FOLDS = {"auto": SPARSE | {"check_classifiers_train"}, "linear": SPARSE}


SINGLE_PRECISION = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "networks are trained in float32: probabilities are equal up to 1e-6, the check asks for 1e-7",
)


def expected(estimator):
    if isinstance(estimator, OffsetClassifier):
        return DECIDES_OTHERWISE
    if estimator.subject_to is not None:
        weights = "weights of classes count in training, and the rule decides for the metric alone"
        return {**DECIDES_OTHERWISE, "check_class_weight_classifiers": weights}
    return SINGLE_PRECISION if isinstance(estimator.model, Network) else {}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        MetricClassifier(),
        MetricClassifier(model="linear"),
        MetricClassifier(model="boosting", cv=2),  # it is in the default model, too, with five folds
        MetricClassifier(model=Network(n_members=2, max_epochs=10, lr=0.05, hidden_layer_sizes=(16,))),
        MetricClassifier(model="linear", subject_to="accuracy >= 0.1", cv=2),
        OffsetClassifier(LogisticRegression(), "accuracy"),
    ],
    expected_failed_checks=expected,
)
def test_estimator_checks(estimator, check):
    if check.func.__name__ in TWO_FOLDS.get(str(estimator.get_params().get("model")), ()):
        estimator = clone(estimator).set_params(cv=2)
    check(estimator)


def data(n=200, **options):
    return make_classification(n, 8, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0, **options)


def test_the_options_of_a_network_are_searched_as_those_of_any_part():
    features, target = data()
    network = Network(max_epochs=2, n_members=1, hidden_layer_sizes=(4,))
    search = GridSearchCV(MetricClassifier("mcc", model=network, random_state=0), {"model__lr": [1e-9, 0.1]}, cv=2)
    assert search.fit(features, target).best_params_ == {"model__lr": 0.1}
    assert network.lr == 1e-3
    assert repr(search.best_estimator_.model) == "Network(hidden_layer_sizes=(4,), lr=0.1, max_epochs=2, n_members=1)"
    with pytest.raises(ValueError, match="Invalid parameter 'learning_rate' for estimator Network"):
        clone(search.estimator).set_params(model__learning_rate=0.1)


@pytest.mark.parametrize("module", [None, nn.Linear(8, 2), lambda n_features, n_classes: nn.Linear(n_features, n_classes)])
def test_a_name_a_module_and_a_function_are_short_for_a_network(module):
    features, target = data(100)
    short, long = (
        MetricClassifier("f1", model=model, method="cross_entropy", random_state=0).fit(features, target)
        for model in (module or "mlp", Network(module))
    )
    assert (short.decision_function(features) == long.decision_function(features)).all()
    assert short.learner_ == long.learner_ == Network(module).name


def test_warm_start_begins_where_the_last_fit_ended():
    features, target = data()
    estimator = linear("mcc", method="cross_entropy", C=1.0, warm_start=True).fit(features, target)
    first = estimator.coef_.copy()
    estimator.set_params(C=1.0).fit(features, target)
    np.testing.assert_allclose(estimator.coef_, first, rtol=1e-3)
    cold = linear("mcc", method="cross_entropy", C=1.0).fit(features, target)
    np.testing.assert_allclose(cold.coef_, estimator.coef_, rtol=1e-3)


class TestOffsetClassifier:
    def test_is_a_tuned_threshold_for_two_classes(self):
        features, target = load_breast_cancer(return_X_y=True)
        base = make_pipeline(StandardScaler(), LogisticRegression())
        splits = [(np.arange(100, 569), np.arange(100)), (np.arange(469), np.arange(469, 569))]
        ours = OffsetClassifier(base, "balanced_accuracy", cv=splits).fit(features, target)
        theirs = TunedThresholdClassifierCV(base, scoring="balanced_accuracy", cv=splits, thresholds=500).fit(features, target)
        assert abs(ours.score(features, target) - theirs.score(features, target)) < 0.02

    def test_prefit_and_decision_functions(self):
        features, target = load_iris(return_X_y=True)
        fitted = LinearSVC().fit(features[::2], target[::2])
        tuned = OffsetClassifier(fitted, "accuracy", cv="prefit").fit(features[1::2], target[1::2])
        assert tuned.estimator_ is fitted
        assert not hasattr(tuned, "predict_proba")
        assert tuned.score(features[1::2], target[1::2]) >= fitted.score(features[1::2], target[1::2])

    def test_weights_and_string_labels(self):
        features, target = data()
        labels = np.array(["no", "yes"])[target]
        weight = np.where(target == 1, 5.0, 1.0)
        plain = OffsetClassifier(LogisticRegression(), "accuracy", random_state=0).fit(features, labels)
        weighted = OffsetClassifier(LogisticRegression(), "accuracy", random_state=0).fit(
            features, labels, sample_weight=weight
        )
        assert (weighted.predict(features) == "yes").sum() > (plain.predict(features) == "yes").sum()

    def test_scores_of_pairs_of_classes(self):
        features, target = load_iris(return_X_y=True)
        with pytest.raises(ValueError, match="one score per class"):
            OffsetClassifier(SVC(decision_function_shape="ovo"), "accuracy").fit(features, target)

    def test_an_estimator_without_scores(self):
        from sklearn.neighbors import RadiusNeighborsClassifier

        class Silent(RadiusNeighborsClassifier):
            predict_proba = property()

        features, target = data()
        with pytest.raises(TypeError, match="`estimator` should have predict_proba or decision_function"):
            OffsetClassifier(Silent(5.0), "f1").fit(features, target)

    @pytest.mark.parametrize("regressor", [LinearRegression(), make_pipeline(StandardScaler(), LinearRegression())])
    def test_regressors_are_refused(self, regressor):
        with pytest.raises(TypeError, match="`estimator` should be a classifier, got the regressor"):
            OffsetClassifier(regressor, "f1").fit(*data())

    @pytest.mark.parametrize(("metric", "smooth"), [("f1", True), ("recall", False), ("precision", False)])
    @pytest.mark.parametrize(
        "base", [LogisticRegression(), RandomForestClassifier(20, random_state=0)], ids=["linear", "forest"]
    )
    def test_threshold_in_probability_decides_as_predict(self, base, metric, smooth):
        """A forest has many probabilities of exactly 0, 0.5 and 1."""
        features, target = make_classification(400, 6, weights=[0.8], flip_y=0.1, random_state=0)
        tuned = OffsetClassifier(base, metric, smooth=smooth, random_state=0).fit(features, np.array(["no", "yes"])[target])
        above = tuned.predict_proba(features)[:, 1] > tuned.threshold_
        assert (above == (tuned.predict(features) == "yes")).all()
        assert tuned.positive_ == "yes"

    def test_threshold_is_about_the_positive_class(self):
        """Which sorts first here. A rule for the same scores has the same meaning."""
        features, target = make_classification(400, 6, weights=[0.8], flip_y=0.1, random_state=0)
        names = np.array(["good", "bad"])[target]
        limited = OffsetClassifier(LogisticRegression(), "f1", subject_to="recall >= 0.5", random_state=0)
        for model in (OffsetClassifier(LogisticRegression(), "f1", random_state=0), linear("f1", random_state=0), limited):
            model.fit(features, names)
            assert model.positive_ == "bad"
            assert model.threshold_ < 0.5
            above = model.predict_proba(features)[:, 0] > model.threshold_
            assert (above == (model.predict(features) == "bad")).all()
        assert limited.threshold_ == pytest.approx(limited.rule_.threshold_)
        assert linear("mcc", pos_label="bad", random_state=0).fit(features, names).positive_ == "bad"
        assert linear("mcc", random_state=0).fit(features, names).positive_ == "good"

    def test_threshold_of_known_offsets(self):
        features, target = data()
        tuned = OffsetClassifier(LogisticRegression(), "f1", random_state=0).fit(features, target)
        tuned.offsets_ = np.array([-np.log(3.0) / 2, np.log(3.0) / 2])  # one in four is enough
        assert tuned.threshold_ == pytest.approx(0.25)
        tuned.offsets_ = np.array([-20.0, 20.0])
        assert tuned.threshold_ == -np.inf
        assert tuned.predict(features).all()

    def test_threshold_is_for_two_classes_with_probabilities(self):
        features, target = load_iris(return_X_y=True)
        three = OffsetClassifier(LogisticRegression(max_iter=500), "f1_macro", random_state=0).fit(features, target)
        with pytest.raises(AttributeError, match="OffsetClassifier has a threshold_ for two classes only, got 3"):
            _ = three.threshold_
        by_margin = OffsetClassifier(LinearSVC(), "f1", random_state=0).fit(features, target == 2)
        with pytest.raises(AttributeError, match="has no threshold_: its estimator has no predict_proba"):
            _ = by_margin.threshold_
        assert not hasattr(OffsetClassifier(LogisticRegression()), "threshold_")

    @pytest.mark.parametrize("shift", [-3.0, 3.0])
    def test_a_decision_function_may_have_another_zero(self, shift):
        class Shifted(LinearSVC):
            predict_proba = property()

            def decision_function(self, X):  # noqa: N803
                return 5.0 * super().decision_function(X) + shift

        features, target = data()
        plain = OffsetClassifier(LinearSVC(random_state=0), "accuracy", random_state=0).fit(features, target)
        shifted = OffsetClassifier(Shifted(random_state=0), "accuracy", random_state=0).fit(features, target)
        assert (shifted.predict(features) == plain.predict(features)).mean() > 0.99
