"""Labels, weights and splits that no estimator can use: refused in one line; extreme weights: used."""

import re
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import metricfit as mf
from metricfit import MetricClassifier, Network, OffsetClassifier
from metricfit.estimators._base import check_weight

X, Y = make_classification(120, 5, n_informative=3, n_redundant=0, n_classes=3, random_state=0)
FIRST = np.arange(len(Y)) == 3
ESTIMATORS = {
    "classifier": partial(MetricClassifier, "f1_macro", model="linear", cv=3, random_state=0),
    "network": partial(MetricClassifier, "f1_macro", model=Network(max_epochs=2), cv=3, random_state=0),
    "offsets": partial(OffsetClassifier, LogisticRegression(), "f1_macro", cv=3, random_state=0),
}
by_estimator = pytest.mark.parametrize("name", ESTIMATORS)
by_splits = pytest.mark.parametrize("name", ["classifier", "offsets"])


def refuse(fit, *parts):
    with pytest.raises(ValueError, match=re.escape(parts[0])) as found:
        fit()
    message = str(found.value)
    assert "\n" not in message
    assert all(part in message for part in parts), message


class TestWeights:
    @by_estimator
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::scipy.linalg.LinAlgWarning")
    @pytest.mark.parametrize(
        "weight",
        [
            np.full(120, 5e-324),
            np.full(120, 1e308),
            np.where(FIRST, 5e-324, 1.0),
            np.where(FIRST, 1.0, 5e-324),
            np.where(np.arange(120) % 2, 5e-324, 1e308),
            np.where(Y == 1, 5e-324, 1.0),
        ],
        ids=["all tiny", "all huge", "one tiny", "all but one tiny", "both", "a tiny class"],
    )
    def test_extreme_ones(self, name, weight):
        fitted = ESTIMATORS[name]().fit(X, Y, sample_weight=weight)
        probabilities = fitted.predict_proba(X)
        assert np.isfinite(probabilities).all()
        assert probabilities.sum(1) == pytest.approx(1.0)
        assert np.isfinite(fitted.score(X, Y, sample_weight=weight))

    @by_estimator
    @pytest.mark.parametrize("size", [5e-324, 1e308])
    def test_all_the_same_are_as_ones(self, name, size):
        plain, weighted = (ESTIMATORS[name]().fit(X, Y, sample_weight=np.full(120, one)) for one in (1.0, size))
        assert (plain.decision_function(X) == weighted.decision_function(X)).all()

    def test_usual_ones_are_left_alone(self):
        weight = np.random.default_rng(0).uniform(0.0, 7.0, 120)
        assert (check_weight(weight, 120) == weight).all()


class TestLabels:
    @pytest.mark.parametrize("name", [*ESTIMATORS, "compare"])
    @pytest.mark.parametrize(
        ("labels", "parts"),
        [
            (["a", 1] * 60, ["`y`", "int (60 rows) and str (60 rows)", "Try"]),
            (np.array(["a", 1] * 60, object), ["`y`", "int (60 rows) and str (60 rows)", "Try"]),
            (np.array(["a", 1, 2.5] * 40, object), ["`y`", "float (40 rows) and int (40 rows) and str (40 rows)", "Try"]),
            (["a", "b", None] * 40, ["y contains NaN", "Drop these rows"]),
            (np.array([True, 2] * 60, object), ["`y`", "bool (60 rows) and int (60 rows)", "Try"]),
            ([True, 2] * 60, ["`y`", "bool (60 rows) and int (60 rows)", "Try"]),
            ([b"a", b"b"] * 60, ["`y`", "bytes", "decode"]),
            (np.array([b"a", b"b"] * 60), ["`y`", "bytes", "decode"]),
            (np.array([b"a", "b"] * 60, object), ["`y`", "bytes (60 rows) and str (60 rows)", "Try"]),
        ],
        ids=["list", "array", "three", "gap", "bool", "bools in a list", "bytes", "array of bytes", "bytes and text"],
    )
    def test_that_are_mixed(self, name, labels, parts):
        if name == "compare":
            refuse(lambda: mf.compare(X, labels, "f1_macro", models=["linear"], n_repeats=1), *parts)
        else:
            refuse(lambda: ESTIMATORS[name]().fit(X, labels), *parts)

    @by_estimator
    def test_in_score(self, name):
        fitted = ESTIMATORS[name]().fit(X, np.array(["a", "b", "c"])[Y])
        refuse(lambda: fitted.score(X[:2], np.array(["a", 1], object)), "`y`", "int (1 rows) and str (1 rows)", "Try")

    @by_estimator
    @pytest.mark.parametrize(
        "labels", [[1, 2.0, np.int8(3)], np.array([0, 1.0, 2], object), [True, False, True], ["a", np.str_("b"), "c"]]
    )
    def test_of_one_kind(self, name, labels):
        target = [labels[place] for place in Y]
        assert len(ESTIMATORS[name]().fit(X, target).classes_) == len(set(labels))


