"""ARFF, aligned columns, JSON, Excel, Parquet and stdin: the same table, whatever file it comes from."""

import datetime
import gzip
import io
import json
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from metricfit._errors import DataError, UsageError
from metricfit._extras import MissingExtraError
from metricfit.cli._arguments import parse_delimiter
from metricfit.data import Column, TableSchema, input_file, layout_of, read_chunks, read_table, split_target
from metricfit.data import _read as reading
from metricfit.data._formats import column_of
from tests.data.workbook import write_workbook

FLOWERS = r"""% two flowers

@RELATION flowers
@attribute 'petal length' REAL
@attribute "o\"clock" integer [0, 24]
@ATTRIBUTE grade {1, 2}
@attribute remark string
@attribute seen date "yyyy-MM-dd"
@attribute class {'Iris setosa', other}
@data
1.5, 007, 1, 'it\'s, "red"', 2024-05-31, 'Iris setosa'
% a comment
?, 12, 2, ?, 2024-06-01, other
2.5,9,<null>,plain,?,other
"""
BEANS = "@relation r\n@attribute x real\n@attribute y {a,b}\n@data\n"


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode(), mtime=0)])
def test_arff_with_all_types_quotes_and_gaps(read, reread, pack):
    table, schema, notes = read(pack(FLOWERS))
    assert [column.type for column in schema.columns] == ["number", "number", "string", "string", "date"]
    days = [datetime.datetime(2024, 5, 31), datetime.datetime(2024, 6, 1), None]
    expected = {
        "petal length": [1.5, None, 2.5],
        'o"clock': [7.0, 12.0, 9.0],
        "grade": ["1", "2", None],  # nominal in the file, although all values are numbers
        "remark": ['it\'s, "red"', None, "plain"],
        "seen": days,
    }
    assert table.drop_columns("class").to_pydict() == expected
    assert reread(pack(FLOWERS), schema) == (expected, [])
    assert notes == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BEANS + "1,a\nword,b\n", "row 6, column 'x': 'word' is not a number"),
        (BEANS + "1,a\n2,3,b\n", "row 6 has 3 cells, expected 2"),
        (BEANS + "{0 1, 1 a}\n", "is a sparse ARFF file, which is not supported."),
        ("@relation r\n@attribute x relational\n@data\n1\n", "line 2: column 'x' has the type 'relational', expected one of"),
        ("@relation r\n@data\n1\n", "is an ARFF file without @attribute lines"),
        ("% comment\n@RELATION r\n@attribute x real\n", "is an ARFF file without a @data line"),
        ("@relation r\n@attribute\n@data\n1\n", "line 2 should be @attribute, a name and a type"),
    ],
)
def test_bad_arff(read, text, message):
    with pytest.raises(DataError) as caught:
        read(text)
    assert message in str(caught.value)


ALIGNED = "ADT1   0.58  10  MIT\nADT2  -0.4    5  NUC\n  X   0.61   7  MIT  \n"


def test_aligned_columns(read, reread):
    for text in (ALIGNED.encode(), ALIGNED.encode("utf-16")):
        table, schema, notes = read(text)
        features = {"1": ["ADT1", "ADT2", "X"], "2": [0.58, -0.4, 0.61], "3": [10, 5, 7]}
        assert table.to_pydict() == {**features, "4": ["MIT", "NUC", "MIT"]}
        assert notes[0] == "Columns are separated by spaces, any number of them. Pass --delimiter to change this."
        assert reread(text, schema, skip=True)[0] == features
    assert not any("separated" in line for line in read(ALIGNED, {"delimiter": parse_delimiter("whitespace")})[2])
    table, _, _ = read('name        size  sort\n"Ann  B"     1.5  a\n"C D"       10.5  b\n')
    assert table.to_pydict() == {"name": ["Ann  B", "C D"], "size": [1.5, 10.5], "sort": ["a", "b"]}


ROWS = [
    {"age": 31, "city": "Köln", "on": True, "late": None, "y": "a"},
    {"age": 7.5, "on": None, "y": "b", "late": "NA"},
    {"age": None, "city": "x", "on": False, "y": "a"},
]


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


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
def test_json_lines_and_arrays(read, content):
    table, schema, notes = read(content)
    assert [column.type for column in schema.columns] == ["number", "string", "boolean", "string"]
    assert table.to_pydict() == {
        "age": [31.0, 7.5, None],
        "city": ["Köln", None, "x"],
        "on": [True, None, False],
        "late": [None] * 3,
        "y": ["a", "b", "a"],
    }
    assert notes == []


