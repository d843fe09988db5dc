"""Models as files: the same predictions to the last bit, and no pickle."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from metricfit import MetricClassifier, Network, OffsetClassifier, methods, metrics
from metricfit.estimators import UntrustedError, _storage
from tests.estimators.test_frames import pandas_frame, table

N_CLASSES = [2, 3]
LIGHTGBM = ("collections.OrderedDict", "lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier")
XGBOOST = ("xgboost.core.Booster", "xgboost.sklearn.XGBClassifier")
NETWORK = Network(max_epochs=2, n_members=2)
TREE = ("sklearn.tree._tree.Tree",)


class Own(DecisionTreeClassifier):
    """A type that no library knows."""


@pytest.mark.parametrize("limits", [{}, {"subject_to": "precision >= 0.6"}, {"subject_to": "f1 >= 0.1", "confidence": 0.9}])
def test_an_offset_classifier_in_other_formats(tmp_path, limits):
    skops, joblib = pytest.importorskip("skops.io"), pytest.importorskip("joblib")
    features, target = make_classification(1000, weights=[0.8], random_state=0)
    tuned = OffsetClassifier(LogisticRegression(), "recall", random_state=0, **limits).fit(features, target)
    joblib.dump(tuned, tmp_path / "tuned.joblib")
    skops.dump(tuned, tmp_path / "tuned.skops")
    types = skops.get_untrusted_types(file=tmp_path / "tuned.skops")
    assert all(one.startswith("metricfit.") for one in types)
    for again in (joblib.load(tmp_path / "tuned.joblib"), skops.load(tmp_path / "tuned.skops", trusted=types)):
        np.testing.assert_array_equal(again.predict(features), tuned.predict(features))


def rows(n_classes=2, n=180, seed=0):
    """Codes of categories, gaps, and labels that trees can learn."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(n, 5))
    features[:, 0] = random.integers(0, 6, n)
    labels = (features[:, 1] + (features[:, 0] % 2) > 0.5).astype(int)
    if n_classes == 3:
        labels[features[:, 3] > 0.7] = 2
    features[::7, 2] = np.nan
    return features, labels


def fit(model, n_classes=2):
    features, labels = rows(n_classes)
    return MetricClassifier("f1_macro", model=model, method="threshold", cv=3, random_state=0).fit(features, labels), features


def lightgbm(**options):
    pytest.importorskip("lightgbm")
    from lightgbm import LGBMClassifier

    return LGBMClassifier(**{"n_estimators": 4, "verbose": -1, "n_jobs": 1, "min_child_samples": 5} | options)


def xgboost(**options):
    pytest.importorskip("xgboost")
    from xgboost import XGBClassifier

    return XGBClassifier(**{"n_estimators": 4, "n_jobs": 1} | options)


def catboost():
    pytest.importorskip("catboost")
    from catboost import CatBoostClassifier

    return CatBoostClassifier(iterations=4, verbose=False, thread_count=1, allow_writing_files=False)


def assert_same(one, other, data):
    assert (one.decision_function(data) == other.decision_function(data)).all()
    assert (one.predict_proba(data) == other.predict_proba(data)).all()
    assert (one.predict(data) == other.predict(data)).all()


def assert_round_trip(estimator, data, folder, **load_with):
    """Saved, loaded, saved and loaded again."""
    estimator.save(folder / "one")
    loaded = MetricClassifier.load(folder / "one", **load_with)
    assert_same(loaded, estimator, data)
    assert loaded.summary() == estimator.summary()
    assert loaded.forms_ == estimator.forms_
    loaded.save(folder / "two")
    assert_same(MetricClassifier.load(folder / "two", **load_with), estimator, data)
    return loaded


