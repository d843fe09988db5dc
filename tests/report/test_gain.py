"""What a gain means in rows and costs, against values computed by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from metricfit.comparison import Difference
from metricfit.metrics import Cost
from metricfit.report import page
from metricfit.report._confusion import (
    Change,
    base_of,
    class_changes,
    gain,
    of_class,
    per_base,
    positive_changes,
    rows_right,
)
from metricfit.report._words import compared_lines
from tests.report.conftest import RUN, bare

BEFORE = np.array([[150.0, 30.0], [12.0, 8.0]])  # 200 rows, 20 of them positive
AFTER = np.array([[144.0, 36.0], [6.0, 14.0]])


def test_positives_found_and_false_alarms_of_a_thousand():
    """8 of 200 rows are 40 of 1,000; 14 are 70. False alarms: 30 are 150, 36 are 180."""
    found, alarms = positive_changes(BEFORE, AFTER, 1, 1000, of_class("yes"))
    assert (found.before, found.after, found.difference) == pytest.approx((40.0, 70.0, 30.0))
    assert (alarms.before, alarms.after, alarms.difference) == pytest.approx((150.0, 180.0, 30.0))
    assert (found.kind, alarms.kind) == ("better", "worse")
    assert (found.more, alarms.more) == ("more", "more")


def test_the_positive_class_may_be_the_first():
    """Of class 0: 150 of 200 rows found before, 144 after; false alarms are rows of class 1 that were taken for it."""
    found, alarms = positive_changes(BEFORE, AFTER, 0, 1000, of_class("no"))
    assert (found.before, found.after) == pytest.approx((750.0, 720.0))
    assert (alarms.before, alarms.after) == pytest.approx((60.0, 30.0))
    assert (found.kind, alarms.kind) == ("worse", "better")


def test_rows_right():
    """158 of 200 rows on the diagonal, and again 158."""
    right = rows_right(BEFORE, AFTER, 1000)
    assert (right.before, right.after) == pytest.approx((790.0, 790.0))
    assert (right.kind, right.more) == ("same", "as many")


def test_largest_changes_of_classes():
    before = np.array([[10.0, 0, 0], [5, 15, 0], [0, 0, 70]])
    after = np.array([[9.0, 1, 0], [0, 20, 0], [0, 0, 70]])
    (first, size), (second, _) = class_changes(before, after, ["a", "b", "c"], 1000)  # c does not change
    assert (first.what, first.difference, size) == ("b", pytest.approx(50.0), pytest.approx(200.0))
    assert (second.what, second.difference) == ("a", pytest.approx(-10.0))


@pytest.mark.parametrize(
    ("counts", "base"),
    [([50, 50], 1_000), ([995, 5], 1_000), ([9_996, 4], 100_000), ([10**7, 1], 1_000_000), ([5] * 300, 1_000)],
)
def test_rare_positives_are_told_of_more_cases(counts, base):
    assert base_of(counts) == base


def test_no_rows_are_no_change():
    assert per_base(np.zeros((2, 2)), 1000).sum() == 0.0
    assert rows_right(np.zeros((2, 2)), np.zeros((2, 2)), 1000) == Change("rows right", 0.0, 0.0)


def test_the_gain_of_a_comparison(two):
    """Held-out rows of the best contender, beside the reference and a constant answer, counted in the plain way."""
    found = gain(replace(two, positive=1))
    assert found["result"] is two.main
    assert (found["base"], found["n_rows"], found["costs"]) == (1000, 400, [])
    assert [step["other"].contender.name for step in found["steps"]] == ["linear, threshold", "trivial, constant"]
    for step in found["steps"]:
        predicted = {name: result.held_out.predicted for name, result in (("own", two.best), ("other", step["other"]))}
        hits = {name: 2.5 * ((labels == 1) & (two.labels == 1)).sum() for name, labels in predicted.items()}
        alarms = {name: 2.5 * ((labels == 1) & (two.labels == 0)).sum() for name, labels in predicted.items()}
        assert (step["changes"][0].before, step["changes"][0].after) == pytest.approx((hits["other"], hits["own"]))
        assert (step["changes"][1].before, step["changes"][1].after) == pytest.approx((alarms["other"], alarms["own"]))
        assert step["classes"] == []
        assert step["saving"] is None
        assert "(p " in step["significance"]


def test_without_a_positive_class_the_classes_are_told(two, four):
    for comparison in (bare(two), four):
        found = gain(comparison)
        assert [change.what for change in found["steps"][0]["changes"]] == ["rows right"]
        assert found["steps"][-1]["classes"]


def test_savings(two):
    costly = replace(two, metric="minus cost", measure=Cost([[0.0, 1.0], [5.0, 0.0]]))
    found = gain(costly)
    names = [result.contender.name for result, _ in found["costs"]]
    assert names == [two.best.contender.name, "linear, threshold", "trivial, constant"]
    for result, cost in found["costs"]:
        matrix = two.confusion(result)
        assert cost == pytest.approx((matrix[0, 1] + 5.0 * matrix[1, 0]) * 2.5)
    assert found["steps"][0]["saving"] == pytest.approx(found["costs"][1][1] - found["costs"][0][1])
    assert "in the unit of your costs" in page(costly, RUN)


def test_where_the_reference_is_the_best_only_the_constant_answer_is_left(two):
    alone = replace(two, results={name: two.results[name] for name in ("trivial, constant", "linear, threshold")})
    assert [step["other"].contender.name for step in gain(alone)["steps"]] == ["trivial, constant"]
    assert [line.name for line in compared_lines(alone)] == ["linear, threshold"]
    assert "It is the reference." in page(alone, RUN)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.01, 0.2, "The difference in f1 is significant (p 0.020 after Holm, for all comparisons with the reference)."),
        (-0.2, -0.01, "The difference in f1 is significant (p 0.020 after Holm, for all comparisons with the reference)."),
        (-0.1, 0.2, "The difference in f1 may be chance (p 0.020 after Holm, for all comparisons with the reference), and so may these numbers."),
        (0.1, 0.1, "The difference in f1 is significant."),
        (-math.inf, math.inf, "There are too few scores to say whether this is chance."),
    ],
)  # fmt: skip
def test_whether_the_difference_may_be_chance(two, low, high, words):
    main = replace(two.main, difference=Difference(0.1, low, high, 0.01, 0.02))
    assert gain(replace(two, results={**two.results, main.contender.name: main}))["steps"][0]["significance"] == words


def test_the_index_of_the_positive_class(two, four):
    assert bare(two).positive_index is None
    assert replace(two, positive=0).positive_index == 0
    assert replace(four, positive="plain").positive_index is None  # of several classes
