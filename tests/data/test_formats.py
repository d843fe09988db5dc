"""JSON Lines, Excel and stdin: the same table, whatever file it comes from."""

import datetime
import gzip
import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from metricfit._errors import DataError, UsageError
from metricfit._extras import MissingExtraError
from metricfit.data import Column, TableSchema, input_file, layout_of, read_chunks, read_table, split_target
from metricfit.data import _raw as reading
from metricfit.data._objects import column_of
from tests.data.workbook import write_workbook

ROWS = [
    {"age": 31, "city": "Köln", "on": True, "y": "a"},
    {"age": 7.5, "on": None, "y": "b", "late": "NA"},
    {"age": None, "city": "x", "on": False, "y": "a"},
]


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def written(tmp_path, content, name="table"):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        lines(ROWS),
        "\n" + lines(ROWS).replace("\n", "\r\n\n"),
        "\ufeff" + lines(ROWS),
        lines(ROWS).encode("utf-16"),
        json.dumps(ROWS),
        "\n" + json.dumps(ROWS, indent=1),
        gzip.compress(lines(ROWS).encode(), mtime=0),
    ],
)
def test_json_lines_and_arrays(tmp_path, content):
    path = written(tmp_path, content)
    layout = layout_of(path)
    assert (layout.format, layout.names, layout.notes) == ("jsonl", ("age", "city", "on", "y", "late"), [])
    table, schema = read_table(path, layout, "y")
    assert [column.type for column in schema.columns] == ["number", "string", "boolean", "string"]
    assert table["age"].to_pylist() == [31.0, 7.5, None]
    assert table["city"].to_pylist() == ["Köln", None, "x"]
    assert table["on"].to_pylist() == [True, None, False]
    assert table["late"].to_pylist() == [None] * 3


def test_json_of_mixed_types_is_text_in_every_chunk(tmp_path, monkeypatch):
    cells = ["A1", 7, 7.0, 0.5, 1e-7, True, None, 2**70]
    path = written(tmp_path, lines({"code": cell, "y": "a"} for cell in cells))
    table, schema = read_table(path, layout_of(path), "y")
    assert table["code"].to_pylist() == ["A1", "7", "7", "0.5", "1e-7", "true", None, str(2**70)]
    monkeypatch.setattr(reading, "CHUNK_ROWS", 1)  # where each chunk has a type of its own
    chunks = [chunk.features["code"].to_pylist() for chunk in read_chunks(path, layout_of(path), schema)]
    assert [cell for (cell,) in chunks] == table["code"].to_pylist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}\n{"a": \n', "line 2 is not a JSON object"),
        ('{"a": 1}\n[1]\n', 'line 2 is a JSON list, expected an object such as {"age": 31}.'),
        ('{\n "a": 1\n}\n', "line 1 is not a JSON object"),
        ('[{"a": 1}, 2]', "element 2 is a JSON int"),
        ('[{"a": 1}', "is not valid JSON"),
        ("{}\n{}\n", "has no columns"),
        ("[[1, 2]]", "element 1 is a JSON list"),
    ],
)
def test_bad_json(tmp_path, content, message):
    with pytest.raises(DataError) as caught:
        layout_of(written(tmp_path, content))
    assert message in str(caught.value)


def test_nested_json_is_refused_with_its_column(tmp_path):
    path = written(tmp_path, lines([{"x": 1, "tags": "t", "y": "a"}, {"x": 1, "tags": ["t"], "y": "b"}]))
    with pytest.raises(DataError, match=r"row 2, column 'tags' holds a list, .* Pass --drop 'tags'"):
        read_table(path, layout_of(path), "y")
    assert read_table(path, layout_of(path), "y", ["tags"])[0].column_names == ["x", "y"]


@pytest.mark.parametrize("first", ["{3F25-04E0},b", "[id],[name]"])
def test_brackets_in_a_csv_are_no_json(tmp_path, first):
    assert layout_of(written(tmp_path, f"{first}\n1,2\n")).format == "csv"


DAY = datetime.date(2024, 12, 31)
SHEET = [
    ["age", " day", "member", "mixed", "city", "y"],
    [31, DAY, True, "A1", "Köln", 0],
    ["NA", DAY, False, 7, None, 1],
    [2.5, None, None, 0.5, "x", 1],
    [None, None],
]


def test_excel(tmp_path):
    path = write_workbook(tmp_path / "book.bin", data=SHEET, notes=[["hello"]])
    layout = layout_of(path)
    assert (layout.format, layout.names) == ("excel", ("age", "day", "member", "mixed", "city", "y"))
    assert layout.notes == ["Sheet 'data' is read, the first of 2."]
    table, schema = read_table(path, layout, "y")
    assert [column.type for column in schema.columns] == ["number", "date", "boolean", "string", "string"]
    assert table["age"].to_pylist() == [31.0, None, 2.5]
    assert table["day"].to_pylist() == [DAY, DAY, None]
    assert table["mixed"].to_pylist() == ["A1", "7", "0.5"]
    assert split_target(pa.concat_tables([table] * 2), "y", path).labels.tolist() == [0, 1, 1] * 2
    (chunk,) = read_chunks(path, layout, schema, keep=["day", "y"])
    assert chunk.features.equals(table.drop_columns("y"))
    assert chunk.kept["y"].to_pylist() == [0, 1, 1]


