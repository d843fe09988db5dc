"""Every model that MetricClassifier takes: real boosters, ensembles, and what is decided for the user."""

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from scipy.sparse import csr_matrix
from scipy.special import log_softmax
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from xgboost import XGBClassifier

import metricfit as mf
from metricfit.decisions import NEVER, cross_fit_offsets, fit_smooth_offsets
from metricfit.learners import _catalogue, _estimators
from metricfit.learners._models import LEAST_LOG, MeanModel

LGBM = LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)
XGB = XGBClassifier(n_estimators=20, n_jobs=1)
CATBOOST = CatBoostClassifier(iterations=20, verbose=False, thread_count=1, allow_writing_files=False)


def table(n=300, classes=2, seed=0):
    return make_classification(
        n, 6, n_informative=4, n_classes=classes, weights=[0.7] if classes == 2 else None, flip_y=0.1, random_state=seed
    )


def fit(model, data, metric="f1_macro", **options):
    return mf.MetricClassifier(metric, model=model, random_state=0, **options).fit(*data)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [LGBM, XGB, CATBOOST, RandomForestClassifier(20), GaussianNB(), KNeighborsClassifier(), LinearSVC(), SVC()],
    ids=lambda model: type(model).__name__,
)
def test_any_classifier_is_decided_for_the_metric(model, classes):
    features, target = data = table(400, classes)
    fitted = fit(model, data, cv=3)
    assert fitted.learner_ == type(model).__name__
    assert fitted.chosen_ == "threshold"
    assert fitted.score(features, target) > 0.6
    assert {row["candidate"] for row in fitted.candidates_} == {"threshold", "cross_entropy"}
    probability = fitted.predict_proba(features)
    np.testing.assert_allclose(probability.sum(1), 1.0)
    assert (fitted.predict(features) == fitted.classes_[(fitted.scores_and_probabilities(features)[0]).argmax(1)]).all()


def test_the_users_estimator_is_not_touched():
    model = RandomForestClassifier(5)
    fit(model, table(), cv=2)
    assert not hasattr(model, "estimators_")
    assert model.random_state is None


def test_out_of_fold_scores_and_offsets_are_those_that_scikit_learn_would_give():
    """A second way to the same offsets: cross_val_predict on the same folds."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    features, target = table()
    folds = StratifiedKFold(4, shuffle=True, random_state=7)
    fitted = fit(GaussianNB(), (features, target), "mcc", cv=folds, preprocess=None)
    order = np.concatenate([test for _, test in folds.split(features, target)])
    parts = np.split(np.arange(300), np.cumsum([len(test) for _, test in folds.split(features, target)])[:-1])
    scores = np.log(np.maximum(cross_val_predict(GaussianNB(), features, target, cv=folds, method="predict_proba"), 1e-12))[
        order
    ]
    offsets = cross_fit_offsets(scores, target[order], fitted.metric_, np.ones(300), parts, fit=fit_smooth_offsets)
    np.testing.assert_allclose(fitted.offsets_, np.mean(offsets, 0) - np.mean(offsets), atol=1e-9)
    np.testing.assert_allclose(
        fitted.model_.logits(features), np.log(GaussianNB().fit(features, target).predict_proba(features))
    )


def test_boosting_is_the_mean_of_fold_models_with_one_number_of_rounds():
    features, _ = data = table(600)
    fitted = fit("boosting", data)
    assert isinstance(fitted.model_, MeanModel)
    models = [model.estimator for model in fitted.model_.models]
    assert len(models) == 5
    mean = np.mean([model.predict_proba(features) for model in models], 0)
    np.testing.assert_allclose(np.exp(fitted.model_.logits(features)), mean, atol=1e-12)
    median = int(np.median([np.argmax(model.validation_score_) for model in models]))
    trained = [len(model.validation_score_) - 1 for model in models]  # rounds before they were cut
    assert [model.n_iter_ for model in models] == [min(median, rounds) for rounds in trained]
    assert median < max(trained)


def test_boosting_reads_categories_and_gaps_natively():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    colour = random.choice(["red", "green", "blue", None], 500)
    size = np.where(random.uniform(size=500) < 0.2, np.nan, random.normal(size=500))
    target = (colour == "green") ^ np.isnan(size)
    frame = pandas.DataFrame({"size": size, "empty": np.full(500, np.nan), "colour": colour})
    fitted = fit("boosting", (frame, target), "mcc")
    assert fitted.score(frame, target) > 0.95
    for model in fitted.model_.models:
        assert model.estimator.is_categorical_.tolist() == [True, False, False]  # codes come first
    unseen = pandas.DataFrame({"size": [0.0], "empty": [1.0], "colour": ["violet"]})
    assert fitted.predict(unseen).shape == (1,)


def test_extra_trees_judge_rows_that_they_have_not_seen():
    features, target = table()
    fitted = fit("extra_trees", (features, target), "mcc")
    forest = ExtraTreesClassifier(200, min_samples_leaf=2, bootstrap=True, oob_score=True)
    forest.set_params(random_state=fitted.model_.estimator.random_state).fit(features, target)
    np.testing.assert_array_equal(forest.predict_proba(features), fitted.model_.estimator.predict_proba(features))
    rows = {row["candidate"]: row["metric"] for row in fitted.candidates_}
    honest = matthews_corrcoef(target, forest.oob_decision_function_.argmax(1))
    assert rows["cross_entropy"] == pytest.approx(honest)


def test_extra_trees_keep_the_groups_of_your_splits():
    """Rows of one group are alike and share a random label, so only a model that has seen the group can know it."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 5)
    features = rng.normal(size=(60, 4))[groups] + 0.01 * rng.normal(size=(300, 4))
    target = rng.integers(0, 2, 60)[groups]
    splits = list(GroupKFold(5).split(features, target, groups))
    fitted = fit("extra_trees", (features, target), "accuracy", cv=splits)
    assert {row["candidate"]: row["metric"] for row in fitted.candidates_}["cross_entropy"] < 0.7
    leaking = fit("extra_trees", (features, target), "accuracy", cv=5)
    assert {row["candidate"]: row["metric"] for row in leaking.candidates_}["cross_entropy"] > 0.95