class TestRoundTrip:
    @pytest.mark.parametrize("n_classes", N_CLASSES)
    @pytest.mark.parametrize("model", ["linear", "boosting", "extra_trees", "auto", NETWORK, ["linear", NETWORK]])
    def test_by_name(self, model, n_classes, tmp_path):
        estimator, features = fit(model, n_classes)
        loaded = assert_round_trip(estimator, features, tmp_path)
        assert repr(loaded.model) == repr(model)
        assert not [file for file in (tmp_path / "one").iterdir() if file.suffix in (".pkl", ".pickle", ".pt", ".joblib")]

    @pytest.mark.parametrize("n_classes", N_CLASSES)
    @pytest.mark.parametrize(
        "make",
        [
            lambda: ExtraTreesClassifier(5),
            lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5),
            lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, categorical_features=[0]),
        ],
    )
    def test_estimators_of_scikit_learn(self, make, n_classes, tmp_path):
        estimator, features = fit(make(), n_classes)
        assert_round_trip(estimator, features, tmp_path)

    @pytest.mark.parametrize(
        ("make", "trusted"),
        [
            (lightgbm, LIGHTGBM),
            (xgboost, XGBOOST),
            (lambda: xgboost(booster="dart", missing=0.0), XGBOOST),
            (catboost, ("catboost.core.CatBoostClassifier",)),
            (lambda: RandomForestClassifier(5), TREE),
            (lambda: Own(max_leaf_nodes=6), (f"{__name__}.Own", *TREE)),
            (lambda: make_pipeline(StandardScaler(), lightgbm()), LIGHTGBM),
            (lambda: make_pipeline(SimpleImputer(), StandardScaler(), SVC()), ("numpy.dtype",)),
            (lambda: [lightgbm(), "linear", RandomForestClassifier(5)], (*LIGHTGBM, *TREE)),
        ],
    )
    def test_estimators_of_types_that_you_trust(self, make, trusted, tmp_path):
        estimator, features = fit(make(), n_classes=3)
        assert_round_trip(estimator, features, tmp_path, trusted=trusted)
        with pytest.raises(UntrustedError, match=re.escape(f"pass trusted={tuple(sorted(trusted))!r}")) as caught:
            MetricClassifier.load(tmp_path / "one", trusted=trusted[1:])
        assert "\n" not in str(caught.value)

    def test_an_estimator_comes_back_in_words(self, tmp_path):
        estimator, features = fit([DecisionTreeClassifier(max_depth=3), "linear"])
        estimator.save(tmp_path / "model")
        loaded = MetricClassifier.load(tmp_path / "model", trusted=TREE)
        assert loaded.model == ["DecisionTreeClassifier(max_depth=3)", "linear"]
        with pytest.raises(ValueError, match=r"`model` should be .*got 'DecisionTreeClassifier"):
            loaded.fit(*rows())
        again = MetricClassifier.load(tmp_path / "model", model=estimator.model, trusted=TREE)
        assert_same(again, estimator, features)
        assert_same(again.fit(*rows()), estimator, features)

    @pytest.mark.parametrize("alone", [True, False])
    def test_a_network_of_your_own(self, alone, tmp_path):
        network = Network(nn.Sequential(nn.Linear(6, 2), nn.Tanh()), max_epochs=2)
        model = network if alone else ["linear", network]
        estimator, features = fit(model)
        assert_round_trip(estimator, features, tmp_path, model=model)
        with pytest.raises(ValueError, match="pass it to load as `model="):
            MetricClassifier.load(tmp_path / "one")
        passed = network.module if alone else ["linear", network.module]
        assert_same(MetricClassifier.load(tmp_path / "one", model=passed), estimator, features)

    @pytest.mark.parametrize("model", ["auto", "boosting"])
    def test_a_frame(self, model, tmp_path):
        columns, labels = table(150)
        frame = pandas_frame(columns)
        estimator = MetricClassifier("f1", pos_label="yes", model=model, cv=2, random_state=0).fit(frame, labels)
        strange = frame.head(4).assign(category="new", number=np.nan, text="words never seen")
        assert_round_trip(estimator, pd.concat([frame, strange]), tmp_path)

    def test_a_class_that_a_fold_has_not_seen(self, tmp_path):
        features, labels = rows(2)
        labels[:2] = 2
        halves = [(list(range(90, 180)), list(range(90))), (list(range(90)), list(range(90, 180)))]
        for name, model in {"boosting": "boosting", "list": ["linear", lightgbm(), xgboost()]}.items():
            estimator = MetricClassifier("f1_macro", model=model, cv=halves, method="threshold", random_state=0)
            trusted = {} if name == "boosting" else {"trusted": (*LIGHTGBM, *XGBOOST)}
            assert_round_trip(estimator.fit(features, labels), features, tmp_path / name, **trusted)


