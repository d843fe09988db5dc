"""The types of columns: what is detected, what you may override, and what the reader announces."""

import datetime

import pandas
import pytest

from metricfit._errors import DataError, UsageError
from metricfit.data import Column, TableSchema

MIXED = """age, city ,member,since,at,note,code,born,y
31, Paris,true,2020-01-02,10:30:00,"a, b",007,31.12.1999,p
  ?,Rome ,False,2021-03-04T10:00:00.5,,NA ,042,01.02.2000,q
, NULL,,,07:00,,1,,p
"""


def test_types_and_missing_values(read):
    table, schema, _ = read(MIXED)
    assert schema.n_columns == 9
    assert {column.name: (column.type, table[column.name].to_pylist()) for column in schema.columns} == {
        "age": ("number", [31.0, None, None]),
        "city": ("string", ["Paris", "Rome", None]),
        "member": ("boolean", [True, False, None]),
        "since": ("date", [datetime.datetime(2020, 1, 2), datetime.datetime(2021, 3, 4, 10, 0, 0, 500_000), None]),
        "at": ("time", [datetime.time(10, 30), None, datetime.time(7)]),
        "note": ("string", ["a, b", None, None]),
        "code": ("string", ["007", "042", "1"]),
        "born": ("date", [datetime.datetime(1999, 12, 31), datetime.datetime(2000, 2, 1), None]),
    }


@pytest.mark.parametrize(
    ("days", "format"),
    [
        (["2020-01-02T00:00:00Z", "2020-01-03T00:00:00+02:00"], ""),
        (["2020-01-02 00:00:00.123456789", "2020-01-03 00:00:00"], ""),
        (["1492-10-12", "2020-01-03"], ""),
        (["12/31/2020", "01/02/2021"], "%m/%d/%Y"),
        (["31/12/2020", "01/02/2021"], "%d/%m/%Y"),
        (["31.12.2020", "01.02.2021"], "%d.%m.%Y"),
    ],
)
def test_dates_are_read_the_same_way_again(read, reread, days, format):
    text = "day,y\n" + "".join(f"{day},a\n" for day in days)
    table, schema, _ = read(text)
    assert schema.columns[0] == Column("day", "date", 0, format)
    assert table["day"].null_count == 0
    assert reread(text, schema)[0]["day"] == table["day"].to_pylist()


def test_a_column_of_dates_also_takes_iso_dates(read, reread):
    _, schema, _ = read("day,y\n31.12.2024,a\n01.02.2025,b\n")
    found, _ = reread("day\n31.12.2024\n2025-02-01\n\n2025-02-01T10:30:00\n2025-02-01T10:30:00Z\n", schema)
    late = datetime.datetime(2025, 2, 1, 10, 30)
    assert found["day"] == [datetime.datetime(2024, 12, 31), datetime.datetime(2025, 2, 1), late, late]
    with pytest.raises(DataError, match=r"'32\.12\.2024' is not a date"):
        reread("day\n2025-02-01\n32.12.2024\n", schema)


def test_versions_are_not_dates(read):
    assert read("version,y\n1.2.3,a\n1.2.4,b\n")[1].columns[0].type == "string"


def test_infinite_numbers_are_missing_and_huge_ones_an_error(read):
    assert read("x,y\n1,a\ninf,b\n-inf,a\n")[0]["x"].to_pylist() == [1.0, None, None]
    with pytest.raises(DataError, match=r"row 3, column 'x': 1e\+300 is too large \(maximum 1e\+100\)"):
        read("x,y\n1,a\n1e300,b\n")
    with pytest.raises(DataError, match=r"row 3, column 'x': '1e999' is too large \(maximum 1e\+100\)"):
        read("x,y\n1,a\n1e999,b\n")


def test_the_index_of_pandas_is_dropped(tmp_path, read, reread):
    frame = pandas.DataFrame({"x": [5.0, 6.0, 7.0], "y": ["a", "b", "a"]}, index=[3, 4, 5])
    frame.to_parquet(tmp_path / "t.parquet")
    frame.reset_index(drop=True).to_csv(tmp_path / "t.csv")
    for name in ("t.parquet", "t.csv"):
        table, schema, notes = read(tmp_path / name, target="y")
        assert table.column_names == ["x", "y"]
        assert ["is a row index and is dropped" in note for note in notes] == [True]
        assert reread(tmp_path / name, schema)[0] == {"x": [5.0, 6.0, 7.0]}
    assert read(",,y\n1,10,a\n2,20,b\n7,30,a\n")[0].column_names == ["column 1", "column 2", "y"]