@pytest.mark.parametrize("classes", [2, 3])
def test_the_ensemble_is_a_logistic_head_on_log_probabilities(classes):
    features, _ = data = table(400, classes)
    fitted = fit("auto", data, cv=3)
    assert fitted.learner_ == "ensemble"
    assert fitted.model_.names == ("linear", "boosting", "extra_trees")
    assert fitted.notes_ == ()
    columns = []
    for member, form in zip(fitted.model_.members, fitted.model_.forms, strict=True):
        rows = features if form == "columns" else fitted.preprocessor_.transformers["matrix"].transform(features)
        log_p = np.maximum(log_softmax(member.logits(rows), 1), LEAST_LOG)
        columns.append(log_p[:, [1]] - log_p[:, [0]] if classes == 2 else log_p - log_p.mean(1, keepdims=True))
    head = fitted.model_.head
    by_hand = np.concatenate(columns, 1) @ head.weight + head.intercept
    by_hand = np.concatenate([-0.5 * by_hand, 0.5 * by_hand], 1) if classes == 2 else by_hand
    np.testing.assert_allclose(
        fitted.decision_function(features) if classes > 2 else fitted.scores_and_probabilities(features)[0],
        by_hand + fitted.offsets_,
        atol=1e-12,
    )
    names = [row["candidate"] for row in fitted.candidates_]
    assert names == ["threshold", "cross_entropy", "linear, threshold", "boosting, threshold", "extra_trees, threshold"]
    assert "ensemble, threshold for f1_macro" in fitted.summary()


def test_accuracy_takes_the_largest_probability():
    features, _ = data = table(300)
    fitted = fit("auto", data, "accuracy", cv=3)
    assert fitted.chosen_ == "cross_entropy"
    assert (fitted.offsets_ == 0.0).all()
    assert (fitted.predict(features) == fitted.predict_proba(features).argmax(1)).all()


def test_the_same_for_any_number_of_jobs_and_every_time():
    features, _ = data = table(200)
    model = ["linear", "boosting", "extra_trees", LGBM]
    one, two, again = (fit(model, data, cv=3, n_jobs=jobs) for jobs in (None, 2, 1))
    for other in (two, again):
        np.testing.assert_array_equal(one.decision_function(features), other.decision_function(features))
        np.testing.assert_array_equal(one.predict_proba(features), other.predict_proba(features))
    assert one.candidates_ == two.candidates_


