"""MetricClassifier: what it promises beyond scikit-learn's contract."""

import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.metrics import f1_score, log_loss, matthews_corrcoef
from sklearn.model_selection import PredefinedSplit, ShuffleSplit
from sklearn.svm import LinearSVC
from torch import nn

from metricfit import MetricClassifier, Network, methods, metrics

linear = partial(MetricClassifier, model="linear")


def imbalanced(n=600, k=2, seed=0):
    weights = [0.85] if k == 2 else [0.7, 0.2]
    return make_classification(
        n, 10, n_informative=5, n_classes=k, weights=weights, flip_y=0.05, class_sep=0.7, random_state=seed
    )


@pytest.mark.parametrize(("model", "k"), [("linear", 2), ("linear", 3), (Network(max_epochs=40, lr=1e-2), 3)])
@pytest.mark.parametrize("method", methods.names())
def test_every_method_beats_chance(method, model, k):
    features, target = imbalanced(k=k)
    estimator = MetricClassifier("mcc", method=method, model=model, cv=3, random_state=0)
    estimator.fit(features[:400], target[:400])
    assert estimator.score(features[400:], target[400:]) > 0.15
    assert estimator.predict_proba(features).sum(1) == pytest.approx(1.0)
    assert estimator.summary()
    assert estimator.n_iter_ >= 1


def test_score_is_the_metric_asked_for():
    features, target = imbalanced()
    labels = np.array(["good", "bad"])[target]
    for metric, by_sklearn in (("f1", lambda t, p: f1_score(t, p, pos_label="bad")), ("mcc", matthews_corrcoef)):
        estimator = linear(metric, pos_label="bad", method="threshold", random_state=0).fit(features, labels)
        assert estimator.score(features, labels) == pytest.approx(by_sklearn(labels, estimator.predict(features)))


def test_f1_of_an_imbalanced_set_gains_over_logistic_regression():
    features, target = imbalanced(3000, seed=1)
    train, test = slice(0, 1500), slice(1500, None)
    plain, tuned = (
        linear("f1", method=method, random_state=0).fit(features[train], target[train]).score(features[test], target[test])
        for method in ("cross_entropy", "auto")
    )
    assert tuned > plain + 0.05


def test_metrics_by_object_function_average_and_cost():
    features, target = imbalanced(k=3)
    for metric, options in (
        (metrics.FBeta([1, 1, 0.25]), {}),
        ("f1", {"average": "macro"}),
        (metrics.Precision("macro"), {"average": "weighted"}),
        (lambda matrix: matrix.trace() / matrix.sum(), {}),
        (metrics.Cost([[0, 1, 1], [1, 0, 1], [9, 9, 0]]), {}),
    ):
        estimator = linear(metric, cv=3, random_state=0, **options).fit(features, target)
        assert np.isfinite(estimator.score(features, target))
    assert (estimator.predict(features) == 2).sum() > (target == 2).sum()  # missing class 2 costs nine


def test_candidates_and_history_can_be_read():
    features, target = imbalanced()
    estimator = linear("f1", random_state=0).fit(features, target)
    names = [row["candidate"] for row in estimator.candidates_]
    assert names == ["cross_entropy", "threshold", "direct(1)", "direct(0.1)"]
    assert sum("chosen" in row["verdict"] for row in estimator.candidates_) == 1
    assert "verdict" in repr(estimator.candidates_)
    assert "<table>" in estimator.candidates_._repr_html_()
    direct = linear("f1", method="direct", random_state=0).fit(features, target)
    surrogate = [row["surrogate"] for row in direct.history_]
    assert surrogate == sorted(surrogate, reverse=True)


def test_the_diagonal_of_the_curvature_leads_to_the_same_place(monkeypatch):
    """Many classes with many features take the diagonal only, because their matrices need too much memory."""
    features, target = imbalanced(k=3)
    whole = linear("f1_macro", method="direct", C=1.0, random_state=0).fit(features, target)
    monkeypatch.setattr("metricfit.learners._surrogates.MAX_ENTRIES", 0)
    diagonal = linear("f1_macro", method="direct", C=1.0, random_state=0).fit(features, target)
    assert (whole.coef_ != diagonal.coef_).any()
    assert diagonal.history_[-1]["surrogate"] == pytest.approx(whole.history_[-1]["surrogate"], rel=1e-3)


