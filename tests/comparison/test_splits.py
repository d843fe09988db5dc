"""Which rows are held out: groups stay whole, time goes forward, and nothing is missing in silence."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from metricfit.comparison import compare
from metricfit.comparison._splits import INNER_FOLDS, check_training_classes, plan_folds, plan_groups, plan_time

CLASSES = np.array(["bad", "good"])
SHORT = {"models": ["linear"], "methods": ["threshold"]}


def labels_of(n, seed=0):
    return np.random.default_rng(seed).permutation(np.arange(n) % 2)


def data(n=120, seed=0):
    random = np.random.default_rng(seed)
    features = random.normal(size=(n, 3))
    return features, CLASSES[(features[:, 0] + 0.5 * random.normal(size=n) > 0.0).astype(int)]


def test_groups_are_never_split():
    labels, groups = labels_of(200), np.repeat([f"person {number}" for number in range(40)], 5)
    plan = plan_groups(labels, CLASSES, groups, 5, 2, 0)
    assert (plan.evaluation, plan.notes) == ("5-fold cross-validation over 40 groups, 2 repeats", ())
    assert len(plan.splits) == 10
    for index, (train, test) in enumerate(plan.splits):
        assert not set(groups[train]) & set(groups[test])
        for inner_train, inner_test in plan.inner_folds(index, labels, 0):
            assert not set(groups[train][inner_train]) & set(groups[train][inner_test])
    np.testing.assert_array_equal(plan.held_out, np.arange(200))
    assert not np.array_equal(plan.splits[0][1], plan.splits[5][1])  # the repeats differ
    assert plan.test_share == pytest.approx(0.25, abs=0.02)


def test_few_groups_make_fewer_folds_and_repeats():
    """Three groups can be held out one by one in one way only: a repeat would count the same scores twice."""
    labels, groups = labels_of(90), np.repeat([3.0, 1.0, 2.0], 30)
    plan = plan_groups(labels, CLASSES, groups, 5, 2, 0)
    assert (plan.n_splits, plan.n_repeats, len(plan.splits)) == (3, 1, 3)
    assert plan.notes == (
        "There are 3 folds instead of 5: there are 3 groups.",
        "There is 1 repeat: more would repeat the same folds.",
    )
    plan = plan_groups(labels, CLASSES, groups > 1.5, 5, 1, 0)
    assert plan.notes[-1] == "Some splits train on one group: tuning inside these fits uses ordinary folds."
    assert plan.inner_folds(0, labels, 0) == INNER_FOLDS


@pytest.mark.parametrize(
    "time",
    [
        np.arange(120)[::-1] // 2,
        np.arange(120)[::-1] / 7.0,
        np.datetime64("2024-01-01") + np.arange(120)[::-1],
        [f"2024-01-{1 + (119 - row) // 4:02d}" for row in range(120)],
        [datetime.date(2024, 1, 1) + datetime.timedelta(119 - row) for row in range(120)],
        pd.Series(pd.date_range("2024-01-01", periods=120, tz="Europe/Berlin")[::-1]),
        pl.Series([datetime.datetime(2024, 1, 1) + datetime.timedelta(119 - row) for row in range(120)]),
    ],
)
def test_training_rows_come_before_test_rows(time):
    plan = plan_time(time, 120, 5, 1)
    moments = np.asarray(time)
    assert (plan.n_splits, plan.evaluation, plan.notes) == (5, "5 forward splits by time", ())
    for train, test in plan.splits:
        assert max(moments[train]) < min(moments[test])  # rows of the same moment are on one side
    assert [len(train) for train, _ in plan.splits] == pytest.approx([20, 40, 60, 80, 100], abs=3)
    np.testing.assert_array_equal(plan.held_out, np.arange(0, 120 - len(plan.splits[0][0])))


def test_many_rows_of_one_moment_make_fewer_splits():
    plan = plan_time(np.repeat([0, 1, 2], [10, 80, 10]), 100, 5, 2)
    assert [(len(train), len(test)) for train, test in plan.splits] == [(10, 80), (90, 10)]
    assert plan.notes == (
        "There are 2 forward splits instead of 5: many rows have the same time.",
        "Splits by time are not repeated.",
    )
    (split,) = plan_time(np.repeat([0, 1], [99, 1]), 100, 2, 1).splits
    assert list(map(len, split)) == [99, 1]


def test_plain_folds_say_where_they_are_fewer():
    labels = np.repeat([0, 1], [40, 3])
    plan = plan_folds(labels, CLASSES, 5, 1, 0)
    assert (plan.evaluation, plan.notes) == (
        "3-fold cross-validation, 1 repeat",
        ("There are 3 folds instead of 5: class 'good' has 3 rows.",),
    )
    check_training_classes(plan, labels, CLASSES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": np.zeros(120)}, "at least two groups, got one"),
        ({"groups": np.arange(119)}, r"`groups` should have one entry per row, shape \(120,\), got \(119,\)"),
        ({"groups": [None, *range(119)]}, "a group for every row, got 1 missing value"),
        ({"groups": np.repeat([0.0, np.nan], 60)}, "a group for every row, got 60 missing values"),
        ({"groups": np.where(data()[1] == "bad", 0, np.arange(120) % 2)}, "Class 'bad' occurs in only one group"),
        ({"time": np.zeros(120)}, "at least two moments, got the same for all rows"),
        ({"time": np.zeros((120, 2))}, "`time` should have one entry per row"),
        ({"time": np.r_[np.nan, np.arange(119.0)]}, "a time for every row, got 1 missing value. Drop these rows first"),
        ({"time": [None, *["2024-01-01"] * 119]}, "a time for every row, got 1 missing value"),
        ({"time": ["soon"] * 120}, "numbers or dates such as '2024-05-31', got 'soon'"),
        ({"time": np.argsort(np.argsort(data()[1], kind="stable"))}, "Class 'good' is missing from the training rows of split 1"),
        ({"time": np.arange(120), "groups": np.arange(120)}, "Both `groups` and `time` say which rows are held out"),
        ({"time": np.arange(120), "test": data()}, "Both `time` and `test` say which rows are held out"),
        ({"test": data()[0]}, "`test` should be a pair"),
        ({"test": (data()[0], ["ugly"] * 120)}, "labels of `y`, but 'ugly' is not in the training rows"),
        ({"test": (data()[0][:, :2], data()[1])}, "the columns of `X` in the same order, but it misses '3'"),
        ({"test": (data()[0][:5], data()[1])}, "one label per row, got 5 rows and 120 labels"),
        ({"test": (data()[0][:0], data()[1][:0])}, "at least one row, got none"),
    ],
)  # fmt: skip
def test_bad_arguments(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compare(*data(), "accuracy", **SHORT, **change)


def test_held_out_rows_by_time_stay_in_line_with_their_labels():
    features, target = data(180)
    moments = np.random.default_rng(1).permutation(180)
    found = compare(features, target, "accuracy", time=moments, **SHORT)
    assert (found.n_splits, found.n_repeats, found.n_rows, len(found.labels)) == (5, 1, 180, 150)
    assert found.class_counts.sum() == 180
    late = moments >= 30
    np.testing.assert_array_equal(found.classes[found.labels], target[late])
    predicted = found.reference.held_out.predicted
    assert (predicted == found.labels).mean() == pytest.approx(np.mean(found.reference.scores))
    assert found.as_json()["rows"] == 180


def test_groups_change_the_score_where_rows_of_a_group_are_copies():
    """Labels are noise, but every row is there four times: only whole groups show it."""
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 4)
    features, target = random.normal(size=(60, 40))[groups], random.permutation(np.arange(60) % 2)[groups]
    open_folds = compare(features, target, "accuracy", n_repeats=1, **SHORT)
    whole = compare(features, target, "accuracy", n_repeats=1, groups=groups, **SHORT)
    assert open_folds.reference.estimate.mean > 0.75
    assert whole.reference.estimate.mean < 0.65
    assert whole.evaluation == "5-fold cross-validation over 60 groups, 1 repeat"
    assert whole.verdict.status == "constant"
