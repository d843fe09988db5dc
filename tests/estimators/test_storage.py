"""Models as files: the same predictions to the last bit, and no pickle."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from metricfit import MetricClassifier
from metricfit.estimators._storage import UntrustedError
from tests.estimators.test_data import pandas_frame, table

N_CLASSES = [2, 3]
LIGHTGBM = ("collections.OrderedDict", "lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier")
XGBOOST = ("xgboost.core.Booster", "xgboost.sklearn.XGBClassifier")
TREE = ("sklearn.tree._tree.Tree",)


class Own(DecisionTreeClassifier):
    """A type that no library knows."""


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


def fit(model, n_classes=2, **options):
    features, labels = rows(n_classes)
    given = {"method": "threshold", "random_state": 0, "max_epochs": 2, "cv": 3} | options
    return MetricClassifier("f1_macro", model=model, **given).fit(features, labels), features


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
    @pytest.mark.parametrize("model", ["linear", "boosting", "extra_trees", "auto", "mlp", ["linear", "boosting"]])
    def test_by_name(self, model, n_classes, tmp_path):
        estimator, features = fit(model, n_classes)
        loaded = assert_round_trip(estimator, features, tmp_path)
        assert loaded.model == model
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

    @pytest.mark.parametrize("n_classes", N_CLASSES)
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
    def test_estimators_of_types_that_you_trust(self, make, trusted, n_classes, tmp_path):
        estimator, features = fit(make(), n_classes)
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
        network = nn.Sequential(nn.Linear(6, 2), nn.Tanh())
        model = network if alone else ["linear", network]
        estimator, features = fit(model)
        assert_round_trip(estimator, features, tmp_path, model=model)
        with pytest.raises(ValueError, match="pass it to load as `model="):
            MetricClassifier.load(tmp_path / "one")

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

    def test_notes(self, tmp_path):
        features, labels = load_iris(return_X_y=True)
        estimator = MetricClassifier(random_state=0, cv=2).fit(features[::2], labels[::2])
        assert estimator.notes_
        estimator.save(tmp_path / "model")
        assert MetricClassifier.load(tmp_path / "model").notes_ == estimator.notes_

    def test_chunks_give_the_same(self, tmp_path):
        estimator, features = fit("auto")
        estimator.save(tmp_path / "model")
        loaded = MetricClassifier.load(tmp_path / "model")
        chunks = [loaded.predict_proba(features[start : start + 50]) for start in range(0, len(features), 50)]
        assert (np.concatenate(chunks) == estimator.predict_proba(features)).all()


def test_without_skops_it_says_what_to_install(monkeypatch, tmp_path):
    estimator, _ = fit(lightgbm())
    monkeypatch.setattr("metricfit._extras.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"needs the package skops: pip install 'metricfit\[own\]'"):
        estimator.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