def test_a_list_is_an_ensemble_with_distinct_names():
    features, _ = data = table(300)
    fitted = fit(["linear", LGBM, GaussianNB(), GaussianNB()], data, cv=3)
    assert fitted.model_.names == ("linear", "LGBMClassifier", "GaussianNB", "GaussianNB_2")
    assert fitted.predict(features).shape == (300,)


def test_an_ensemble_in_a_list_gives_its_members():
    fitted = fit(["auto", GaussianNB()], table(200), cv=2)
    assert fitted.model_.names == ("linear", "boosting", "extra_trees", "GaussianNB")


def test_networks_in_a_list_are_fold_networks():
    fitted = fit(["linear", mf.Network(max_epochs=2, hidden_layer_sizes=(4,))], table(200), cv=2)
    assert isinstance(fitted.model_.members[1], MeanModel)
    assert len(fitted.model_.members[1].models) == 2


def test_a_pipeline_reads_the_users_own_table():
    pandas = pytest.importorskip("pandas")
    features, target = load_iris(return_X_y=True, as_frame=True)
    frame = features.assign(kind=pandas.Series(target % 2).map({0: "even", 1: "odd"}))
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), list(features.columns))), LogisticRegression()
    )
    alone = fit(pipeline, (frame, target))
    assert alone.forms_ == ["given"]
    beside = fit([pipeline, "linear"], (frame, target), cv=3)
    assert beside.forms_ == ["given", "matrix"]
    assert beside.score(frame, target) > 0.9


@pytest.mark.parametrize(
    ("data", "kept", "note"),
    [
        (table(90), None, "there are fewer than 100 rows"),
        (
            (csr_matrix(table(200)[0]), table(200)[1]),
            ("linear", "extra_trees"),
            "boosting is left out: it does not support sparse matrices.",
        ),
        (
            (np.eye(35).repeat(4, 0) + 0.0, np.arange(35).repeat(4)),
            ("linear", "extra_trees"),
            "boosting is left out: there are more than 30 classes.",
        ),
    ],
)
def test_members_that_cannot_take_the_data_are_left_out_and_named(data, kept, note):
    fitted = fit("auto", data, cv=3)
    assert note in "\n".join(fitted.notes_)
    assert note in fitted.summary()
    if kept is None:
        assert fitted.learner_ == "linear"
        assert fitted.coef_.shape[1] == data[0].shape[1]
    else:
        assert fitted.model_.names == kept


def test_a_cap_on_rows_is_named(monkeypatch):
    monkeypatch.setattr(_estimators, "MAX_ROWS", 150)
    monkeypatch.setattr(_catalogue, "MAX_ROWS", 150)
    fitted = fit("auto", table(300), cv=3)
    assert fitted.notes_ == ("extra_trees: each tree sees 150 of 300 rows.",)
    assert fitted.model_.members[2].estimator.max_samples == 150


def test_a_method_for_the_metric_makes_the_automatic_model_linear():
    fitted = fit("auto", table(200), "f1", method="direct")
    assert fitted.learner_ == "linear"
    assert fitted.notes_ == ("The model is linear, because trees do not support the method direct.",)


def test_classes_that_a_fold_has_not_seen():
    features, target = load_iris(return_X_y=True)
    rows = np.r_[0:60, 60:100, 100:102]
    with pytest.warns(UserWarning, match="Class 2 has 2 rows"):
        fitted = fit(["linear", "boosting", "extra_trees", XGB], (features[rows], target[rows]), cv=4)
    assert (fitted.model_.members[1].logits(features[rows]) > NEVER).all()  # the mean knows every class
    assert np.isfinite(fitted.decision_function(features)).all()
    np.testing.assert_allclose(fitted.predict_proba(features).sum(1), 1.0)


