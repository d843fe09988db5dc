"""Models as files: the same predictions to the last bit, and no pickle."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from metricfit import MetricClassifier
from metricfit.learners import _boosters
from tests.estimators.test_data import pandas_frame, table

N_CLASSES = [2, 3]


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
            lightgbm,
            xgboost,
            lambda: lightgbm(boosting_type="rf", bagging_freq=1, bagging_fraction=0.5),
            lambda: xgboost(missing=0.0, gamma=0.5),
            lambda: RandomForestClassifier(5),
            lambda: ExtraTreesClassifier(5),
            lambda: DecisionTreeClassifier(max_leaf_nodes=6),
            lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5),
            lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, categorical_features=[0]),
            lambda: [lightgbm(), "linear", RandomForestClassifier(5)],
        ],
    )
    def test_estimators(self, make, n_classes, tmp_path):
        estimator, features = fit(make(), n_classes)
        assert_round_trip(estimator, features, tmp_path)

    @pytest.mark.parametrize("n_classes", N_CLASSES)
    def test_sets_of_categories_in_lightgbm(self, n_classes):
        features, labels = rows(n_classes)
        model = lightgbm(min_data_per_group=1, cat_smooth=0, max_cat_to_onehot=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(features, labels, categorical_feature=[0])
        text = _boosters.lightgbm_text(model, n_classes)
        assert "cat_threshold" in text
        restored = _boosters.restore_lightgbm(text, 5, n_classes)
        assert (restored.predict_proba(features) == model.predict_proba(features)).all()
        for old, new in (
            ("cat_boundaries=0 1", "cat_boundaries=0 9"),
            ("num_cat=1", "num_cat=7"),
            ("cat_threshold=", "cat_threshold=-"),
        ):
            with pytest.raises(TypeError):
                _boosters.restore_lightgbm(text.replace(old, new, 1), 5, n_classes)

    @pytest.mark.parametrize("make", [lightgbm, xgboost])
    def test_only_trees_of_that_library(self, make, tmp_path):
        """The library itself can open the file."""
        estimator, _ = fit(make())
        estimator.save(tmp_path / "model")
        if make is lightgbm:
            from lightgbm import Booster

            assert Booster(model_file=tmp_path / "model" / "lightgbm.txt").num_trees() == 4
        else:
            from xgboost import Booster

            assert Booster(model_file=tmp_path / "model" / "xgboost.json").num_boosted_rounds() == 4

    def test_an_estimator_comes_back_in_words(self, tmp_path):
        estimator, features = fit([DecisionTreeClassifier(max_depth=3), "linear"])
        estimator.save(tmp_path / "model")
        loaded = MetricClassifier.load(tmp_path / "model")
        assert loaded.model == ["DecisionTreeClassifier(max_depth=3)", "linear"]
        with pytest.raises(ValueError, match=r"`model` should be .*got 'DecisionTreeClassifier"):
            loaded.fit(*rows())
        again = MetricClassifier.load(tmp_path / "model", model=estimator.model)
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
            assert_round_trip(estimator.fit(features, labels), features, tmp_path / name)

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


class TestRefusedAtSave:
    @pytest.mark.parametrize(
        ("make", "reason"),
        [
            (SVC, "SVC cannot be saved without pickle. "),
            (lambda: AdaBoostClassifier(n_estimators=3), "AdaBoostClassifier cannot be saved without pickle. "),
            (lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier()), "Pipeline cannot be saved without pickle. "),
            (lambda: ["linear", SVC()], "SVC cannot be saved without pickle. "),
            (lambda: Own(max_depth=3), "Own cannot be saved without pickle. "),
            (lambda: lightgbm(linear_tree=True), "This LGBMClassifier cannot be saved without pickle: leaf_coeff"),
            (lambda: xgboost(booster="dart"), "This XGBClassifier cannot be saved without pickle: the booster is dart"),
        ],
    )
    def test_in_one_line(self, make, reason, tmp_path):
        features, labels = rows()
        options = {"method": "threshold", "random_state": 0, "cv": 2}
        estimator = MetricClassifier("f1", model=make(), **options).fit(np.nan_to_num(features), labels)
        with pytest.raises(TypeError, match=re.escape(reason)) as caught:
            estimator.save(tmp_path / "model")
        assert "model='boosting'" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert not list(tmp_path.iterdir())


class Own(DecisionTreeClassifier):
    """A subclass may do anything, so it is not what the table means."""