def test_without_skops_it_says_what_to_install(monkeypatch, tmp_path):
    estimator, _ = fit(lightgbm())
    monkeypatch.setattr("metricfit._extras.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"needs the package skops: pip install 'metricfit\[own\]'"):
        estimator.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def hit_rate(matrix):
    return matrix.trace() / matrix.sum()


@pytest.mark.parametrize(
    ("metric", "labels", "load_with"),
    [
        ("f1_macro", [0, 1, 2], {}),
        (metrics.FBeta([1, 1, 0.25]), ["a", "b", "ü"], {}),
        (metrics.Cost([[0, 1, 2], [1, 0, 1], [5, 1, 0]]), [1.0, 2.0, 4.0], {}),
        (hit_rate, ["a", "b", "ü"], {"metric": hit_rate}),
    ],
)
def test_metrics_and_labels(metric, labels, load_with, tmp_path):
    features, target = load_iris(return_X_y=True)
    target = np.array(labels)[target]
    order = ["ü", "a", "b"] if "ü" in labels else None  # names have no order of their own
    estimator = MetricClassifier(metric, model="linear", class_order=order, method="threshold", random_state=0)
    loaded = assert_round_trip(estimator.fit(features, target), features, tmp_path, **load_with)
    assert loaded.score(features, target) == estimator.score(features, target)
    assert loaded.class_order_ == estimator.class_order_
    if not load_with:
        assert loaded.metric == metric
        assert loaded.metric_ == estimator.metric_
    assert loaded.classes_.dtype == estimator.classes_.dtype
    assert loaded.candidates_ == estimator.candidates_


@pytest.fixture(scope="module")
def model():
    return MetricClassifier(method="cross_entropy", C=1.0).fit(*load_iris(return_X_y=True))


class TestSave:
    def test_there_already(self, model, tmp_path):
        model.save(tmp_path / "model")
        with pytest.raises(FileExistsError, match="already exists"):
            model.save(tmp_path / "model")
        assert [path.name for path in tmp_path.iterdir()] == ["model"]

    def test_nothing_is_left_behind_by_a_failed_save(self, model, tmp_path, monkeypatch):
        monkeypatch.setattr(_storage, "save_file", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            model.save(tmp_path / "model")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_moments_as_labels_cannot_be_saved(unit, tmp_path):
    features, target = load_iris(return_X_y=True)
    moments = np.datetime64("2024-05-31", unit) + target.astype(f"timedelta64[{unit}]")
    model = MetricClassifier(method="cross_entropy", C=1.0).fit(features, moments)
    with pytest.raises(TypeError, match=rf"Labels of type datetime64\[{unit}\] cannot be saved"):
        model.save(tmp_path / "model")


def test_a_function_has_to_be_passed_to_score(tmp_path):
    features, target = load_iris(return_X_y=True)
    MetricClassifier(hit_rate, method="cross_entropy", C=1.0).fit(features, target).save(tmp_path / "model")
    with pytest.raises(ValueError, match="pass it to load as `metric="):
        MetricClassifier.load(tmp_path / "model").score(features, target)


def test_parameters_come_back(tmp_path):
    features, target = load_iris(return_X_y=True)
    options = {
        "class_weight": {0: 1.0, 1: 1.0, 2: 3.0},
        "class_order": [2, 0, 1],
        "C": np.float32(0.5),
        "random_state": np.int64(3),
        "method": "threshold",
    }
    estimator = MetricClassifier(metrics.FBeta([1, 1, 0.25]), **options).fit(features, target)
    estimator.save(tmp_path / "model")
    loaded = MetricClassifier.load(tmp_path / "model")
    assert loaded.get_params() == {**estimator.get_params(), "C": 0.5, "random_state": 3}
    assert loaded.summary() == estimator.summary()
    network = Network(hidden_layer_sizes=(np.int64(4), 3), max_epochs=1, lr=np.float32(0.5))
    MetricClassifier(model=network, method=methods.get("leaky")).fit(features, target).save(tmp_path / "network")
    loaded = MetricClassifier.load(tmp_path / "network")
    assert (loaded.model.get_params(), loaded.method) == (network.get_params(), "leaky")


class Odd(QuantileTransformer):
    """A transformer of the user's own."""


def test_a_transformer_of_your_own(tmp_path):
    features, target = load_iris(return_X_y=True)
    estimator = MetricClassifier(preprocess=Odd(n_quantiles=20), method="threshold", random_state=0).fit(features, target)
    with pytest.warns(UserWarning, match="cannot store preprocess: after loading"):
        estimator.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"types tests\.estimators\.test_storage\.Odd\. If you trust these"):
        MetricClassifier.load(tmp_path / "model")
    loaded = MetricClassifier.load(tmp_path / "model", trusted=(f"{__name__}.Odd",))
    assert (loaded.decision_function(features) == estimator.decision_function(features)).all()