PRICES = "".join(f"€ {n},1\n" for n in range(10, 30))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("word,n,y\none,1,a\ntwo,2,b\nB12,3,a\n", []),
        (
            "code,y\n007,a\n12,b\n",
            ["Column 'code' is read as categories: it has codes such as '007'. Pass --numeric 'code' to read numbers."],
        ),
        (
            "x,day,y\n" + "1,01/02/2020,a\n" * 30 + "many,03/04/2020,b\n",
            [
                "Column 'x' is read as categories: most of its values are numbers, but 1 cell is not: 'many'. Pass --numeric 'x' to read it as missing, or correct the file.",
                "Column 'day' is read as dates (format month/day/year).",
            ],
        ),
        (
            "price,y\n" + PRICES + "$ 5,2\n$ 6,2\non request,2\n",
            [
                "Column 'price' is read as categories: most of its values are numbers written as € 1234.56, but 3 cells are not: "
                "'$ 5', '$ 6', 'on request'. Pass --numeric 'price' to read these as missing, or correct the file."
            ],
        ),
        (
            "price,y\n€ 5,1\n$ 5,2\n",
            [
                "Column 'price' is read as categories: its numbers are written in different ways, such as '€ 5' (50% of them) and '$ 5'. "
                "Write them in one way and one unit."
            ],
        ),
        (
            "a;b;y\n1,5;2,5;p\n1,25;3;q\n",
            ["Columns 'a', 'b' are read as numbers written as 1234,56. Pass --categorical to keep the text."],
        ),
        (
            "a;b;y\n1.234;1,5;p\n12.345;2,5;q\n",
            [
                "Column 'b' is read as numbers written as 1234,56. Pass --categorical to keep the text.",
                "Column 'a' can be read in two ways: '1.234' is read as 1.234, although other columns have a decimal comma. "
                "If the point groups thousands, remove it from the file.",
            ],
        ),
        ("a;b;y\n1.234;1.5;p\n12.345;2.5;q\n", []),
    ],
)
def test_decisions_are_announced(read, text, said):
    assert read(text)[2] == said


@pytest.mark.parametrize(("delimiter", "value"), [(";", 1.234), ("\t", 1234.0), ("|", 1234.0)])
def test_three_digits_after_a_comma_are_read_by_the_decimal_sign_of_the_file(read, delimiter, value):
    table, _, said = read(f"a{delimiter}y\n1,234{delimiter}p\n12,345{delimiter}q\n")
    assert table["a"].to_pylist()[0] == value
    assert said[0].startswith(f"Column 'a' can be read in two ways: '1,234' is read as {value:g}, not as")


def test_the_format_of_a_column_is_kept_for_prediction(read, reread):
    table, schema, said = read("price;y\n1.234,56 €;a\n7 €;b\n")
    assert said == ["Column 'price' is read as numbers written as 1.234,56 €. Pass --categorical to keep the text."]
    assert table["price"].to_pylist() == [1234.56, 7.0]
    assert schema.columns[0] == Column("price", "number", 0, "1.234,56 €")
    assert reread("price\n1.234 €\n", schema)[0] == {"price": [1234.0]}
    with pytest.raises(DataError, match=r"row 2, column 'price': '9.99 €' is not a number written as 1.234,56 €."):
        reread("price\n9.99 €\n", schema)


def test_numeric_columns_have_missing_values_where_there_are_words(read, reread):
    table, schema, said = read("x,y\n1,a\nmany,b\n3,a\nmany,a\n", numeric=["x"])
    assert table["x"].to_pylist() == [1.0, None, 3.0, None]
    assert schema.columns[0] == Column("x", "number", 0, "", True)
    assert said == ["Column 'x': 2 cells that are not numbers are read as missing: 'many'."]
    said = ["Column 'x': 1 cell that is not a number is read as missing: 'few'."]
    assert reread("x\n5\nfew\n", schema) == ({"x": [5.0, None]}, said)
    with pytest.raises(DataError, match=r"1e\+300 is too large"):
        reread("x\n1e300\n", schema)
    table, schema, _ = read("x,y\n€ 5,a\n€ 6,b\n$ 7,a\n", numeric=["x"])
    assert (table["x"].to_pylist(), schema.columns[0].format) == ([5.0, 6.0, None], "€ 1234.56")
    assert read("x,y\n007,a\n12,b\n", numeric=["x"])[0]["x"].to_pylist() == [7.0, 12.0]


def test_categorical_columns_stay_as_written(read, reread):
    table, schema, said = read("x,z,y\n1,1.50,a\n2,2.0,b\n", categorical=["x", "z"])
    assert table.to_pydict() == {"x": ["1", "2"], "z": ["1.50", "2.0"], "y": ["a", "b"]}
    assert said == []
    assert reread("x,z\n3,4\n", schema)[0] == {"x": ["3"], "z": ["4"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numeric": ["x"], "categorical": ["x"]}, "--numeric and --categorical both name column 'x'. Pass one of them."),
        ({"numeric": ["y"]}, "--numeric 'y' is the target, whose values are classes."),
        ({"categorical": ["x"], "dropped": ["x"]}, "--categorical 'x' is a column that --drop leaves out."),
        ({"numeric": ["day"]}, "--numeric 'day': no value is a number: 'red', 'blue'."),
    ],
)
def test_overrides_that_make_no_sense(read, options, message):
    with pytest.raises(UsageError) as caught:
        read("x,day,y\n1,red,a\n2,blue,b\n", **options)
    assert str(caught.value) == message


def test_a_schema_survives_json():
    schema = TableSchema((Column("x", "number", 0), Column("day", "date", 2, "%d.%m.%Y")), False, 3)
    assert TableSchema.from_json(schema.as_json()) == schema
    for change in ({"type": "code"}, {"format": "%d"}, {"type": "string", "format": "%d.%m.%Y"}):
        found = schema.as_json()
        found["columns"][0] |= change
        with pytest.raises(ValueError, match="column 'x' has an unknown type or format"):
            TableSchema.from_json(found)