def spent():
    splits = iter([(np.arange(60), np.arange(60, 120))])
    next(splits)
    return splits


class TestSplits:
    @by_splits
    @pytest.mark.parametrize(
        ("cv", "parts"),
        [
            ([], ["at least one split, got none"]),
            ((), ["at least one split, got none"]),
            (spent(), ["at least one split, got none", "A generator can be read once"]),
            (1, ["at least 2 folds", "got 1"]),
            (0, ["at least 2 folds", "got 0"]),
            (True, ["at least 2 folds", "got True"]),
            ([(np.arange(60), [])], ["got none as test rows of split 0"]),
            ([(np.arange(60), np.arange(60, 120)), ([], np.arange(5))], ["got none as training rows of split 1"]),
            ([(np.arange(61), np.arange(60, 120))], ["row 60 in both parts of split 0"]),
            ([(np.arange(60), np.arange(60, 121))], ["0 ... 119", "got 120 as test rows of split 0"]),
            ([(np.arange(60), [-1])], ["got -1 as test rows"]),
            ([(np.arange(60), np.ones(7, bool))], ["masks of 120 rows", "bool of shape (7,)"]),
            ([(np.arange(60), [60.5])], ["row numbers", "float64"]),
            ([(np.arange(60), ["a"])], ["row numbers"]),
            ([(np.arange(60),)], ["pairs of training and test rows"]),
            ([3, 4], ["pairs of training and test rows", "got 3"]),
        ],
        ids=lambda value: value[0] if isinstance(value, list) and value and isinstance(value[0], str) else "cv",
    )
    def test_that_cannot_be_used(self, name, cv, parts):
        refuse(lambda: ESTIMATORS[name](cv=cv).fit(X, Y), "`cv`", *parts)

    def test_an_empty_list_for_a_model_without_folds(self):
        refuse(lambda: ESTIMATORS["network"](cv=[]).fit(X, Y), "`cv`", "got none")

    @by_splits
    def test_a_generator_once(self, name):
        estimator = ESTIMATORS[name](cv=(split for split in KFold(3, shuffle=True, random_state=0).split(X)))
        estimator.fit(X, Y)
        refuse(lambda: estimator.fit(X, Y), "`cv`", "A generator can be read once")

    def test_rows_without_weight_are_left_out_of_the_splits(self):
        used = np.arange(120) % 3 > 0
        parts = [np.arange(120) % 2 == part for part in range(2)]
        fit = ESTIMATORS["classifier"]
        whole = fit(cv=[(part, ~part) for part in parts]).fit(X, Y, sample_weight=used)
        only = fit(cv=[(part[used], ~part[used]) for part in parts]).fit(X[used], Y[used])
        assert (whole.decision_function(X) == only.decision_function(X)).all()
        assert whole.candidates_ == only.candidates_

    def test_held_out_rows_without_weight(self):
        cv = [(np.arange(60), np.arange(60, 90)), (np.arange(60), np.arange(90, 120))]
        weight = np.where(np.arange(120) < 90, 1.0, 0.0)
        refuse(lambda: ESTIMATORS["classifier"](cv=cv).fit(X, Y, sample_weight=weight), "`cv`", "positive weight")