def test_two_heads():
    features, target = imbalanced(2000)
    train, test = slice(0, 1000), slice(1000, None)
    estimator = linear("balanced_accuracy", method="threshold", random_state=0).fit(features[train], target[train])
    plain = linear(method="cross_entropy", random_state=0).fit(features[train], target[train])
    assert (estimator.predict(features) != estimator.predict_proba(features).argmax(1)).any()
    assert ((estimator.decision_function(features) > 0) == (estimator.predict(features) == 1)).all()
    losses = [log_loss(target[test], found.predict_proba(features[test])) for found in (estimator, plain)]
    assert losses[0] == pytest.approx(losses[1], rel=0.01)


def test_the_same_bits_for_any_number_of_jobs():
    features, target = imbalanced(k=3)
    one, two, again = (linear("f1_macro", cv=3, n_jobs=jobs, random_state=3).fit(features, target) for jobs in (None, 2, 1))
    for other in (two, again):
        assert (one.coef_ == other.coef_).all()
        assert (one.offsets_ == other.offsets_).all()
        assert one.candidates_ == other.candidates_


def test_a_module_with_one_output_and_a_function_that_returns_none():
    features, target = imbalanced()
    network = Network(nn.Sequential(nn.Linear(10, 1)), max_epochs=30, lr=0.05)
    assert MetricClassifier("f1", model=network, random_state=0).fit(features, target).score(features, target) > 0.3
    with pytest.raises(TypeError, match="`model` should be"):
        MetricClassifier("f1", model=lambda n_features, n_classes: None).fit(features, target)


def test_weights_move_the_decision_and_zero_weight_removes_rows():
    features, target = imbalanced()
    weight = np.where(target == 1, 4.0, 1.0)
    plain = linear("accuracy", cv=3, random_state=0).fit(features, target)
    weighted = linear("accuracy", cv=3, random_state=0).fit(features, target, sample_weight=weight)
    assert weighted.predict(features).sum() > plain.predict(features).sum()
    part = linear("accuracy", cv=3, random_state=0).fit(features[:300], target[:300])
    masked = linear("accuracy", cv=3, random_state=0).fit(features, target, sample_weight=np.arange(600) < 300)
    assert (part.coef_ == masked.coef_).all()


def test_weights_that_are_no_counts_get_a_note():
    features, labels = make_classification(200, random_state=0)
    for each, words in ((1.0, None), (1 / 200, "200 rows sum to 1, so"), (5000.0, "200 rows sum to 1,000,000, so")):
        notes = MetricClassifier("mcc", model="linear", C=1.0).fit(features, labels, np.full(200, each)).notes_
        assert [words in note for note in notes] == [True] if words else notes == ()


def test_class_weight_is_for_training_not_for_the_metric():
    features, target = imbalanced()
    balanced = linear("accuracy", method="cross_entropy", class_weight="balanced", random_state=0).fit(features, target)
    plain = linear("accuracy", method="cross_entropy", random_state=0).fit(features, target)
    assert balanced.predict(features).sum() > 1.5 * plain.predict(features).sum()
    with pytest.raises(ValueError, match="`class_weight` should name classes of y, got 7"):
        linear(class_weight={7: 1.0}).fit(features, target)


def test_sparse_matrices_are_dense_ones():
    features, target = imbalanced()
    features = np.where(np.abs(features) < 0.5, 0.0, features)
    dense = linear("f1", preprocess=None, cv=3, random_state=0).fit(features, target)
    sparse = linear("f1", preprocess=None, cv=3, random_state=0).fit(csr_matrix(features), target)
    np.testing.assert_allclose(sparse.decision_function(csr_matrix(features)), dense.decision_function(features), rtol=1e-4)


def test_fewer_members_than_folds():
    features, target = load_iris(return_X_y=True)
    target = target.copy()
    target[0] = 3
    with pytest.warns(UserWarning, match="Class .*3.* has 1 rows for 5 folds"):
        estimator = linear("f1_macro", random_state=0).fit(features, target)
    assert set(estimator.classes_) == {0, 1, 2, 3}
    with pytest.warns(UserWarning, match="3 rows are too few to hold any out"):
        linear().fit(features[[0, 60, 120]], [0, 1, 2])


