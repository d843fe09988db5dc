"""What models use: permutation importance for every kind of table, and the effects of the linear model."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse

from metricfit.comparison import compare
from metricfit.comparison._features import (
    MOST_ROWS,
    _shuffle,
    coefficients_of,
    importance_of,
    join_pairs,
    strongest_effects,
)
from metricfit.estimators import MetricClassifier

NAMES = ["noise", "decides", "helps"]
TABLES = {
    "array": lambda table: table,
    "pandas": lambda table: pd.DataFrame(table, columns=NAMES),
    "pandas, other index": lambda table: pd.DataFrame(table, columns=NAMES, index=np.arange(len(table))[::-1] + 7),
    "pandas, integer names": lambda table: pd.DataFrame(table, columns=[2, 0, 1]),
    "polars": lambda table: pl.DataFrame(table, schema=NAMES),
    "arrow": lambda table: pa.table(dict(zip(NAMES, table.T, strict=True))),
    "sparse matrix": csr_matrix,
    "sparse array": csr_array,
}


def data(n=240, seed=0):
    """Noise, a column that decides, and one that helps a little."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(n, 3))
    return features, (features[:, 1] + 0.3 * features[:, 2] > 0.0).astype(int)


def as_array(table):
    if issparse(table):
        return table.toarray()
    return np.asarray(table.to_pandas() if isinstance(table, pa.Table) else table)


def test_a_column_without_effect_is_not_among_the_effects():
    """The issue: "hour of signup × 1" of dates that all have the same hour. One that is zero in the mean alone stays."""
    splits = [{("hour", "bad"): 0.0, ("age", "bad"): 0.5, ("day", "bad"): sign * 0.1} for sign in (1.0, -1.0)]
    assert [effect.feature for effect in strongest_effects(splits)] == ["age", "day"]


@pytest.mark.parametrize("kind", TABLES)
def test_one_column_is_shuffled_and_the_table_given_stays(kind):
    features, _ = data(20)
    order = np.random.default_rng(1).permutation(20)
    given = TABLES[kind](features.copy())
    expected = features.copy()
    expected[:, 1] = features[order, 1]
    np.testing.assert_array_equal(as_array(_shuffle(given, 1, order)), expected)
    np.testing.assert_array_equal(as_array(given), features)
    assert type(_shuffle(given, 1, order)) is type(given)


@pytest.mark.parametrize("kind", ["array", "pandas, integer names", "arrow", "sparse matrix"])
def test_a_column_that_decides_has_a_large_importance(kind):
    features, target = data()
    options = {"models": ["linear"], "methods": ["auto"], "n_splits": 3, "n_repeats": 1, "importance": True}
    found = compare(TABLES[kind](features), target, "accuracy", **options)
    assert found.columns == {"pandas, integer names": ["2", "0", "1"], "arrow": NAMES}.get(kind, ["1", "2", "3"])
    importance = found.results["linear, auto"].importance
    assert importance.shape == (3, 3)
    noise, decides, helps = importance.mean(0)
    assert decides > 0.3
    assert abs(noise) < 0.05
    assert noise < helps < decides
    json = next(row for row in found.as_json()["results"] if row["method"] == "auto")
    assert json["importance"] == pytest.approx(dict(zip(found.columns, importance.mean(0), strict=True)))


def test_one_method_of_each_model_is_explained():
    """The automatic choice, or else a tuned threshold; only if asked for."""
    features, target = data(120)
    options = {"models": ["boosting"], "n_splits": 2, "n_repeats": 2}
    found = compare(features, target, "accuracy", methods=["auto"], importance=True, **options)
    assert [name for name, result in found.results.items() if result.importance is not None] == [
        "linear, auto",
        "boosting, threshold",
    ]
    assert {len(result.importance) for result in found.results.values() if result.importance is not None} == {2}
    assert found.results["boosting, threshold"].importance.mean(0).argmax() == 1
    found = compare(features, target, "accuracy", methods=["cross_entropy"], importance=True, **options)
    assert found.results["linear, threshold"].importance is not None
    found = compare(features, target, "accuracy", methods=["cross_entropy"], **options)
    assert all(result.importance is None for result in found.results.values())


def test_importance_of_categories_and_of_many_rows():
    """Text columns too; of a large split some rows are enough."""
    random = np.random.default_rng(0)
    colour = random.choice(["red", "green", "blue"], MOST_ROWS + 500)
    table = pd.DataFrame({"colour": colour, "noise": random.choice(["a", "b"], len(colour))})
    labels = (colour == "red").astype(int)
    fitted = MetricClassifier("f1", model="linear", method="threshold", random_state=0).fit(table, labels)
    rows = []
    read = fitted.scores_and_probabilities
    fitted.scores_and_probabilities = lambda given: rows.append(len(given)) or read(given)
    found = importance_of(fitted, table, labels, 0)
    assert rows == [MOST_ROWS] * 3
    assert found[0] > 0.5
    assert found[1] == pytest.approx(0.0, abs=1e-9)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    n_rows = 300
    features = pd.DataFrame(
        {
            "sex": random.choice(["female", "male"], n_rows),
            "smoker": random.choice([True, False], n_rows),
            "colour": random.choice(["red", "green", "blue"], n_rows),
            "age": random.normal(size=n_rows),
        }
    )
    logit = 2.0 * (features["sex"] == "male") - 1.0 + features["age"]
    return features, np.where(random.random(n_rows) < 1.0 / (1.0 + np.exp(-logit)), "ill", "healthy")


def test_a_category_of_two_values_has_one_effect(table):
    """Before, "sex = female" and "sex = male" were listed with the same number and two signs."""
    fitted = MetricClassifier("accuracy", model="linear", method="threshold", random_state=0).fit(*table)
    found = {name: value for (name, _), value in coefficients_of(fitted).items()}
    of_sex = [name for name in found if name.startswith("sex")]
    assert of_sex == ["sex = male (else female)"]
    assert sum(name.startswith("colour = ") for name in found) == 3
    assert sum(name.startswith("smoker") for name in found) == 1
    raw = dict(zip(fitted.preprocessor_.get_feature_names_out(), fitted.coef_[0].tolist(), strict=True))
    assert found["sex = male (else female)"] == pytest.approx(raw["sex = male"] - raw["sex = female"])
    assert found["sex = male (else female)"] > 1.0  # log-odds of ill; 2 in the data, less by the penalty


def test_missing_values_and_rare_ones_are_values_too():
    assert join_pairs({"c = x": 0.5, "c is missing": -0.5}, ["c"]) == {"c is missing (else x)": -1.0}
    three = {"c = x": 0.5, "c = y": 0.1, "c is missing": -0.6}
    assert join_pairs(three, ["c"]) == three


def test_numbers_stay_whatever_their_names_look_like():
    for names in (["a", "a is missing"], ["a", "a = b", "a = c"], ["a", "a is b", "a is rare"]):
        numbers = dict.fromkeys(names, 1.0)
        assert join_pairs(numbers, names) == numbers
    assert join_pairs({"income": 1.0, "income is missing": 2.0}, ["income"]) == {"income": 1.0, "income is missing": 2.0}
    assert join_pairs({"a = b = c": 1.0, "a = b = d": 3.0}, ["a = b"]) == {"a = b = d (else c)": 2.0}
