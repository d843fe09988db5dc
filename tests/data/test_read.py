"""Columns as they come, whole or in chunks, and the target apart from the others."""

import datetime
from collections import Counter

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from metricfit._errors import DataError, UsageError
from metricfit.data import Column, TableSchema, column_named, label_like, layout_of, read_chunks, read_table, split_target
from metricfit.data import _raw as reading

MIXED = """age, city ,member,since,at,note,code,born,y
31, Paris,true,2020-01-02,10:30:00,"a, b",007,31.12.1999,p
  ?,Rome ,False,2021-03-04T10:00:00.5,,NA ,042,01.02.2000,q
, NULL,,,07:00,,1,,p
"""


def written(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def features_in_chunks(path, schema):
    return [chunk.features for chunk in read_chunks(path, layout_of(path), schema)]


def test_types_and_missing_values_as_they_come(tmp_path):
    path = written(tmp_path, MIXED)
    table, schema = read_table(path, layout_of(path), "y")
    assert [(column.name, column.type) for column in schema.columns] == [
        ("age", "number"),
        ("city", "string"),
        ("member", "boolean"),
        ("since", "date"),
        ("at", "time"),
        ("note", "string"),
        ("code", "string"),
        ("born", "date"),
    ]
    assert schema.n_columns == 9
    assert table["age"].to_pylist() == [31.0, None, None]
    assert table["city"].to_pylist() == ["Paris", "Rome", None]
    assert table["since"].to_pylist()[:2] == [datetime.datetime(2020, 1, 2), datetime.datetime(2021, 3, 4, 10, 0, 0, 500_000)]
    assert table["at"].to_pylist() == [datetime.time(10, 30), None, datetime.time(7)]
    assert table["note"].to_pylist() == ["a, b", None, None]
    assert table["born"].to_pylist()[0] == datetime.datetime(1999, 12, 31)


@pytest.mark.parametrize(
    "days",
    [
        ["2020-01-02T00:00:00Z", "2020-01-03T00:00:00+02:00"],
        ["2020-01-02 00:00:00.123456789", "2020-01-03 00:00:00"],
        ["1492-10-12", "2020-01-03"],
        ["12/31/2020", "01/02/2021"],
        ["31/12/2020", "01/02/2021"],
    ],
)
def test_dates_are_read_the_same_way_again(tmp_path, days):
    path = written(tmp_path, "day,y\n" + "".join(f"{day},a\n" for day in days))
    table, schema = read_table(path, layout_of(path), "y")
    assert schema.columns[0].type == "date"
    assert table["day"].null_count == 0
    (chunk,) = features_in_chunks(path, TableSchema.from_json(schema.as_json()))
    assert chunk["day"].equals(table["day"])


def test_a_word_is_said_where_a_column_may_be_misread(tmp_path):
    path = written(tmp_path, "x,day,y\n" + "1,01/02/2020,a\n" * 30 + "many,03/04/2020,b\n")
    said = []
    read_table(path, layout_of(path), "y", say=said.append)
    assert said == [
        "Column 'x' is read as categories: most of its values are numbers, but 1 cell is not: 'many'. "
        "Pass --numeric 'x' to read it as missing, or correct the file.",
        "Column 'day' is read as dates (format month/day/year).",
    ]


def test_the_index_of_pandas_is_left_out(tmp_path):
    frame = pandas.DataFrame({"x": [5.0, 6.0, 7.0], "y": ["a", "b", "a"]}, index=[3, 4, 5])
    frame.to_parquet(tmp_path / "t.parquet")
    frame.reset_index(drop=True).to_csv(tmp_path / "t.csv")
    for name in ("t.parquet", "t.csv"):
        said = []
        table, schema = read_table(tmp_path / name, layout_of(tmp_path / name), "y", say=said.append)
        assert table.column_names == ["x", "y"]
        assert len(said) == 1
        assert "is a row index and is dropped" in said[0]
        (chunk,) = features_in_chunks(tmp_path / name, schema)
        assert chunk["x"].to_pylist() == [5.0, 6.0, 7.0]


def test_columns_without_names_are_told_apart(tmp_path):
    path = written(tmp_path, ",,y\n1,10,a\n2,20,b\n7,30,a\n")
    table, schema = read_table(path, layout_of(path), "y")
    assert table["column 2"].to_pylist() == [10.0, 20.0, 30.0]
    (chunk,) = features_in_chunks(path, schema)
    assert chunk.equals(table.drop_columns("y"))


def test_infinite_numbers_are_missing_and_huge_ones_an_error(tmp_path):
    path = written(tmp_path, "x,y\n1,a\ninf,b\n-inf,a\n")
    assert read_table(path, layout_of(path), "y")[0]["x"].to_pylist() == [1.0, None, None]
    path = written(tmp_path, "x,y\n1,a\n1e300,b\n")
    with pytest.raises(DataError, match="row 3, column 'x': 1e\\+300 is too large \\(maximum 1e\\+100\\)"):
        read_table(path, layout_of(path), "y")
    path = written(tmp_path, "x,y\n1,a\n-1e999,b\n")  # infinite only because it is so large
    with pytest.raises(DataError, match="row 3, column 'x': '-1e999' is too large"):
        read_table(path, layout_of(path), "y")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_chunks_are_the_whole(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(reading, "CHUNK_BYTES", 2000)
    monkeypatch.setattr(reading, "CHUNK_ROWS", 50)
    random = np.random.default_rng(0)
    whole = pa.table({"x": random.normal(size=500), "word": random.choice(["a", "b"], 500), "unused": np.arange(500)})
    path = tmp_path / f"t.{kind}"
    csv.write_csv(whole, path) if kind == "csv" else parquet.write_table(whole, path)
    schema = TableSchema((Column("word", "string", 1), Column("x", "number", 0)), True, 3)
    chunks = features_in_chunks(path, schema)
    assert len(chunks) > 5
    assert pa.concat_tables(chunks).combine_chunks().equals(whole.select(["word", "x"]))


def test_a_fitted_column_keeps_its_type(tmp_path):
    """A file whose numbers happen to be whole, whose codes happen to be numbers, and with a column that is all missing."""
    columns = Column("x", "number", 0), Column("code", "string", 1), Column("day", "date", 2), Column("on", "boolean", 3)
    path = written(tmp_path, "code,x,day,on\n007,1,,true\n8,2,,\n")
    (chunk,) = features_in_chunks(path, TableSchema(columns, True, 4))
    assert chunk["code"].to_pylist() == ["007", "8"]
    assert chunk["x"].to_pylist() == [1.0, 2.0]
    assert chunk["day"].to_pylist() == [None, None]
    assert chunk["on"].to_pylist() == [True, None]


def test_columns_by_place_where_there_is_no_header(tmp_path):
    schema = TableSchema((Column("2", "number", 1), Column("3", "number", 2)), False, 3)  # the target was the first
    with_target, without = written(tmp_path, "9,1,2\n9,3,4\n", "with.csv"), written(tmp_path, "1,2\n3,4\n", "without.csv")
    for path in (with_target, without):
        (chunk,) = features_in_chunks(path, schema)
        assert chunk["2"].to_pylist() == [1.0, 3.0]
    for text in ("1\n2\n", "1,2,3,4\n"):
        path = written(tmp_path, text, "other.csv")
        with pytest.raises(DataError, match="columns, expected 3 with the target or 2 without"):
            features_in_chunks(path, schema)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,word\n1,a\n2\n", "row 3 has 1 cells, expected 2 as in the first row."),
        ("x,word\n1,a\n2,b,c\n", "row 3 has 3 cells, expected 2 as in the first row."),
        ("x,word\n1,a\nmany,b\n", "row 3, column 'x': 'many' is not a number."),
        ("x,words\n1,a\n", "lacks column 'word' that the model was fitted to. Did you mean 'words'?"),
        ("y,z\n1,a\n", "lacks 2 columns (x, word) that the model was fitted to."),
    ],
)
def test_bad_rows(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(DataError) as caught:
        features_in_chunks(path, TableSchema((Column("x", "number", 0), Column("word", "string", 1)), True, 2))
    assert message in str(caught.value)


def test_a_parquet_column_of_another_type_is_refused(tmp_path):
    parquet.write_table(pa.table({"x": [datetime.date(2020, 1, 1)]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="column 'x' should have a number in every row"):
        features_in_chunks(tmp_path / "t.parquet", TableSchema((Column("x", "number", 0),), True, 1))


def test_columns_survive_json():
    schema = TableSchema((Column("x", "number", 0), Column("day", "date", 2, "%d.%m.%Y")), False, 3)
    assert TableSchema.from_json(schema.as_json()) == schema
    for change in ({"type": "code"}, {"name": "day"}, {"format": "%d"}, {"type": "string", "format": "%d.%m.%Y"}):
        found = schema.as_json()
        found["columns"][0] |= change
        with pytest.raises(ValueError, match="unknown types or formats, or repeated names"):
            TableSchema.from_json(found)


def labelled(labels):
    return split_target(pa.table({"x": list(range(len(labels))), "label": pa.array(labels)}), "label", "t.csv")


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["a", "b"] * 3, "U"),
        (["None", "Some"] * 3, "U"),
        (["007", "042"] * 3, "U"),
        (["1.0", "2.5"] * 3, "U"),
        (["TRUE", "FALSE"] * 3, "U"),
        ([0.0, 1.0] * 3, "i"),
        ([True, False] * 3, "b"),
        ([2**60, 2**60 + 1] * 3, "i"),
    ],
)
def test_labels_are_kept_as_they_were(labels, kind):
    found = labelled(labels)
    assert found.labels.dtype.kind == kind
    assert found.labels.tolist() == labels
    assert found.features.column_names == ["x"]


