"""Labels, classes that are too rare, and the order of classes."""

import datetime
from collections import Counter

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet

from metricfit._errors import DataError, UsageError
from metricfit.data import column_named, label_like, layout_of, read_table, split_target


def split(labels, **options):
    """The labelled table, and the notes."""
    said, table = [], pa.table({"x": list(range(len(labels))), "label": pa.array(labels)})
    return split_target(table, "label", "t.csv", say=said.append, **options), said


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["None", "Some"], ["None", "Some"]),
        (["007", "042"], ["007", "042"]),
        (["--5", "7"], ["--5", "7"]),
        (["9" * 5000, "7"], ["9" * 5000, "7"]),
        (["1.0", "2.5"], ["1.0", "2.5"]),
        ([0.5, 1.5], ["0.5", "1.5"]),
        (["TRUE", "FALSE"], ["TRUE", "FALSE"]),
        (["-1", "10"], [-1, 10]),
        (["0.0", "1.0"], [0, 1]),  # as in Parquet
        ([0.0, 1.0], [0, 1]),
        ([True, False], [True, False]),
        ([2**60, 2**60 + 1], [2**60, 2**60 + 1]),
        ([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], ["2024-01-01", "2024-01-02"]),
    ],
)
def test_labels_are_unchanged_but_whole_numbers_become_integers(labels, expected):
    found, _ = split(labels * 3)
    assert found.labels.tolist() == expected * 3
    assert found.labels.dtype.kind == {str: "U", int: "i", bool: "b"}[type(expected[0])]
    assert found.features.column_names == ["x"]


def test_rows_without_a_label_are_dropped():
    found, _ = split(["a", "b", None, "a", "b"])
    assert (found.n_unlabelled, found.features["x"].to_pylist()) == (1, [0, 1, 3, 4])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a"], "has only one class: 'a'"),
        (["a", "a", "NA"], "At least two are needed. 1 rows without a label were dropped."),
        ([1.0, float("inf")] * 3, "has infinite numbers or NaN"),
        ([None, None], "column 'label' has no values."),
        (["a"] * 5 + ["b", "b", "c"], "class 'c' has one row; cross-validation needs two. Add rows, remove the class, or pass --merge-rare 3 "),
        (["a", "a", "b", "c"], "class 'b' has one row (and 1 more classes); cross-validation needs two. Add rows, remove the class, or pass --merge-rare 2 "),
        ([n + 0.5 for n in range(30)], "looks like a regression target (30 distinct values from 0.5 to 29.5)"),
        (list(range(200)), "looks like a regression target (200 distinct values from 0 to 199)"),
    ],
)  # fmt: skip
def test_targets_that_cannot_be_predicted(labels, message):
    with pytest.raises(DataError) as caught:
        split(labels)
    assert message in str(caught.value)


def test_thirty_numbered_classes_are_classes():
    assert len(np.unique(split(list(range(30)) * 10)[0].labels)) == 30


def test_no_column_besides_the_target():
    with pytest.raises(DataError, match="has no columns except the target"):
        split_target(pa.table({"label": ["a", "b"] * 3}), "label", "t.csv")


@pytest.mark.parametrize(
    ("labels", "options", "expected", "said"),
    [
        (
            ["a", "a", "b", "c"],
            {"merge_rare": 2},
            {"a": 2, "other": 2},
            "2 classes with fewer than 2 rows ('b', 'c'; 2 rows together) become the class 'other'.",
        ),
        (
            [1, 1, 2, 3],
            {"merge_rare": 2},
            {"1": 2, "other": 2},
            "2 classes with fewer than 2 rows (2, 3; 2 rows together) become the class 'other'. All labels are text now.",
        ),
        (
            ["a", "a", "b", "other", "other"],
            {"merge_rare": 2},
            {"a": 2, "other": 3},
            "1 class with fewer than 2 rows ('b'; 1 row) joins the class 'other'.",
        ),
        (["a", "a", "other", "other"], {"merge_rare": 2}, {"a": 2, "other": 2}, None),
        (  # "other" itself would be rare
            ["a"] * 30 + ["b"] * 20 + ["c"] * 8 + ["d"],
            {"merge_rare": 5},
            {"a": 30, "b": 20, "other": 9},
            "1 class with fewer than 5 rows ('d'; 1 row) becomes the class 'other'. 'c' (8 rows) joins it, because 'other' alone would have fewer than 5 rows.",
        ),
        (
            [3] + [4] * 9 + [5] * 40 + [6] * 30 + [7] * 20 + [8] * 4,
            {"merge_rare": 5, "order_to_keep": lambda classes, order: classes.tolist()},
            {4: 10, 5: 40, 6: 30, 7: 24},
            "classes with fewer than 5 rows join a neighbour in the order: 3 (1 row) joins 4, 8 (4 rows) joins 7.",
        ),
        (
            ["a"] * 6 + ["b"] * 5 + ["c"] * 2 + ["d"],
            {"drop_rare": 5},
            {"a": 6, "b": 5},
            "2 classes with fewer than 5 rows ('c', 'd'; 3 rows together) are dropped with their rows (--drop-rare).",
        ),
    ],
)
def test_rare_classes_are_merged_or_dropped(labels, options, expected, said):
    found, notes = split(labels, **options)
    assert Counter(found.labels.tolist()) == expected
    assert notes == ([f"Column 'label': {said}"] if said else [])
    new = [found.renamed.get(label, label) for label in labels]
    assert [str(label) for label in new if label is not None] == [str(label) for label in found.labels.tolist()]
    assert found.features["x"].to_pylist() == [row for row, label in enumerate(new) if label is not None]