def test_a_class_with_one_row_does_not_spoil_the_probabilities():
    features, target = imbalanced(k=3)
    plain = linear("f1_macro", random_state=0).fit(features, target)
    target = target.copy()
    target[0] = 3
    with pytest.warns(UserWarning, match="has 1 rows"):
        spoiled = linear("f1_macro", random_state=0).fit(features, target)
    assert spoiled.temperature_ == pytest.approx(plain.temperature_, rel=0.3)
    assert spoiled.C_ == plain.C_


@pytest.mark.parametrize(
    "metric",
    [lambda c: (c[0, 0] / c[0].sum() * c[1, 1] / c[1].sum()).sqrt(), lambda c: c[1, 1] / c[:, 1].sum()],
    ids=["NaN slope", "NaN value"],
)
def test_functions_that_are_not_defined_everywhere(metric):
    features, target = make_classification(400, weights=[0.95], class_sep=0.5, random_state=0)
    estimator = linear(metric, random_state=0).fit(features, target)
    assert estimator.chosen_ != "cross_entropy"
    assert np.isfinite(estimator.score(features, target))


def test_a_function_without_a_gradient():
    with pytest.raises(ValueError, match="should be a differentiable function"):
        linear(lambda c: (c.argmax() == 0).double()).fit(*imbalanced(100))


@pytest.mark.parametrize("model", ["linear", Network(max_epochs=20, lr=1e-2)])
@pytest.mark.parametrize("method", ["direct", "exact"])
def test_probabilities_of_a_single_method_are_calibrated(method, model):
    features, target = imbalanced(3000)
    train, test = slice(0, 2000), slice(2000, None)
    fitted = MetricClassifier("f1", method=method, model=model, cv=3, random_state=0).fit(features[train], target[train])
    logits = np.log(fitted.predict_proba(features[test]))
    losses = [log_loss(target[test], softmax(factor * logits, 1)) for factor in (0.5, 1.0, 2.0)]
    assert losses[1] == min(losses)


@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(1, random_state=0),
        ShuffleSplit(3, random_state=0),
        PredefinedSplit([-1] * 100 + [0] * 50 + [1] * 50),
        [(list(range(100)), list(range(100, 200)))],
        [(np.arange(200) < 150, np.arange(200) >= 150)],
    ],
)
def test_splits_of_any_kind(cv):
    features, target = imbalanced(200)
    assert linear("f1", cv=cv).fit(features, target).score(features, target) > 0.2


def test_warm_starts_that_do_not_fit():
    features, target = imbalanced(200)
    estimator = MetricClassifier("f1", model=Network(max_epochs=2), warm_start=True, random_state=0).fit(features, target)
    estimator.fit(features[:, :5], target)
    estimator.set_params(model="linear").fit(features, target)
    assert estimator.coef_.shape == (1, 10)
    estimator.set_params(model=Network(max_epochs=2)).fit(features, target)
    assert not hasattr(estimator, "coef_")


def test_held_out_rows_of_one_class():
    features, target = np.random.default_rng(0).normal(size=(600, 3)), np.zeros(600, int)
    target[:1] = 1
    MetricClassifier("f1", model=Network(max_epochs=2), random_state=0).fit(features, target)


class TestBadInput:
    features, target = load_breast_cancer(return_X_y=True)

    @pytest.mark.parametrize(
        ("options", "change", "message"),
        [
            ({"preprocess": None}, lambda x, y: (np.where(x > 1000, np.nan, x), y), "NaN"),
            ({}, lambda x, y: (x, np.full(len(y), "ok")), "at least two classes in the data, got one class: 'ok'"),
            ({}, lambda x, y: (x, np.stack([y, y], 1)), r"one label per row, got shape \(569, 2\)\. .* use OffsetClassifier"),
            ({"time_limit": "60"}, None, "`time_limit` should be a number, got '60'"),
            (
                {"metric": "f1"},
                lambda x, y: (x, np.arange(len(y)) % 10),
                "`metric` 'f1' is for two classes, and y has 10. Try 'f1_macro'",
            ),
            ({"metric": "f1_makro"}, None, "Did you mean 'f1_macro'"),
            ({"pos_label": 7}, None, r"`pos_label` should be one of \[0, 1\], got 7"),
            ({"smoothing": "none"}, None, "`smoothing` should be one of"),
            ({"preprocess": "automatic"}, None, "`preprocess` should be one of"),
            ({"C": -1.0}, None, "`C` should be positive, got -1.0"),
            ({"metric": metrics.FBeta([1, 2, 3])}, None, "`beta` should have one entry per class, 2"),
            ({"average": "mean"}, None, "`average` should be one of"),
        ],
    )
    def test_fit(self, options, change, message):
        features, target = change(self.features, self.target) if change else (self.features, self.target)
        with pytest.raises((ValueError, TypeError), match=message):
            linear(**options).fit(features, target)

    def test_a_class_that_was_not_there(self):
        fitted = linear(method="cross_entropy", C=1.0).fit(self.features, self.target)
        with pytest.raises(ValueError, match=r"got also \[5\]"):
            fitted.score(self.features[:3], [0, 1, 5])