def test_json_of_mixed_types_is_text(read, reread, monkeypatch):
    cells = ["A1", 7, 7.0, 0.5, 1e-7, True, None, 2**70]
    text = lines({"code": cell, "y": "a"} for cell in cells)
    table, schema, _ = read(text)
    assert table["code"].to_pylist() == ["A1", "7", "7", "0.5", "1e-7", "true", None, str(2**70)]
    monkeypatch.setattr(reading, "CHUNK_ROWS", 1)
    assert reread(text, schema)[0]["code"] == table["code"].to_pylist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}\n{"a": \n', "line 2 is not valid JSON"),
        ('{"a": 1}\n[1]\n', 'line 2 is a JSON list, expected an object such as {"age": 31}.'),
        ('{\n "a": 1\n}\n', "line 1 is not valid JSON"),
        ('[{"a": 1}, 2]', "element 2 is a JSON int"),
        ('[{"a": 1}', "is not valid JSON"),
        ("{}\n{}\n", "has no columns"),
        (lines([{"x": 1, "t": "t", "y": "a"}, {"x": 1, "t": ["t"], "y": "b"}]), "row 2, column 't' contains a list, expected"),
    ],
)
def test_bad_json(read, content, message):
    with pytest.raises(DataError) as caught:
        read(content)
    assert message in str(caught.value)


@pytest.mark.parametrize("first", ["{3F25-04E0},b", "[id],[name]"])
def test_brackets_in_a_csv_are_not_json(write, first):
    assert layout_of(write(f"{first}\n1,2\n")).format == "csv"


DAY, NOON = datetime.date(2024, 12, 31), datetime.datetime(2024, 12, 31, 12)
SHEET = [
    ["age", " day", "member", "mixed", "city", "y"],
    [31, DAY, True, "A1", "Köln", 0],
    ["NA", DAY, False, 7, None, 1],
    [2.5, None, None, 0.5, "x", 1],
    [None, None],
]


def test_excel(tmp_path, read):
    path = write_workbook(tmp_path / "book.bin", data=SHEET, notes=[["hello"]])
    table, schema, notes = read(path)
    assert notes[0] == "Sheet 'data' is read, the first of 2."
    assert [column.type for column in schema.columns] == ["number", "date", "boolean", "string", "string"]
    assert table["age"].to_pylist() == [31.0, None, 2.5]
    assert table["day"].to_pylist() == [DAY, DAY, None]
    assert table["mixed"].to_pylist() == ["A1", "7", "0.5"]
    assert split_target(pa.concat_tables([table] * 2), "y", path).labels.tolist() == [0, 1, 1] * 2
    (chunk,) = read_chunks(path, layout_of(path), schema, keep=["day", "y"])
    assert chunk.features.equals(table.drop_columns("y"))
    assert chunk.kept["y"].to_pylist() == [0, 1, 1]


def test_rows_of_a_sheet_are_numbered_as_in_excel(tmp_path, read):
    path = write_workbook(tmp_path / "book.xlsx", first_row=4, data=[["x", "y"], [1, "a"], ["many", "b"]])
    with pytest.raises(DataError, match="row 6, column 'x': 'many' is not a number"):
        list(read_chunks(path, layout_of(path), TableSchema((Column("x", "number", 0),), True, 2)))
    table, _, notes = read(write_workbook(tmp_path / "book.xlsx", data=[[1, "a"], [2, "b"]]))
    assert (table.to_pydict(), notes[0]) == ({"1": [1.0, 2.0], "2": ["a", "b"]}, "Sheet 'data' is read, the only one.")


def test_excel_files_that_cannot_be_read(tmp_path, write, monkeypatch):
    with pytest.raises(DataError, match="sheet 'data' is empty"):
        layout_of(write_workbook(tmp_path / "empty.xlsx", data=[]))
    with pytest.raises(DataError, match="cannot be read as an Excel file"):
        layout_of(write(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and nothing"))
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"needs the package python_calamine: pip install 'metricfit\[excel\]'"):
        layout_of(write_workbook(tmp_path / "book.xlsx", data=SHEET))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([DAY, NOON, None], [datetime.datetime(2024, 12, 31), NOON, None]),
        ([datetime.time(10, 30), ""], [datetime.time(10, 30), None]),
        ([datetime.timedelta(hours=1)], [datetime.timedelta(hours=1)]),
        ([DAY, "soon", 1.0], ["2024-12-31", "soon", "1"]),
        (["None", "a"], ["None", "a"]),  # it may be a class
        ([2**70, 1], [str(2**70), "1"]),  # an ID that no integer type holds
    ],
)
def test_cells_of_a_sheet(cells, expected):
    assert column_of(cells).to_pylist() == expected


