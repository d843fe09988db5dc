"""Effects of the linear model: one per category of two values, and none joined that do not belong together."""

import numpy as np
import pandas as pd
import pytest

from metricfit.comparison._features import coefficients_of, join_pairs
from metricfit.estimators import MetricClassifier


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