INTERRUPTED_FIT = """
import signal
import numpy as np, metricfit as mf
from metricfit import _progress

signal.signal(signal.SIGINT, signal.default_int_handler)
_progress.Bar.step = _progress.Lines.step = lambda *_: signal.raise_signal(signal.SIGINT)
features = np.random.default_rng(0).normal(size=(200, 3))
mf.MetricClassifier("f1", model="linear", verbose=1).fit(features, (features[:, 0] > 0.5).astype(int))
"""


def test_ctrl_c_stops_cleanly():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_FIT], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


class TestMargins:
    """EXACT's margin is chosen by held-out rows, and said."""

    def test_the_best_of_held_out_rows_is_taken_and_named(self):
        features, target = imbalanced(600)
        fitted = linear("accuracy", method="exact", C=1.0, random_state=0).fit(features, target)
        best, rows = fitted.method_.margin, {row["candidate"]: row["metric"] for row in fitted.candidates_}
        names = ["exact" if margin == best else f"exact, margin {margin:g}" for margin in methods.get("exact").margins]
        assert list(rows) == names
        assert rows["exact"] == max(rows.values()) > min(rows.values())
        assert fitted.notes_ == (f"EXACT: margin {best:g}, chosen by held-out rows.",)
        assert fitted.summary().startswith(f"linear, exact for accuracy: {rows['exact']:.4f} on held-out rows")
        assert not fitted.offsets_.any()

    def test_one_margin_needs_no_folds(self):
        features, target = imbalanced(300)
        one = replace(methods.get("exact"), margin=0.5, margins=())
        fitted = linear("accuracy", method=one, C=1.0, random_state=0).fit(features, target)
        assert (len(fitted.candidates_), fitted.notes_) == (0, ())

    def test_random_weights_come_from_random_state(self):
        features, target = imbalanced(300)
        one = replace(methods.get("exact"), margin=0.5, margins=())
        weights = [linear("accuracy", method=one, C=1.0, random_state=seed).fit(features, target).coef_ for seed in (0, 0, 1)]
        np.testing.assert_array_equal(weights[0], weights[1])
        assert (weights[0] != weights[2]).any()

    def test_hinge_has_the_objective_of_crammer_and_singer(self):
        """Against liblinear: at the same penalty, the mean hinge plus the penalty is as low."""
        random = np.random.default_rng(0)
        features = random.normal(size=(300, 4))
        target = (features[:, :3] + random.normal(size=(300, 3))).argmax(1)
        peer = LinearSVC(C=1.0, multi_class="crammer_singer", fit_intercept=False, max_iter=100_000).fit(features, target)
        method = replace(methods.get("hinge"), margins=(), margin=1.0)
        ours = linear("accuracy", method=method, C=1.0, preprocess=None, random_state=0).fit(features, target)

        def objective(weight, intercept=0.0):
            scores = features @ weight.T + intercept
            others = np.where(np.arange(3) == target[:, None], -np.inf, scores).max(1)
            hinge = np.maximum(0.0, 1.0 - scores[np.arange(300), target] + others).mean()
            return hinge + 0.5 * (weight**2).sum() / 300

        assert objective(ours.coef_, ours.intercept_) < objective(peer.coef_) + 1e-3


def test_the_summary_of_a_cost_is_a_positive_number():
    """The issue: "for minus cost: -0.6756"."""
    features, target = imbalanced(200)
    fitted = linear(metrics.Cost([[0.0, 1.0], [5.0, 0.0]])).fit(features, target)
    first = fitted.summary().splitlines()[0]
    (score,) = (row["metric"] for row in fitted.candidates_ if row["candidate"] == fitted.chosen_)
    assert f"for cost per case: {-score:.4f} on held-out rows" in first
    assert "-" not in first.split(":", 1)[1].replace("held-out", "")