def test_labels_that_are_written_as_whole_numbers_are_these():
    assert labelled(["-1", "10", "2"] * 3).labels.tolist() == [-1, 10, 2] * 3
    assert labelled(["0.0", "1.0", "2"] * 3).labels.tolist() == [0, 1, 2] * 3  # as in Parquet
    assert labelled([0.5, 1.5] * 3).labels.tolist() == ["0.5", "1.5"] * 3


def test_rows_without_a_label_are_left_out():
    found = labelled(["a", "b", None, "a", "b"])
    assert found.n_unlabelled == 1
    assert found.features["x"].to_pylist() == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a"], "has only one class: 'a'"),
        (["a", "a", "NA"], "At least two are needed. 1 rows without a label were dropped."),
        ([1.0, float("inf")] * 3, "has infinite numbers or NaN"),
        ([[1], [2]] * 3, "has values of type list"),
        ([None, None], "column 'label' has no values."),
        (
            ["a"] * 5 + ["b", "b", "c"],
            "class 'c' has one row; cross-validation needs two. Add rows, remove the class, or pass --merge-rare 3 ",
        ),
        (
            ["a", "a", "b", "c"],
            "class 'b' has one row (and 1 more classes); cross-validation needs two. Add rows, remove the class, or pass --merge-rare 2 ",
        ),
        ([n + 0.5 for n in range(30)], "looks like a regression target (30 distinct values from 0.5 to 29.5)"),
        (list(range(200)), "looks like a regression target (200 distinct values from 0 to 199)"),
    ],
)
def test_targets_that_cannot_be_predicted(labels, message):
    with pytest.raises(DataError) as caught:
        labelled(labels)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "merged", "said"),
    [
        (
            ["a", "a", "b", "c"],
            ["a", "a", "other", "other"],
            "2 classes with fewer than 2 rows ('b', 'c'; 2 rows together) become the class 'other'.",
        ),
        (
            [1, 1, 2, 3],
            ["1", "1", "other", "other"],
            "2 classes with fewer than 2 rows (2, 3; 2 rows together) become the class 'other'. All labels are text now.",
        ),
        (
            ["a", "a", "b", "other", "other"],
            ["a", "a", "other", "other", "other"],
            "1 class with fewer than 2 rows ('b'; 1 row) joins the class 'other', which exists already.",
        ),
        (["a", "a", "other", "other"], ["a", "a", "other", "other"], None),
    ],
)
def test_rare_classes_are_merged(labels, merged, said):
    notes = []
    table = pa.table({"x": list(range(len(labels))), "label": labels})
    assert split_target(table, "label", "t.csv", merge_rare=2, say=notes.append).labels.tolist() == merged
    assert notes == ([f"Column 'label': {said}"] if said else [])


