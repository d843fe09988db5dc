"""Columns as they come, whole or in chunks, and the target apart from the others."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from metricfit._errors import DataError, UsageError
from metricfit.data import (
    Column,
    as_json,
    column_named,
    columns_of,
    from_json,
    label_like,
    layout_of,
    read_chunks,
    read_table,
    task_of,
)
from metricfit.data import _read as reading

MIXED = """age, city ,member,since,at,note
31, Paris,true,2020-01-02,10:30:00,"a, b"
?,Rome ,False,2021-03-04,,NA
, NULL,,,07:00:00,
"""


def written(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_types_and_missing_values_as_they_come(tmp_path):
    path = written(tmp_path, MIXED)
    table = read_table(path, layout_of(path))
    assert table.column_names == ["age", "city", "member", "since", "at", "note"]
    assert [column.type for column in columns_of(table, table.column_names)] == [
        "number",
        "string",
        "boolean",
        "date",
        "time",
        "string",
    ]
    assert table["age"].to_pylist() == [31.0, None, None]
    assert table["city"].to_pylist() == ["Paris", "Rome", None]
    assert table["since"].to_pylist()[0] == datetime.date(2020, 1, 2)
    assert table["note"].to_pylist() == ["a, b", None, None]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_chunks_are_the_whole(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(reading, "CHUNK_BYTES", 2000)
    monkeypatch.setattr(reading, "CHUNK_ROWS", 50)
    random = np.random.default_rng(0)
    whole = pa.table({"x": random.normal(size=500), "word": random.choice(["a", "b"], 500), "unused": np.arange(500)})
    path = tmp_path / f"t.{kind}"
    csv.write_csv(whole, path) if kind == "csv" else parquet.write_table(whole, path)
    columns = [Column("word", "string", 1), Column("x", "number", 0)]
    chunks = list(read_chunks(path, layout_of(path), columns, True))
    assert len(chunks) > 5
    assert pa.concat_tables(chunks).equals(whole.select(["word", "x"]))


def test_a_fitted_column_keeps_its_type(tmp_path):
    """A file whose numbers happen to be whole, whose codes happen to be numbers, and with a column that is all missing."""
    columns = [Column("x", "number", 0), Column("code", "string", 1), Column("day", "date", 2), Column("on", "boolean", 3)]
    path = written(tmp_path, "code,x,day,on\n007,1,,true\n8,2,,\n")
    (chunk,) = read_chunks(path, layout_of(path), columns, True)
    assert chunk["code"].to_pylist() == ["007", "8"]
    assert chunk["x"].to_pylist() == [1.0, 2.0]
    assert chunk["day"].to_pylist() == [None, None]
    assert chunk["on"].to_pylist() == [True, None]


def test_columns_by_place_where_there_is_no_header(tmp_path):
    columns = [Column("2", "number", 1), Column("3", "number", 2)]  # the target was the first
    with_target, without = written(tmp_path, "9,1,2\n9,3,4\n", "with.csv"), written(tmp_path, "1,2\n3,4\n", "without.csv")
    for path in (with_target, without):
        (chunk,) = read_chunks(path, layout_of(path), columns, False)
        assert chunk["2"].to_pylist() == [1.0, 3.0]
    path = written(tmp_path, "1\n2\n", "few.csv")
    with pytest.raises(DataError, match="has 1 columns, and the model needs 2"):
        list(read_chunks(path, layout_of(path), columns, False))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,word\n1,a\n2\n", "row 3: there are 1 cells where the first row has 2."),
        ("x,word\n1,a\n2,b,c\n", "row 3: there are 3 cells where the first row has 2."),
        ("x,word\n1,a\nmany,b\n", "row 3, column 'x': 'many' is not a number."),
        ("x,words\n1,a\n", "lacks column 'word' that the model was fitted to. Did you mean 'words'?"),
        ("y,z\n1,a\n", "lacks 2 columns (x, word) that the model was fitted to."),
    ],
)
def test_bad_rows(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(DataError) as caught:
        list(read_chunks(path, layout_of(path), [Column("x", "number", 0), Column("word", "string", 1)], True))
    assert message in str(caught.value)


def test_a_parquet_column_of_another_type_is_refused(tmp_path):
    parquet.write_table(pa.table({"x": ["one"]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="column 'x' should hold a number in every row"):
        list(read_chunks(tmp_path / "t.parquet", layout_of(tmp_path / "t.parquet"), [Column("x", "number", 0)], True))


def test_columns_survive_json():
    columns = [Column("x", "number", 0), Column("day", "date", 2)]
    assert from_json(as_json(columns, False, 3)) == (columns, False)
    with pytest.raises(KeyError):
        from_json({"columns": [{"name": "x", "type": "code", "position": 0}], "header": True})


def task(labels, **more):
    table = pa.table({"x": list(range(len(labels))), "label": pa.array(labels)})
    return task_of(table, "label", more.get("dropped", []), "t.csv")


@pytest.mark.parametrize(
    ("labels", "kind"),
    [(["a", "b"] * 3, "U"), ([0.0, 1.0] * 3, "i"), ([0.5, 1.5] * 3, "f"), ([True, False] * 3, "b"), ([10**12, 7] * 3, "i")],
)
def test_labels_are_kept_as_they_were(labels, kind):
    found = task(labels)
    assert found.labels.dtype.kind == kind
    assert found.labels.tolist() == labels
    assert found.features.column_names == ["x"]


def test_rows_without_a_label_are_left_out():
    found = task(["a", "b", None, "a", "b"])
    assert found.without_label == 1
    assert found.features["x"].to_pylist() == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a"], "holds one class only: 'a'"),
        ([None, None], "no row has a value to learn from"),
        (["a", "a", "b", "b", "c"], "class 'c' has one row, so"),
        (["a", "a", "b", "c"], "class 'b' has one row (and 1 more classes)"),
        ([n + 0.5 for n in range(30)], "looks like a number to be estimated (30 different values, 0.5 to 29.5)"),
        (list(range(200)), "looks like a number to be estimated (200 different values, 0 to 199)"),
    ],
)
def test_targets_that_cannot_be_predicted(labels, message):
    with pytest.raises(DataError) as caught:
        task(labels)
    assert message in str(caught.value)


def test_thirty_numbered_classes_are_classes():
    assert len(np.unique(task(list(range(30)) * 25).labels)) == 30


def test_no_column_beside_the_target():
    with pytest.raises(DataError, match="has no column beside the target"):
        task(["a", "b"] * 3, dropped=["x"])


def test_columns_by_name_and_number():
    names = ["age", "city", "7"]
    assert [column_named(wanted, names, "--target") for wanted in ("city", "1", "-1", "7")] == ["city", "age", "7", "7"]
    for wanted, message in (("cty", "Did you mean 'city'?"), ("4", "there are 3, numbered from 1"), ("0", "is not a column")):
        with pytest.raises(UsageError) as caught:
            column_named(wanted, names, "--target")
        assert message in str(caught.value)


def test_labels_as_they_are_written():
    assert label_like("1", np.array([0, 1]), "--positive") == 1
    assert label_like("TRUE", np.array([False, True]), "--positive") is True
    with pytest.raises(UsageError, match="Did you mean 'yes'"):
        label_like("yess", np.array(["no", "yes"]), "--positive")