def test_two_classes_cannot_be_merged():
    with pytest.raises(DataError, match="--merge-rare 5: class 'b' of column 'label' has 2 rows, and there is no third class"):
        split(list("aaaaaabb"), merge_rare=5)
    with pytest.raises(DataError, match="--merge-rare 5: column 'label' has 8 rows, too few for two classes with 5 rows each"):
        split([1] * 6 + [2] * 2, merge_rare=5, order_to_keep=lambda classes, order: classes.tolist())


def ordered(labels, categories, path, **options):
    """The table and the notes of a Parquet file with an ordered target."""
    kind = pandas.CategoricalDtype(categories, ordered=True)
    frame = pandas.DataFrame({"x": range(len(labels)), "y": pandas.Series(labels, dtype=kind)})
    parquet.write_table(pa.Table.from_pandas(frame), path, **options)
    said = []
    return read_table(path, layout_of(path), "y", say=said.append)[0], said


def test_the_order_of_classes_comes_from_the_file(tmp_path):
    path = tmp_path / "t.parquet"
    table, said = ordered(["hi", "lo", None, "hi", "lo"], ["lo", "mid", "hi"], path, row_group_size=2)
    found = split_target(table, "y", path)
    assert (found.order, found.labels.tolist(), said) == (("lo", "hi"), ["hi", "lo", "hi", "lo"], [])
    table, _ = ordered(["10", "9"] * 2, ["9", "10"], path)
    assert split_target(table, "y", path).order == (9, 10)  # the labels became numbers
    table, _ = ordered(["hi", "hi", "lo", "mid"], ["lo", "mid", "hi"], path)
    assert split_target(table, "y", path, merge_rare=2, say=said.append).order is None
    assert said[-1] == "The order of the classes in column 'y' is not used, because 'other' has no position in it."
    table, _ = ordered(["hi", "hi", "lo", "lo", "mid"], ["lo", "mid", "hi"], path)
    assert split_target(table, "y", path, drop_rare=2).order == ("lo", "hi")
    labels = polars.Series(["hi", "lo"] * 3, dtype=polars.Enum(["lo", "mid", "hi"]))
    polars.DataFrame({"x": range(6), "y": labels}).write_parquet(path)
    assert split_target(read_table(path, layout_of(path), "y")[0], "y", path).order == ("lo", "hi")
    assert split(["a", "b"] * 2)[0].order is None


def test_an_order_that_the_file_does_not_hold_is_not_made_up(tmp_path):
    """Without a dictionary page, Arrow lists the categories as they first occur."""
    table, said = ordered(["hi", "lo"] * 2, ["lo", "hi"], tmp_path / "t.parquet", use_dictionary=False)
    assert split_target(table, "y", tmp_path / "t.parquet").order is None
    assert said == ["Column 'y' is an ordered category, but the file does not hold the order of its classes."]


def test_columns_by_name_and_number():
    names = ["age", "city", "7"]
    assert [column_named(text, names, "--target") for text in ("city", "1", "-1", "7")] == ["city", "age", "7", "7"]
    for text, message in (("cty", "Did you mean 'city'?"), ("4", "numbered from 1 to 3"), ("0", "is not a column")):
        with pytest.raises(UsageError) as caught:
            column_named(text, names, "--target")
        assert message in str(caught.value)


def test_labels_as_you_type_them():
    assert label_like("1", np.array([0, 1]), "--positive") == label_like("1.0", np.array([0, 1]), "--positive") == 1
    assert label_like("TRUE", np.array([False, True]), "--positive") is True
    assert [label_like(text, np.array(["A", "a"]), "--positive") for text in "aA"] == ["a", "A"]
    with pytest.raises(UsageError, match="Did you mean 'yes'"):
        label_like("yess", np.array(["no", "yes"]), "--positive")