def parquet_file(tmp_path, **columns):
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_types_of_parquet(tmp_path, read):
    micro, words = pa.array([1, 10**12]), pa.array(["x", "y"])
    table, _, _ = read(
        parquet_file(
            tmp_path,
            small=pa.array([1, None], pa.int8()),
            money=pa.array([1, 2], pa.decimal128(9, 2)),
            word=words.dictionary_encode(),
            flag=[True, None],
            empty=pa.nulls(2),
            day=micro.view(pa.timestamp("ns")),  # nanoseconds would need pandas
            hour=micro.view(pa.time64("ns")),
            **{
                f"lasted_{unit}": pa.array([n, 2**62]).view(pa.duration(unit))
                for unit, n in (("s", 1), ("ms", 10**3), ("ns", 10**9))
            },
            y=words,
        )
    )
    first = {name: column[0] for name, column in table.to_pydict().items()}
    lasted = {f"lasted_{unit}": 1e6 for unit in ("s", "ms", "ns")}
    epoch = {"day": datetime.datetime(1970, 1, 1), "hour": datetime.time()}
    assert first == {"small": 1.0, "money": 1.0, "word": "x", "flag": True, "empty": None, **epoch, **lasted, "y": "x"}


@pytest.mark.parametrize(
    ("kind", "far"),
    [(pa.timestamp("ms"), 10**16), (pa.timestamp("us"), -(10**18)), (pa.timestamp("us", "UTC"), 10**18), (pa.date32(), 10**8)],
)
def test_dates_outside_the_calendar_of_python_are_problems(tmp_path, read, kind, far):
    days = pa.array(np.array([0, far], "int32" if kind.bit_width == 32 else "int64")).view(kind)
    with pytest.raises(DataError, match=r"row 2, column 'day': a value of type .* is outside of the years 1 to 9999"):
        read(parquet_file(tmp_path, day=days, y=["a", "b"]))
    (chunk,) = read_chunks(
        tmp_path / "t.parquet", layout_of(tmp_path / "t.parquet"), TableSchema((Column("day", "date", 0),), True, 2), skip=True
    )
    assert list(chunk.problems) == [1]
    with pytest.raises(DataError, match=r"column 'day': a value of type .* is outside of the years 1 to 9999"):
        split_target(pa.table({"x": [1, 2], "day": days}), "day", "t.parquet")


def test_an_unknown_time_zone_is_refused(tmp_path, read):
    days = pa.array(np.zeros(2, "int64")).view(pa.timestamp("us", "Mars/Olympus"))
    with pytest.raises(DataError, match="'Mars/Olympus' is not a known time zone"):
        read(parquet_file(tmp_path, day=days, y=["a", "b"]))


@pytest.mark.parametrize("values", [pa.array([[1], [2]]), pa.array([{"x": 1}, {"x": 2}]), pa.array([b"1", b"2"])])
def test_nested_types_are_refused(tmp_path, read, values):
    with pytest.raises(DataError, match=r"Column 'odd' has values of type .*, which cannot be used. Pass --drop 'odd'."):
        read(parquet_file(tmp_path, odd=values, y=["a", "b"]))
    assert read(tmp_path / "t.parquet", dropped=["odd"])[0].column_names == ["y"]
    with pytest.raises(DataError, match="which cannot be classes"):
        split_target(pa.table({"x": [1, 2], "odd": values}), "odd", "t.parquet")


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bytes_of_parquet_are_read_or_refused(tmp_path, read, seed):
    random = np.random.default_rng(seed)
    days = pa.array(random.integers(0, 10**15, 200)).view(pa.timestamp("us"))
    path = parquet_file(
        tmp_path, a=random.normal(size=200), day=days, c=random.choice(["u", "v"], 200), label=["x", "y"] * 100
    )
    whole = bytearray(path.read_bytes())
    for index in random.integers(4, len(whole) - 8, 3):
        whole[index] ^= 1 << int(random.integers(8))
    path.write_bytes(bytes(whole))
    with suppress(DataError):
        read(path)


class Pipe(io.TextIOWrapper):
    def __init__(self, content):
        super().__init__(io.BytesIO(content))


def test_stdin_is_copied_and_named(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Pipe(b"x,y\n1,a\n1e300,b\n"))
    with pytest.raises(DataError, match=r"^stdin, row 3, column 'x': 1e") as caught, input_file(Path("-")) as path:  # noqa: PT012
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
