"""Models beside methods: a constant answer, your own models, the order, several metrics at once, and the verdict."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB

from metricfit.comparison import compare
from metricfit.comparison._contenders import KNOWN_MODELS, list_contenders
from metricfit.learners._catalogue import MODELS

SHORT = {"n_splits": 2, "n_repeats": 1}
LINEAR = {"models": ["linear"], "methods": ["cross_entropy"], **SHORT}


def data(n=300, n_classes=2):
    return make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=n_classes, weights=[0.7] if n_classes == 2 else None, random_state=0
    )


def names(models, methods=("cross_entropy",)):
    return [one.name for one in list_contenders(models, methods, {}, False, None)]


def test_models_go_from_simple_to_complex():
    found = names(["ensemble", "extra_trees", "boosting", "linear"])
    assert [name.split(",")[0] for name in found[::2]] == ["trivial", "linear", "boosting", "extra_trees", "ensemble"]
    assert found[:3] == ["trivial, constant", "linear, cross_entropy", "linear, threshold"]
    assert names(["ensemble"])[1:3] == found[1:3]  # the reference is always there
    assert names(["linear", "linear"]) == names(["linear"])
    own = names({"mine": GaussianNB()})
    assert [name.split(",")[0] for name in own[1::2]] == ["linear", "boosting", "mine", "ensemble"]


def test_every_name_of_a_model_can_be_compared():
    assert set(KNOWN_MODELS) == set(MODELS)


def test_networks_take_the_methods_that_were_asked_for():
    found = names(["mlp", "boosting"], ["direct"])
    assert [name for name in found if name.startswith("mlp")] == ["mlp, threshold", "mlp, direct"]
    assert [name for name in found if name.startswith("boosting")] == ["boosting, cross_entropy", "boosting, threshold"]
    default = names(["mlp"], None)
    assert [name for name in default if name.startswith("mlp")] == ["mlp, cross_entropy", "mlp, threshold"]


def test_a_model_that_was_asked_for_and_cannot_take_the_data_is_an_error():
    features, target = data(240)
    with pytest.raises(ValueError, match="does not support sparse matrices"):
        compare(csr_matrix(features), target, "f1", models=["boosting"], methods=["cross_entropy"], **SHORT)


@pytest.mark.parametrize(
    ("metric", "function", "answer"), [("f1", f1_score, 1), ("balanced_accuracy", balanced_accuracy_score, 0)]
)
def test_a_constant_answer_is_the_best_one_for_the_metric(metric, function, answer):
    features, target = data()
    found = compare(features, target, metric, **LINEAR)
    splits = RepeatedStratifiedKFold(n_splits=2, n_repeats=1, random_state=0).split(features, target)
    expected = [function(target[test], np.full(len(test), answer)) for _, test in splits]
    trivial = found.results["trivial, constant"]
    assert trivial.scores == pytest.approx(expected)
    assert set(trivial.held_out.predicted) == {answer}
    np.testing.assert_allclose(trivial.held_out.probability.sum(1), 1.0)
    assert trivial.importance is None
    assert found.choice.contender.model != "trivial"
    assert (found.constant_answer, found.constant_title) == (answer, f"always {answer}")


def test_models_of_your_own_stand_beside_the_default_ones():
    features, target = data(200)
    own = {"naive Bayes": GaussianNB(), "logistic": LogisticRegression()}
    found = compare(features, target, "accuracy", models=own, methods=["cross_entropy"], **SHORT)
    models = list(dict.fromkeys(result.contender.model for result in found.results.values()))
    assert models == ["trivial", "linear", "boosting", "naive Bayes", "logistic", "ensemble"]
    splits = RepeatedStratifiedKFold(n_splits=2, n_repeats=1, random_state=0).split(features, target)
    expected = [GaussianNB().fit(features[train], target[train]).score(features[test], target[test]) for train, test in splits]
    assert found.results["naive Bayes, cross_entropy"].scores == pytest.approx(expected, abs=0.05)
    assert found.results["naive Bayes, cross_entropy"].method.name == "cross_entropy"
    assert not hasattr(own["naive Bayes"], "theta_")  # the user's own is not fitted


def test_a_perfect_model_is_told_from_a_constant_answer():
    """On every split 1 and 0: the difference has no scatter, and so no p-value."""
    target = np.arange(80) % 2
    options = {**LINEAR, "n_splits": 5}
    found = compare(target[:, None] + np.linspace(0.0, 0.1, 80)[:, None], target, "mcc", **options)
    assert found.best.scores == [1.0] * 5
    assert found.verdict.best == found.verdict.recommended == "linear, cross_entropy"
    assert "linear, threshold has the same mean." in found.verdict.about_model
    assert found.warnings == ()
