"""Metrics that depend on the order of the classes: it is given, or that of numbers, and never guessed."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from metricfit import metrics
from metricfit.metrics import Cost, FBeta
from metricfit.metrics._resolve import order_of, resolve_metric

LEVELS = ["low", "medium", "high", "very high"]
SORTED = np.array(sorted(LEVELS))
MATRIX = torch.arange(16.0).reshape(4, 4)


def first_share(matrix):
    return matrix[0].sum() / matrix.sum()


def trace_share(matrix):
    return matrix.diagonal().sum() / matrix.sum()


def in_order(matrix, order):
    """The matrix of sorted classes with its classes in another order."""
    places = [SORTED.tolist().index(name) for name in order]
    return matrix[places][:, places]


@pytest.mark.parametrize(
    "metric",
    ["quadratic_kappa", Cost(MATRIX.tolist()), FBeta([1, 2, 3, 0.5]), first_share],
    ids=["kappa", "cost", "betas", "function"],
)
def test_a_matrix_of_sorted_classes_has_the_value_of_the_given_order(metric):
    found = resolve_metric(metric, None, None, SORTED, LEVELS).metric
    matrix = torch.rand(4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(found(matrix), metrics.get(metric)(in_order(matrix, LEVELS)))
    assert abs(found(matrix) - metrics.get(metric)(matrix)) > 1e-3


@pytest.mark.parametrize("metric", ["quadratic_kappa", Cost(MATRIX.tolist()), FBeta([1, 2, 3, 0.5]), first_share])
def test_names_without_an_order_are_refused(metric):
    with pytest.raises(ValueError, match=r"depends on the order of the classes.*Pass class_order"):
        resolve_metric(metric, None, None, SORTED)


@pytest.mark.parametrize("metric", ["f1_macro", "kappa", FBeta(2.0), trace_share])
def test_metrics_that_do_not_depend_on_it_need_none(metric):
    assert resolve_metric(metric, None, None, SORTED).order == ()


def test_numbers_have_an_order():
    assert resolve_metric("quadratic_kappa", None, None, np.array([1, 2, 10])).order == (1, 2, 10)


def test_two_classes_have_no_order_for_kappa_nor_for_equal_costs():
    two = np.array(["bad", "good"])
    assert resolve_metric("quadratic_kappa", None, None, two).order == ()
    assert resolve_metric(Cost([[0, 1], [1, 0]]), None, None, two).order == ()


def test_classes_that_do_not_occur_keep_their_place():
    found = resolve_metric("quadratic_kappa", None, None, np.array(["high", "low"]), LEVELS).metric
    assert float(found(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))) == pytest.approx(0.25)
    cost = resolve_metric(Cost(MATRIX.tolist()), None, None, np.array(["high", "low"]), LEVELS).metric
    assert cost.matrix == ((10.0, 8.0), (2.0, 0.0))


@pytest.mark.parametrize(
    ("order", "match"),
    [(["low", "medium", "high"], "lacks 'very high'"), ([*LEVELS, "low"], "twice"), (["Low", *LEVELS[1:]], "Did you mean")],
)
def test_a_wrong_order(order, match):
    with pytest.raises(ValueError, match=match):
        resolve_metric("quadratic_kappa", None, None, SORTED, order)


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(pd.Categorical(["low", "high"], categories=LEVELS, ordered=True)),
        pd.Categorical(["low", "high"], categories=LEVELS, ordered=True),
        pl.Series(["low", "high"], dtype=pl.Enum(LEVELS)),
        pa.DictionaryArray.from_arrays(pa.array([0, 2]), pa.array(LEVELS), ordered=True),
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, 2]), pa.array(LEVELS), ordered=True)]),
    ],
    ids=["series", "categorical", "polars", "arrow", "chunks"],
)
def test_ordered_labels_know_their_order(labels):
    assert order_of(labels) == LEVELS


@pytest.mark.parametrize("labels", [pd.Series(["a", "b"], dtype="category"), pl.Series(["a", "b"]), np.array(["a"]), ["a"]])
def test_other_labels_know_none(labels):
    assert order_of(labels) is None


class TestCostsByName:
    COSTS = Cost({("good", "bad"): 1, ("bad", "good"): 5})

    def test_they_do_not_hang_on_the_order(self):
        for order in (None, ["good", "bad"], ["bad", "good"]):
            found = resolve_metric(self.COSTS, None, None, np.array(["bad", "good"]), order)
            assert found.metric.matrix == ((0.0, 5.0), (1.0, 0.0))

    def test_a_pair_without_a_cost_is_named(self):
        with pytest.raises(ValueError, match=r"add \('bad', 'ugly'\), or pass `otherwise`"):
            self.COSTS.for_classes(["bad", "good", "ugly"])

    def test_otherwise_is_the_cost_of_the_others(self):
        found = Cost({("bad", "good"): 5}, otherwise=2).for_classes(["bad", "good", "ugly"])
        assert found.matrix == ((0.0, 5.0, 2.0), (2.0, 0.0, 2.0), (2.0, 2.0, 0.0))

    def test_a_name_that_is_no_class(self):
        with pytest.raises(ValueError, match="got 'goood'"):
            Cost({("goood", "bad"): 1}).for_classes(["bad", "good"])

    @pytest.mark.parametrize("costs", [{"bad": 1}, {}, {("a", "b"): float("nan")}, {("a", "b"): ["much"]}, {("a", "b"): None}])
    def test_what_is_no_dictionary_of_costs(self, costs):
        with pytest.raises((ValueError, TypeError), match=r"matrix|cost"):
            Cost(costs)

    def test_a_loss_needs_the_classes(self):
        with pytest.raises(ValueError, match=r"for_classes\(classes\)"):
            self.COSTS(torch.ones(2, 2))


class TestPositiveClass:
    TWO = np.array(["negative", "sick"])

    def test_of_two_names_the_rarer(self):
        assert resolve_metric("f1", None, None, self.TWO, counts=np.array([95, 5])).positive == "sick"
        assert resolve_metric("f1", None, None, self.TWO, counts=np.array([5, 95])).positive == "negative"

    def test_of_two_numbers_the_larger_as_in_scikit_learn(self):
        assert resolve_metric("f1", None, None, np.array([0, 1]), counts=np.array([5, 95])).positive == 1

    def test_the_last_of_a_given_order(self):
        assert resolve_metric("f1", None, None, self.TWO, ["sick", "negative"], np.array([95, 5])).positive == "negative"

    def test_that_of_a_metric_with_its_own(self):
        assert resolve_metric(FBeta(1, "binary", 0), None, None, self.TWO, counts=np.array([95, 5])).positive == "negative"

    def test_macro_has_none(self):
        assert resolve_metric("f1_macro", None, None, self.TWO).positive is None


class TestNames:
    @pytest.mark.parametrize("name", metrics.names())
    def test_every_metric_knows_its_name(self, name):
        assert metrics.name_of(metrics.get(name)) == name

    @pytest.mark.parametrize(
        ("name", "match"),
        [
            ("roc_auc", "a ranking metric, not a function of one confusion matrix"),
            ("roc_auc_score", "a ranking metric"),
            ("log_loss", "judges probabilities"),
            ("r2", "for regression"),
            ("f1_makro", "Did you mean 'f1_macro'"),
        ],
    )
    def test_others(self, name, match):
        with pytest.raises(ValueError, match=match):
            metrics.get(name)

    def test_no_two_descriptions_are_alike(self):
        from metricfit.metrics._registry import REGISTRY

        assert len({entry.about for entry in REGISTRY.values()}) == len(REGISTRY)


def test_a_function_of_labels_is_refused():
    from sklearn.metrics import f1_score

    with pytest.raises(TypeError, match=r"f1_score takes others.*\(y_true, y_pred\)"):
        metrics.get(f1_score)
