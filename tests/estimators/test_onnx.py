"""Classifiers in onnxruntime: the same labels and probabilities, from arrays and from data frames."""

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import metricfit as mf
from metricfit.decisions import NotAttainableError

N_NEW = 10_000


def run(model, feed):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, feed), strict=True))


def array(n_classes, n_rows=300 + N_NEW, gaps=0.05):
    features, y = make_classification(
        n_rows, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.2, random_state=n_classes
    )
    features[np.random.default_rng(0).random(features.shape) < gaps] = np.nan
    return features, y


def frame(n_rows=3000):
    """Numbers with gaps, whole numbers, truth values, texts with rare, unseen and missing values, and more texts than columns."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=n_rows)
    colour = rng.choice(["red", "green", "blue", "grey"], n_rows, p=[0.5, 0.3, 0.196, 0.004]).astype(object)
    town = np.array([f"town {number}" for number in rng.integers(0, 400, n_rows)], object)
    count, big = rng.integers(0, 9, n_rows), rng.random(n_rows) < 0.3
    latent = (
        size + (colour == "red") - 0.2 * count + big + 0.5 * np.char.endswith(town.astype(str), "7") + rng.normal(size=n_rows)
    )
    label = np.array(["low", "middle", "high"])[np.digitize(latent, [-0.8, 0.7])]
    size[rng.random(n_rows) < 0.1] = np.nan
    colour[rng.random(n_rows) < 0.1] = None
    town[n_rows // 2 :: 50] = "nowhere"
    return pd.DataFrame({"size": size, "colour": colour, "how many": count, "town": town, "big": big}), label


def feed_of(table):
    texts = {name: table[[name]].fillna("").to_numpy(object) for name in ("colour", "town")}
    return texts | {name: table[[name]].to_numpy(np.float64) for name in ("size", "how many", "big")}


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", ["linear", "ensemble"])  # the latter has boosted and extremely randomised trees, too
def test_labels_and_probabilities_are_the_same(model, n_classes):
    features, y = array(n_classes)
    classifier = mf.MetricClassifier("f1_macro", model=model, random_state=0).fit(features[:300], y[:300])
    new = features[300:]
    found = run(classifier.to_onnx(), {"X": new})
    assert list(found) == ["label", "probabilities"]
    assert np.array_equal(found["label"], classifier.predict(new))
    assert np.abs(found["probabilities"] - classifier.predict_proba(new)).max() < 1e-12
    assert not np.array_equal(found["label"], found["probabilities"].argmax(1))  # the offsets matter


@pytest.mark.parametrize(("model", "library"), [("linear", pl.from_pandas), ("ensemble", pd.DataFrame)])
def test_data_frames_have_an_input_per_column(model, library):
    table, label = frame()
    train, new = table[:1500], table[1500:]
    classifier = mf.MetricClassifier("f1_macro", model=model, cv=3, random_state=0).fit(library(train), label[:1500])
    onnx_model = classifier.to_onnx()
    assert [one.name for one in onnx_model.graph.input] == list(table)
    found = run(onnx_model, feed_of(new))
    assert found["label"].tolist() == classifier.predict(library(new)).tolist()
    assert np.abs(found["probabilities"] - classifier.predict_proba(library(new))).max() < 1e-12


def test_a_category_that_one_fold_has_not_seen_is_missing_there():
    """Boosted trees of a fold send such a category where missing values go, which is left in some nodes and right in others."""
    rng = np.random.default_rng(1)
    letter = rng.choice(list("abcdefgh"), 400).astype(object)
    letter[:4] = "z"  # in few folds
    letter[rng.random(400) < 0.2] = None
    y = np.isin(letter, ["a", "c", None]) ^ (rng.random(400) < 0.1)
    table = pd.DataFrame({"letter": letter, "noise": rng.normal(size=400)})
    classifier = mf.MetricClassifier("f1", model="boosting", random_state=0).fit(table, y)
    feed = {"letter": table[["letter"]].fillna("").to_numpy(object), "noise": table[["noise"]].to_numpy()}
    found = run(classifier.to_onnx(), feed)
    assert np.array_equal(found["label"], classifier.predict(table))
    assert np.abs(found["probabilities"] - classifier.predict_proba(table)).max() < 1e-12


def test_inputs_may_be_float32():
    features, y = array(3, 1300)
    rounded = features.astype(np.float32)
    classifier = mf.MetricClassifier("accuracy", model="extra_trees", random_state=0).fit(features[:300], y[:300])
    found = run(classifier.to_onnx(dtype="float32"), {"X": rounded})
    assert np.array_equal(found["label"], classifier.predict(rounded.astype(np.float64)))
    with pytest.raises(ValueError, match="`dtype` should be"):
        classifier.to_onnx(dtype="float16")


@pytest.mark.parametrize(
    "classes", [np.array(["no", "yes"]), np.array(["no", "yes"], object), np.array([3, 7]), np.array([False, True])]
)
def test_labels_keep_their_type(classes):
    features, y = array(2, 400)
    classifier = mf.MetricClassifier("f1", model="linear", C=1.0, random_state=0).fit(features, classes[y])
    found = run(classifier.to_onnx(), {"X": features})["label"]
    assert found.tolist() == classifier.predict(features).tolist()


@pytest.mark.parametrize("preprocess", [None, StandardScaler()])
def test_other_preprocessing(preprocess):
    features, y = array(2, 800, gaps=0.0)
    classifier = mf.MetricClassifier("mcc", model="linear", preprocess=preprocess, random_state=0).fit(features[:300], y[:300])
    found = run(classifier.to_onnx(), {"X": features})
    assert np.array_equal(found["label"], classifier.predict(features))


def test_categories_need_not_be_the_first_columns_of_boosted_trees():
    features, y = array(2, 2000, gaps=0.0)
    features[:, 3] = np.digitize(features[:, 3], [-1, 0, 1]) * 3.0
    y = y ^ (features[:, 3] == 3.0)
    trees = HistGradientBoostingClassifier(max_iter=20, categorical_features=[3], random_state=0)
    classifier = mf.OffsetClassifier(trees, "f1", random_state=0).fit(features[:1000], y[:1000])
    features[1500:, 3] = 5.0  # unknown
    found = run(classifier.to_onnx(), {"X": features})
    assert np.array_equal(found["label"], classifier.predict(features))
    assert np.abs(found["probabilities"] - classifier.predict_proba(features)).max() < 1e-12


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        RidgeClassifier(),
        LinearSVC(),
        SVC(),
        GaussianNB(),
        RandomForestClassifier(20, random_state=0),
        ExtraTreesClassifier(20, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_offsets_of_other_estimators(estimator, n_classes):
    features, y = array(n_classes, 1300, gaps=0.0)
    classifier = mf.OffsetClassifier(estimator, "f1_macro", random_state=0).fit(features[:300], y[:300])
    found = run(classifier.to_onnx(), {"X": features})
    assert np.array_equal(found["label"], classifier.predict(features))
    assert ("probabilities" in found) == hasattr(classifier, "predict_proba")


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
def test_forests_round_to_float32_before_they_compare(forest):
    features, y = array(2, 400, gaps=0.0)
    classifier = mf.OffsetClassifier(forest(10, random_state=0), "f1", random_state=0).fit(features, y)
    trees = [one.tree_ for one in classifier.estimator_.estimators_]
    new = np.tile(features, (20, 1))
    for column in range(features.shape[1]):  # a little above thresholds, which float32 does not see
        thresholds = np.concatenate([tree.threshold[tree.feature == column] for tree in trees])
        new[:, column] = np.resize(thresholds * (1.0 + 1e-12 * np.sign(thresholds)), len(new))
    found = run(classifier.to_onnx(), {"X": new})
    assert np.array_equal(found["label"], classifier.predict(new))
    assert np.abs(found["probabilities"] - classifier.predict_proba(new)).max() < 1e-6


def test_the_mean_of_fold_models_and_a_promise():
    features, y = array(2, 1300, gaps=0.0)
    options = {"subject_to": "precision >= 0.6", "confidence": 0.9, "random_state": 0}
    classifier = mf.OffsetClassifier(LogisticRegression(), "recall", **options).fit(features, y)
    found = run(classifier.to_onnx(), {"X": features})
    assert np.array_equal(found["label"], classifier.predict(features))
    assert np.abs(found["probabilities"] - classifier.predict_proba(features)).max() < 1e-12
    refused = mf.OffsetClassifier(LogisticRegression(), "recall", **options | {"subject_to": "precision >= 0.999"}).fit(
        features, y
    )
    with pytest.raises(NotAttainableError, match="Not attainable"):
        refused.to_onnx()


def test_the_rule_of_a_classifier_with_constraints():
    features, y = array(3, 1300)
    options = {"model": "linear", "C": 1.0, "random_state": 0}
    classifier = mf.MetricClassifier("f1_macro", subject_to="recall[2] >= 0.8", **options).fit(features[:600], y[:600])
    found = run(classifier.to_onnx(), {"X": features})
    assert np.array_equal(found["label"], classifier.predict(features))
    refused = mf.MetricClassifier("f1_macro", subject_to="precision[2] >= 1.0 and recall[2] >= 1.0", **options)
    with pytest.raises(NotAttainableError, match="Not attainable"):
        refused.fit(features[:600], y[:600]).to_onnx()


def test_a_class_that_a_fold_has_not_seen():
    features, y = array(3, 600, gaps=0.0)
    y[:] = np.where(y == 2, 1, y)
    y[:3] = 2  # three rows in five folds: two of them have not
    with pytest.warns(UserWarning, match="has 3 rows"):
        classifier = mf.MetricClassifier("f1_macro", model="boosting", random_state=0).fit(features, y)
    assert (
        np.abs(run(classifier.to_onnx(), {"X": features})["probabilities"] - classifier.predict_proba(features)).max() < 1e-12
    )


def test_errors_say_what_to_do():
    features, y = array(2, 300, gaps=0.0)
    table = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=300), "size": features[:, 0]})
    with pytest.raises(ValueError, match=r"Column 'when' contains dates.*Convert it to numbers or categories before the fit"):
        mf.MetricClassifier("f1", model="linear", C=1.0, random_state=0).fit(table, y).to_onnx()
    named = pd.DataFrame({"label": features[:, 0]})
    with pytest.raises(ValueError, match="Rename column 'label'"):
        mf.MetricClassifier("f1", model="linear", C=1.0, random_state=0).fit(named, y).to_onnx()
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(ValueError, match="needs preprocess='auto'"):
        mf.MetricClassifier("f1", model=pipeline, random_state=0).fit(named, y).to_onnx()
    with pytest.raises(ValueError, match="fitted to an array"):
        mf.OffsetClassifier(GaussianNB(), "f1", random_state=0).fit(named, y).to_onnx()
    network = mf.MetricClassifier("f1", model=mf.Network(max_epochs=1, n_members=1), random_state=0).fit(features, y)
    with pytest.raises(ValueError, match=r"linear models, trees, ensembles.*got a network.*`save` and `load`"):
        network.to_onnx()

    class Foreign(GaussianNB):
        pass

    with pytest.raises(ValueError, match=r"skl2onnx cannot convert Foreign\(\).*Register a converter"):
        mf.OffsetClassifier(Foreign(), "f1", random_state=0).fit(features, y).to_onnx()
