"""Rows in chunks, matched to the columns of a schema, with their problems."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from metricfit._errors import DataError
from metricfit.data import Column, TableSchema, layout_of, read_chunks
from metricfit.data import _read as reading


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_chunks_are_the_whole(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(reading, "CHUNK_BYTES", 2000)
    monkeypatch.setattr(reading, "CHUNK_ROWS", 50)
    random = np.random.default_rng(0)
    whole = pa.table({"x": random.normal(size=500), "word": random.choice(["a", "b"], 500), "unused": np.arange(500)})
    path = tmp_path / f"t.{kind}"
    csv.write_csv(whole, path) if kind == "csv" else parquet.write_table(whole, path)
    schema = TableSchema((Column("word", "string", 1), Column("x", "number", 0)), True, 3)
    chunks = [chunk.features for chunk in read_chunks(path, layout_of(path), schema)]
    assert len(chunks) > 5
    assert pa.concat_tables(chunks).combine_chunks().equals(whole.select(["word", "x"]))


def test_a_fitted_column_keeps_its_type(reread):
    """A file whose numbers happen to be whole, whose codes happen to be numbers, and with a column that is all missing."""
    columns = Column("x", "number", 0), Column("code", "string", 1), Column("day", "date", 2), Column("on", "boolean", 3)
    found, _ = reread("code,x,day,on\n007,1,,true\n8,2,,\n", TableSchema(columns, True, 4))
    assert found == {"x": [1.0, 2.0], "code": ["007", "8"], "day": [None, None], "on": [True, None]}


def test_columns_by_position_where_there_is_no_header(reread):
    schema = TableSchema((Column("2", "number", 1), Column("3", "number", 2)), False, 3)  # the target was the first
    for text in ("9,1,2\n9,3,4\n", "1,2\n3,4\n"):
        assert reread(text, schema)[0]["2"] == [1.0, 3.0]
    for text in ("1\n2\n", "1,2,3,4\n"):
        with pytest.raises(DataError, match="columns, expected 3 with the target or 2 without"):
            reread(text, schema)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,word\n1,a\n2\n", "row 3 has 1 cells, expected 2 as in the first row."),
        ("x,word\n1,a\n2,b,c\n", "row 3 has 3 cells, expected 2 as in the first row."),
        ("x,word\n1,a\nmany,b\n", "row 3, column 'x': 'many' is not a number."),
        (f"x,word\n{'z' * 5000},b\n", f"row 2, column 'x': '{'z' * 80}...' is not a number."),
        ("x,words\n1,a\n", "lacks column 'word' that the model was fitted to. Did you mean 'words'?"),
        ("y,z\n1,a\n", "lacks 2 columns (x, word) that the model was fitted to."),
    ],
)
def test_bad_rows(reread, text, message):
    with pytest.raises(DataError) as caught:
        reread(text, TableSchema((Column("x", "number", 0), Column("word", "string", 1)), True, 2))
    assert str(caught.value).endswith(message)


def test_a_parquet_column_of_another_type_is_refused(tmp_path, reread):
    parquet.write_table(pa.table({"x": [datetime.date(2020, 1, 1)]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="column 'x' should have a number in every row"):
        reread(tmp_path / "t.parquet", TableSchema((Column("x", "number", 0),), True, 1))


def test_skipped_rows_with_too_few_or_too_many_cells_keep_their_position(write, monkeypatch):
    monkeypatch.setattr(reading, "CHUNK_BYTES", 40)
    wrong = {3, 4, 50, 99}
    text = "".join("7\n" if row == 3 else "7,8,9\n" if row in wrong else f"{row},{row}.5\n" for row in range(100))
    path = write("id,x\n" + text)
    schema = TableSchema((Column("x", "number", 1),), True, 2)
    chunks = list(read_chunks(path, layout_of(path), schema, keep=["id"], skip=True))
    assert len(chunks) > 5
    values = [value for chunk in chunks for value in chunk.features["x"].to_pylist()]
    assert values == [None if row in wrong else row + 0.5 for row in range(100)]
    kept = [value for chunk in chunks for value in chunk.kept["id"].to_pylist()]
    assert kept == [None if row in wrong else str(row) for row in range(100)]
    problems = [problem for chunk in chunks for problem in chunk.problems.values()]
    assert problems[0] == "row 5 has 1 cells, expected 2 as in the first row"
    assert [problem.split()[1] for problem in problems] == [str(row + 2) for row in sorted(wrong)]


def test_all_rows_may_be_skipped(write):
    path = write("id,x\n7,8,9\n7,8,9\n")
    (chunk,) = read_chunks(path, layout_of(path, header=True), TableSchema((Column("x", "number", 1),), True, 2), skip=True)
    assert (chunk.features["x"].to_pylist(), list(chunk.problems)) == ([None, None], [0, 1])


def test_problems_of_cells_name_row_column_and_value(write):
    path = write("x,day,z\n1,2024-01-01,5\nmany,2024-01-01,5\n2,soon,1e300\n3,,\n")
    columns = Column("x", "number", 0), Column("day", "date", 1), Column("z", "number", 2)
    (chunk,) = read_chunks(path, layout_of(path), TableSchema(columns, True, 3), skip=True)
    assert chunk.problems == {1: "row 3, column 'x': 'many' is not a number", 2: "row 4, column 'day': 'soon' is not a date"}
    assert chunk.features["x"].to_pylist() == [1.0, None, 2.0, 3.0]
    assert chunk.features["z"].to_pylist() == [5.0, 5.0, None, None]