def test_the_class_other_is_not_rare_itself():
    """One rare class, or few rows of several, take the next smallest classes with them."""
    notes, labels = [], ["a"] * 30 + ["b"] * 20 + ["c"] * 8 + ["d"]
    table = pa.table({"x": list(range(len(labels))), "label": labels})
    found = split_target(table, "label", "t.csv", merge_rare=5, say=notes.append)
    assert Counter(found.labels.tolist()) == {"a": 30, "b": 20, "other": 9}
    assert found.renamed == {"c": "other", "d": "other"}
    assert notes == [
        "Column 'label': 1 class with fewer than 5 rows ('d'; 1 row) becomes the class 'other'. "
        "'c' (8 rows) joins it, because 'other' alone would have fewer than 5 rows."
    ]
    with pytest.raises(
        DataError, match=r"--merge-rare 5: class 'b' of column 'label' has 2 rows, and there is no third class"
    ):
        split_target(pa.table({"x": range(8), "label": list("aaaaaabb")}), "label", "t.csv", merge_rare=5)


def test_rare_classes_join_their_neighbours_in_the_order():
    notes, labels = [], [3] + [4] * 9 + [5] * 40 + [6] * 30 + [7] * 20 + [8] * 4
    table = pa.table({"x": list(range(len(labels))), "quality": labels})
    by_number = {"order_to_keep": lambda classes, order: classes.tolist()}
    found = split_target(table, "quality", "t.csv", merge_rare=5, say=notes.append, **by_number)
    assert Counter(found.labels.tolist()) == {4: 10, 5: 40, 6: 30, 7: 24}
    assert found.renamed == {3: 4, 8: 7}
    assert notes == [
        "Column 'quality': classes with fewer than 5 rows join a neighbour in the order: 3 (1 row) joins 4, 8 (4 rows) joins 7."
    ]


