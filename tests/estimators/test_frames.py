"""Tables as they come: data frames of any library, and columns of any kind."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris

from metricfit import MetricClassifier


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
    with pytest.raises(ValueError, match="'date' held dates when the model was fitted; got '2020-01-01'"):
        estimator.predict(frame.head(4).assign(date="2020-01-01"))
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


def test_names_that_are_no_texts_are_compared_too(tmp_path):
    features, target = load_iris(return_X_y=True)
    frame = pd.DataFrame(features)
    estimator = MetricClassifier(method="cross_entropy", C=1.0).fit(frame, target)
    estimator.save(tmp_path / "model")
    for one in (estimator, MetricClassifier.load(tmp_path / "model")):
        assert one.preprocessor_.get_feature_names_out().tolist() == ["0", "1", "2", "3"]
        assert one.score(frame, target) > 0.9
        with pytest.raises(ValueError, match="Column 0 of X, counted from 0, should be '0' as in the fit, got '3'"):
            one.predict(frame[[3, 2, 1, 0]])
    with pytest.raises(ValueError, match="unique column names"):
        MetricClassifier().fit(pd.DataFrame(features, columns=["a", "a", "b", "b"]), target)


@pytest.mark.parametrize("model", ["linear", "boosting"])
def test_whole_numbers_as_categories_are_one_category_in_every_type(model):
    """A column of whole numbers becomes floats where a value is missing."""
    codes = np.random.default_rng(0).integers(0, 4, 120)
    frame = pd.DataFrame({"code": pd.Categorical(codes)})
    estimator = MetricClassifier(model=model, random_state=0).fit(frame, codes % 2)
    for other in (codes, codes.astype(float), pd.Categorical(codes.astype(float)), codes.astype(str)):
        assert (estimator.predict_proba(pd.DataFrame({"code": other})) == estimator.predict_proba(frame)).all()


@pytest.mark.parametrize("cell", [[1.0, 2.0], np.arange(2.0), {"a": 1}])
def test_nested_cells_are_refused(cell):
    frame = pd.DataFrame({"odd": [cell] * 60, "number": np.arange(60.0)})
    with pytest.raises(ValueError, match=f"Column 'odd' of X has cells of type {type(cell).__name__}, which cannot be used"):
        MetricClassifier(method="cross_entropy", C=1.0).fit(frame, np.arange(60) > 30)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        MetricClassifier().fit(frame[[]], np.arange(60) > 30)


def test_cells_without_a_word_are_categories():
    """A vectorizer finds no word of two letters in them."""
    frame = pd.DataFrame({"letters": [" ".join(f"{number:06b}") for number in range(60)], "number": np.arange(60.0)})
    assert (
        MetricClassifier(method="cross_entropy", C=1.0).fit(frame, np.arange(60) > 30).score(frame, np.arange(60) > 30) > 0.9
    )
