"""Tables as they come, and models as files."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.preprocessing import QuantileTransformer
from torch import nn

from campaign._forge import write_description
from metricfit import MetricClassifier, metrics
from metricfit.estimators import _storage


def table(n=240, seed=0):
    random = np.random.default_rng(seed)
    target = random.integers(0, 2, n)
    start = datetime.datetime(2020, 1, 1)
    return {
        "number": random.normal(size=n) + target,
        "whole": random.integers(0, 9, n),
        "truth": random.random(n) < 0.5,
        "category": [None if u < 0.2 else "ab"[t] for u, t in zip(random.random(n), target, strict=True)],
        "date": [start + datetime.timedelta(hours=int(h)) for h in random.integers(0, 9000, n)],
        "text": [
            " ".join(random.choice(["red", "blue", "tall", "small"], 6)) + f" {i} " + ("fine" if t else "poor")
            for i, t in enumerate(target)
        ],
        "empty": [None] * n,
    }, np.where(target, "yes", "no")


def pandas_frame(columns):
    frame = pd.DataFrame(columns)
    frame.loc[3, "number"], frame.loc[5, "date"] = np.nan, pd.NaT
    frame["categorical"] = frame["category"].astype("category")
    frame["nullable"] = pd.array([1, None] * (len(frame) // 2), dtype="Int64")
    frame["maybe"] = pd.array([True, None] * (len(frame) // 2), dtype="boolean")
    return frame


def polars_frame(columns):
    frame = pl.DataFrame(
        {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in columns.items()}
    )
    return frame.with_columns(pl.col("category").cast(pl.Categorical).alias("categorical"))


@pytest.mark.parametrize("make", [pandas_frame, polars_frame])
def test_frames(make, tmp_path):
    columns, labels = table()
    frame = make(columns)
    estimator = MetricClassifier("f1", pos_label="yes", random_state=0).fit(frame[:160], labels[:160])
    kinds = {part.kind: len(part.places) for part in estimator.preprocessor_.transformers["matrix"].parts}
    assert kinds["dates"] == 1
    assert kinds["text"] == 1
    assert estimator.score(frame[160:], labels[160:]) > 0.9
    estimator.save(tmp_path / "model")
    loaded = MetricClassifier.load(tmp_path / "model")
    assert (loaded.decision_function(frame) == estimator.decision_function(frame)).all()
    assert (loaded.predict_proba(frame) == estimator.predict_proba(frame)).all()


def test_what_was_never_seen():
    columns, labels = table()
    frame = pandas_frame(columns)
    estimator = MetricClassifier("f1", pos_label="yes", random_state=0).fit(frame, labels)
    strange = frame.head(4).assign(category="new", number=np.nan, text="words never seen", truth=False)
    assert len(estimator.predict(strange)) == 4
    with pytest.raises(ValueError, match="'number' held numbers when the model was fitted"):
        estimator.predict(frame.head(4).assign(number="many"))
    with pytest.raises(ValueError, match="feature names"):
        estimator.predict(frame.drop(columns="number"))


def test_a_model_of_a_frame_takes_an_array_with_the_same_columns():
    features, target = load_iris(return_X_y=True, as_frame=True)
    estimator = MetricClassifier(method="cross_entropy", C=1.0).fit(features, target)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = estimator.predict(features.to_numpy())
    assert (found == estimator.predict(features)).all()


def test_a_global_wish_for_frames_does_not_reach_inside():
    columns, labels = table()
    frame = pandas_frame(columns)
    with config_context(transform_output="pandas"):
        assert MetricClassifier("f1", pos_label="yes", random_state=0).fit(frame, labels).score(frame, labels) > 0.9


@pytest.mark.parametrize(
    "values",
    [
        pd.date_range("2024-01-01", periods=60, tz="Europe/Berlin"),
        [datetime.date(2024, 1, 1 + i % 28) for i in range(60)],
        pd.to_timedelta(np.arange(60), unit="ms"),
        [Decimal(i) / 7 for i in range(60)],
        [f"each says something else {i}" for i in range(60)],
        [1, "a", None] * 20,
    ],
)
def test_odd_columns(values):
    frame = pd.DataFrame({"odd": values, "number": np.arange(60.0)})
    estimator = MetricClassifier(method="cross_entropy", C=1.0).fit(frame, np.arange(60) > 30)
    assert estimator.n_inputs_["matrix"] >= 2
    assert (estimator.predict(frame) == (np.arange(60) > 30)).mean() > 0.9


def test_columns_named_by_numbers_or_twice():
    features, target = load_iris(return_X_y=True)
    frame = pd.DataFrame(features)
    assert MetricClassifier(method="cross_entropy", C=1.0).fit(frame, target).score(frame, target) > 0.9
    with pytest.raises(ValueError, match="unique column names"):
        MetricClassifier().fit(pd.DataFrame(features, columns=["a", "a", "b", "b"]), target)


@pytest.mark.parametrize(
    ("metric", "model", "load_with"),
    [
        ("f1_macro", "linear", {}),
        ("mcc", "mlp", {}),
        (metrics.FBeta([1, 1, 0.25]), "linear", {}),
        (metrics.Cost([[0, 1, 2], [1, 0, 1], [5, 1, 0]]), "linear", {}),
        ("mcc", nn.Linear(4, 3), {"model": nn.Linear(4, 3)}),
        (lambda c: c.trace() / c.sum(), "linear", {"metric": lambda c: c.trace() / c.sum()}),
    ],
)
@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "ü"], [1.0, 2.0, 4.0]])
def test_saved_and_loaded(metric, model, load_with, labels, tmp_path):
    features, target = load_iris(return_X_y=True)
    target = np.array(labels)[target]
    order = ["ü", "a", "b"] if "ü" in labels else None  # names have no order of their own
    options = {"model": model, "class_order": order, "max_epochs": 3, "method": "threshold", "random_state": 0}
    estimator = MetricClassifier(metric, **options).fit(features, target)
    estimator.save(tmp_path / "deep" / "model")
    assert not [
        file for file in (tmp_path / "deep" / "model").iterdir() if file.suffix in (".pkl", ".pickle", ".pt", ".joblib")
    ]
    loaded = MetricClassifier.load(tmp_path / "deep" / "model", **load_with)
    assert (loaded.decision_function(features) == estimator.decision_function(features)).all()
    assert (loaded.predict_proba(features) == estimator.predict_proba(features)).all()
    assert (loaded.predict(features) == estimator.predict(features)).all()
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


class TestModelsThatAreNot:
    @pytest.fixture
    def folder(self, model, tmp_path):
        model.save(tmp_path / "model")
        return tmp_path / "model"

    def test_there_already(self, model, folder):
        with pytest.raises(FileExistsError, match="exists already"):
            model.save(folder)
        assert [path.name for path in folder.parent.iterdir()] == ["model"]

    def test_no_model(self, tmp_path):
        with pytest.raises(ValueError, match=r"holds no metricfit model: there is no model\.json"):
            MetricClassifier.load(tmp_path)

    @pytest.mark.parametrize(
        "change", [{"metric": {"type": "Nothing", "fields": {}}}, {"params": {"hidden": {}}}, {"classes": 3}]
    )
    def test_a_description_that_lies(self, folder, change):
        found = json.loads((folder / "model.json").read_text())
        write_description(folder, {**found, **change})
        with pytest.raises(ValueError, match="damaged model"):
            MetricClassifier.load(folder)

    def test_nothing_is_left_behind_by_a_failed_save(self, model, tmp_path, monkeypatch):
        monkeypatch.setattr(_storage, "save_file", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            model.save(tmp_path / "model")
        assert not list(tmp_path.iterdir())

    def test_a_function_and_a_network_have_to_be_given_again(self, tmp_path):
        features, target = load_iris(return_X_y=True)
        options = {"method": "cross_entropy", "max_epochs": 1}
        MetricClassifier(lambda c: c.trace(), **options).fit(features, target).save(tmp_path / "one")
        with pytest.raises(ValueError, match="pass it to load as `metric="):
            MetricClassifier.load(tmp_path / "one").score(features, target)
        MetricClassifier(model=nn.Linear(4, 3), **options).fit(features, target).save(tmp_path / "two")
        with pytest.raises(ValueError, match="pass it to load as `model="):
            MetricClassifier.load(tmp_path / "two")


def test_parameters_come_back(tmp_path):
    features, target = load_iris(return_X_y=True)
    options = {
        "class_weight": {0: 1.0, 1: 1.0, 2: 3.0},
        "C": np.float32(0.5),
        "random_state": np.int64(3),
        "method": "threshold",
    }
    estimator = MetricClassifier(metrics.FBeta([1, 1, 0.25]), **options).fit(features, target)
    estimator.save(tmp_path / "model")
    loaded = MetricClassifier.load(tmp_path / "model")
    assert loaded.get_params() == {**estimator.get_params(), "C": 0.5, "random_state": 3}
    assert loaded.summary() == estimator.summary()


class Odd(QuantileTransformer):
    """A transformer of the user's own."""


def of_your_own():
    return Odd(n_quantiles=10).fit(load_iris().data)


def test_a_transformer_of_your_own(tmp_path):
    features, target = load_iris(return_X_y=True)
    estimator = MetricClassifier(preprocess=Odd(n_quantiles=20), method="threshold", random_state=0).fit(features, target)
    with pytest.warns(UserWarning, match="cannot hold preprocess: after loading"):
        estimator.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"types tests\.estimators\.test_data\.Odd\. If you trust these"):
        MetricClassifier.load(tmp_path / "model")
    loaded = MetricClassifier.load(tmp_path / "model", trusted=(f"{__name__}.Odd",))
    assert (loaded.decision_function(features) == estimator.decision_function(features)).all()