def test_rare_classes_are_dropped():
    notes, labels = [], ["a"] * 6 + ["b"] * 5 + ["c"] * 2 + ["d"]
    table = pa.table({"x": list(range(len(labels))), "label": labels})
    found = split_target(table, "label", "t.csv", say=notes.append, drop_rare=5)
    assert (found.labels.tolist(), found.features["x"].to_pylist()) == (["a"] * 6 + ["b"] * 5, list(range(11)))
    assert found.renamed == {"c": None, "d": None}
    assert notes == [
        "Column 'label': 2 classes with fewer than 5 rows ('c', 'd'; 3 rows together) are dropped with their rows (--drop-rare)."
    ]


def ordered(labels, categories, path, **options):
    kind = pandas.CategoricalDtype(categories, ordered=True)
    frame = pandas.DataFrame({"x": range(len(labels)), "y": pandas.Series(labels, dtype=kind)})
    parquet.write_table(pa.Table.from_pandas(frame), path, **options)
    said = []
    table, _ = read_table(path, layout_of(path), "y", say=said.append)
    return table, said


def test_the_order_of_classes_comes_from_the_file(tmp_path):
    table, said = ordered(["hi", "lo", None, "hi", "lo"], ["lo", "mid", "hi"], tmp_path / "t.parquet", row_group_size=2)
    found = split_target(table, "y", "t.parquet")
    assert (found.order, said) == (("lo", "hi"), [])
    assert found.labels.tolist() == ["hi", "lo", "hi", "lo"]
    table, _ = ordered(["10", "9"] * 2, ["9", "10"], tmp_path / "t.parquet")
    assert split_target(table, "y", "t.parquet").order == (9, 10)  # the labels became numbers
    notes = []
    table, _ = ordered(["hi", "hi", "lo", "mid"], ["lo", "mid", "hi"], tmp_path / "t.parquet")
    assert split_target(table, "y", "t.parquet", merge_rare=2, say=notes.append).order is None
    assert "has no place in it" in notes[-1]


def test_the_order_of_a_polars_enum(tmp_path):
    labels = polars.Series(["hi", "lo"] * 3, dtype=polars.Enum(["lo", "mid", "hi"]))
    polars.DataFrame({"x": range(6), "y": labels}).write_parquet(tmp_path / "t.parquet")
    table, _ = read_table(tmp_path / "t.parquet", layout_of(tmp_path / "t.parquet"), "y")
    assert split_target(table, "y", "t.parquet").order == ("lo", "hi")


def test_an_order_that_the_file_does_not_hold_is_not_made_up(tmp_path):
    """Without a dictionary page, Arrow lists the categories as they first occur."""
    table, said = ordered(["hi", "lo"] * 2, ["lo", "hi"], tmp_path / "t.parquet", use_dictionary=False)
    assert split_target(table, "y", "t.parquet").order is None
    assert said == ["Column 'y' is an ordered category, but the file does not hold the order of its classes."]
    assert labelled(["a", "b"] * 2).order is None


def test_thirty_numbered_classes_are_classes():
    assert len(np.unique(labelled(list(range(30)) * 10).labels)) == 30


def test_no_column_beside_the_target():
    with pytest.raises(DataError, match="has no columns except the target"):
        split_target(pa.table({"label": ["a", "b"] * 3}), "label", "t.csv")


def test_columns_by_name_and_number():
    names = ["age", "city", "7"]
    assert [column_named(wanted, names, "--target") for wanted in ("city", "1", "-1", "7")] == ["city", "age", "7", "7"]
    for wanted, message in (("cty", "Did you mean 'city'?"), ("4", "numbered from 1 to 3"), ("0", "is not a column")):
        with pytest.raises(UsageError) as caught:
            column_named(wanted, names, "--target")
        assert message in str(caught.value)


def test_labels_as_they_are_written():
    assert label_like("1", np.array([0, 1]), "--positive") == 1
    assert label_like("TRUE", np.array([False, True]), "--positive") is True
    assert [label_like(text, np.array(["A", "a"]), "--positive") for text in "aA"] == ["a", "A"]
    with pytest.raises(UsageError, match="Did you mean 'yes'"):
        label_like("yess", np.array(["no", "yes"]), "--positive")