def test_rows_of_a_sheet_are_numbered_as_excel_does(tmp_path):
    path = write_workbook(tmp_path / "book.xlsx", first_row=4, data=[["x", "y"], [1, "a"], ["many", "b"]])
    layout = layout_of(path)
    assert layout.notes == ["Sheet 'data' is read, the only one."]
    with pytest.raises(DataError, match="row 6, column 'x': 'many' is not a number"):
        list(read_chunks(path, layout, TableSchema((Column("x", "number", 0),), True, 2)))


def test_a_sheet_without_a_header(tmp_path):
    path = write_workbook(tmp_path / "book.xlsx", data=[[1, "a"], [2, "b"]])
    layout = layout_of(path)
    assert (layout.names, layout.header) == (("1", "2"), False)
    assert read_table(path, layout, "2")[0]["1"].to_pylist() == [1.0, 2.0]


def test_excel_files_that_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="sheet 'data' is empty"):
        layout_of(write_workbook(tmp_path / "empty.xlsx", data=[]))
    with pytest.raises(DataError, match="cannot be read as an Excel file"):
        layout_of(written(tmp_path, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and nothing", "damaged.xls"))
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"needs the package python_calamine: pip install 'metricfit\[excel\]'"):
        layout_of(write_workbook(tmp_path / "book.xlsx", data=SHEET))


def test_columns_of_one_name_in_parquet(tmp_path):
    parquet.write_table(pa.table([[1.0, 2.0], [3.0, 4.0], ["a", "b"]], names=["x", "x", "y"]), tmp_path / "t.parquet")
    layout = layout_of(tmp_path / "t.parquet")
    table, schema = read_table(tmp_path / "t.parquet", layout, "y")
    assert (table["x"].to_pylist(), table["x (2)"].to_pylist()) == ([1.0, 2.0], [3.0, 4.0])
    (chunk,) = read_chunks(tmp_path / "t.parquet", layout, schema)
    assert chunk.features.equals(table.drop_columns("y"))


class Pipe(io.TextIOWrapper):
    def __init__(self, content):
        super().__init__(io.BytesIO(content))


def test_stdin_is_copied_and_called_so(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Pipe(b"x,y\n1,a\n1e300,b\n"))
    with pytest.raises(DataError, match=r"^stdin, row 3, column 'x': 1e") as caught, input_file(Path("-")) as path:  # noqa: PT012
        assert path.name == "stdin"
        assert layout_of(path).names == ("x", "y")
        read_table(path, layout_of(path), "y")
    assert str(path) not in str(caught.value)
    assert not path.exists()


def test_stdin_that_is_a_terminal(monkeypatch, tmp_path):
    terminal = Pipe(b"")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    with pytest.raises(UsageError, match="nothing is piped into it"), input_file(Path("-")):
        pass
    with input_file(tmp_path / "file") as path:
        assert path == tmp_path / "file"


def test_rows_with_too_few_or_too_many_cells_keep_their_place(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "CHUNK_BYTES", 40)
    wrong = {3, 4, 50, 99}
    text = "".join("7\n" if row == 3 else "7,8,9\n" if row in wrong else f"{row},{row}.5\n" for row in range(100))
    path = written(tmp_path, "id,x\n" + text)
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


def test_problems_of_cells_name_row_column_and_value(tmp_path):
    path = written(tmp_path, "x,day,z\n1,2024-01-01,5\nmany,2024-01-01,5\n2,soon,1e300\n3,,\n")
    columns = Column("x", "number", 0), Column("day", "date", 1), Column("z", "number", 2)
    (chunk,) = read_chunks(path, layout_of(path), TableSchema(columns, True, 3), skip=True)
    assert chunk.problems == {
        1: "row 3, column 'x': 'many' is not a number",
        2: "row 4, column 'day': 'soon' is not a date",
    }
    assert chunk.features["x"].to_pylist() == [1.0, None, 2.0, 3.0]
    assert chunk.features["z"].to_pylist() == [5.0, 5.0, None, None]


def test_dates_and_times_of_cells():
    noon = datetime.datetime(2024, 12, 31, 12)
    assert column_of([DAY, noon, None]).to_pylist() == [datetime.datetime(2024, 12, 31), noon, None]
    assert column_of([datetime.time(10, 30), ""]).to_pylist() == [datetime.time(10, 30), None]
    assert str(column_of([datetime.timedelta(hours=1)]).type) == "duration[us]"
    assert column_of([DAY, "soon", 1.0]).to_pylist() == ["2024-12-31", "soon", "1"]
    assert column_of(["None", "a"]).to_pylist() == ["None", "a"]  # it may be a class