def test_weights_reach_trees_and_are_refused_where_they_cannot():
    features, target = table(300)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 300)
    for model in ("boosting", "extra_trees", LGBM):
        plain = fit(model, (features, target), cv=3)
        weighted = mf.MetricClassifier("f1_macro", model=model, cv=3, random_state=0).fit(
            features, target, sample_weight=weight
        )
        assert (plain.predict_proba(features) != weighted.predict_proba(features)).any()
    with pytest.raises(ValueError, match="`model` KNeighborsClassifier does not support sample_weight"):
        mf.MetricClassifier(model=KNeighborsClassifier()).fit(features, target, sample_weight=weight)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": "boosted"}, ValueError, "`model` should be one of"),
        ({"model": LGBMClassifier}, TypeError, r"pass LGBMClassifier\(\)"),
        ({"model": 3}, TypeError, "a scikit-learn classifier"),
        ({"model": []}, ValueError, "at least one model"),
        ({"model": StandardScaler()}, TypeError, "should have predict_proba or decision_function"),
        ({"model": "boosting", "method": "direct"}, ValueError, "'boosting' is trained with cross-entropy"),
        ({"model": "ensemble", "method": "exact"}, ValueError, "or model='linear'"),
        ({"model": "boosting", "X": csr_matrix(table(120)[0])}, ValueError, "does not support sparse matrices"),
        ({"model": ["linear", "boosting"], "y": np.r_[0, np.ones(119)]}, ValueError, "an ensemble needs out-of-fold scores"),
    ],
)
def test_bad_models(options, error, message):
    features, target = table(120)
    features, target = options.pop("X", features), options.pop("y", target)
    with pytest.raises(error, match=message):
        mf.MetricClassifier(**options).fit(features, target)


def test_progress_counts_every_step(capsys, monkeypatch):
    from metricfit._progress import Lines
    from metricfit.estimators import _classifier

    monkeypatch.setattr(_classifier, "bar_or_lines", Lines)
    fit("auto", table(200), cv=3, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith(f"{len(lines)} of {len(lines)}: done, f1_macro 0.")
    assert any("boosting" in line for line in lines)
    assert any("extra_trees" in line for line in lines)


def test_trees_take_gaps_without_preprocessing():
    features, target = table(200)
    features[::7, 0] = np.nan
    assert fit("boosting", (features, target), cv=2, preprocess=None).score(features, target) > 0.6
    with pytest.raises(ValueError, match="NaN"):
        fit("linear", (features, target), preprocess=None)


def test_a_single_tree_model_of_scikit_learn_reads_columns():
    fitted = fit(HistGradientBoostingClassifier(max_iter=10), table(200), cv=2)
    assert fitted.forms_ == ["columns"]
    assert fit(SVC(), table(200), cv=2).forms_ == ["matrix"]


@pytest.mark.parametrize("model", ["boosting", "ensemble"])
def test_a_fold_whose_held_out_rows_have_only_unseen_classes(model, tmp_path):
    """A class may be in a single group."""
    X, _ = make_classification(200, 5, random_state=0)  # noqa: N806
    groups = np.arange(200) // 20
    y = np.where(groups == 5, 2, X[:, 0] > 0.0)
    classifier = mf.MetricClassifier("mcc", model=model, cv=10, random_state=0).fit(X, y, groups=groups)
    assert (classifier.predict(X) == y)[groups != 5].mean() > 0.9
    classifier.save(tmp_path / "model")
    assert (mf.MetricClassifier.load(tmp_path / "model").predict_proba(X) == classifier.predict_proba(X)).all()


@pytest.mark.parametrize("model", ["linear", "boosting"])
def test_a_fold_with_one_class_to_train_on(model):
    X, y = make_classification(100, 5, random_state=0)  # noqa: N806
    with pytest.raises(ValueError, match="`cv` should leave at least two classes in every training fold, got one class"):
        mf.MetricClassifier("mcc", model=model, cv=TimeSeriesSplit(2)).fit(X, np.sort(y))


def test_an_ensemble_with_a_single_split():
    """The head and the offsets are judged by folds of its held-out rows."""
    X, y = table(600)  # noqa: N806
    split = np.arange(400), np.random.default_rng(0).permutation(np.arange(400, 600))
    classifier = fit("ensemble", (X, y), cv=[split])
    found = {row["candidate"]: row["metric"] for row in classifier.candidates_}
    assert found["cross_entropy"] > found["boosting, threshold"] - 0.1  # 0.4 less if scores went to other rows
    assert classifier.score(X, y) > found["threshold"] > 0.7
    with pytest.raises(ValueError, match="`cv` should hold out two rows or more of at least two classes for an ensemble"):
        fit("ensemble", (X, y), cv=[(np.arange(400), np.array([401]))])
