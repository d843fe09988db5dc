"""The types of columns, what the caller may say about them, and what the reader says."""

import datetime

import pytest

from metricfit._errors import DataError, UsageError
from metricfit.data import Column, TableSchema, layout_of, read_chunks, read_table


@pytest.fixture
def read(tmp_path):
    """Table, schema and notes of a text."""

    def call(text, target="y", **options):
        path = tmp_path / "table.csv"
        path.write_text(text)
        said = []
        table, schema = read_table(path, layout_of(path), target, say=said.append, **options)
        return table, TableSchema.from_json(schema.as_json()), said

    return call


@pytest.fixture
def predict(tmp_path):
    """The values of one column of another text, and the notes."""

    def call(text, schema, name):
        path = tmp_path / "new.csv"
        path.write_text(text)
        said = []
        (chunk,) = read_chunks(path, layout_of(path), schema, say=said.append)
        return chunk.features[name].to_pylist(), said

    return call


def test_the_style_of_a_column_is_kept_for_prediction(read, predict):
    table, schema, said = read("price;y\n1.234,56 €;a\n7 €;b\n")
    assert said == ["Column 'price' is read as numbers written as 1.234,56 €. Pass --categorical to keep the text."]
    assert table["price"].to_pylist() == [1234.56, 7.0]
    assert schema.columns[0] == Column("price", "number", 0, "1.234,56 €")
    assert predict("price\n1.234 €\n", schema, "price")[0] == [1234.0]
    with pytest.raises(DataError, match=r"row 2, column 'price': '9.99 €' is not a number written as 1.234,56 €."):
        predict("price\n9.99 €\n", schema, "price")


def test_columns_of_one_style_share_a_line(read):
    _, _, said = read("a;b;y\n1,5;2,5;p\n1,25;3;q\n")
    assert said == ["Columns 'a', 'b' are read as numbers written as 1234,56. Pass --categorical to keep the text."]


def test_groups_in_a_column_of_decimal_commas_are_groups(read):
    """The comma is proven to be the decimal sign, so the point is not."""
    table, _, _ = read("a;y\n" + "1,5;p\n" * 300 + "1.234;q\n")
    assert table["a"].to_pylist()[-1] == 1234.0


@pytest.mark.parametrize(("delimiter", "value"), [(";", 1.234), ("\t", 1234.0), ("|", 1234.0)])
def test_three_digits_after_a_comma_are_read_one_way_and_said(read, delimiter, value):
    table, _, said = read(f"a{delimiter}y\n1,234{delimiter}p\n12,345{delimiter}q\n")
    assert table["a"].to_pylist()[0] == value
    assert said[0].startswith(f"Column 'a' can be read in two ways: '1,234' is read as {value:g}, not as")


def test_points_in_a_file_of_decimal_commas_are_said(read):
    table, _, said = read("a;b;y\n1.234;1,5;p\n12.345;2,5;q\n")
    assert table["a"].to_pylist() == [1.234, 12.345]
    assert said[1] == (
        "Column 'a' can be read in two ways: '1.234' is read as 1.234, although other columns have a decimal comma. "
        "If the point groups thousands, remove it from the file."
    )
    assert read("a;b;y\n1.234;1.5;p\n12.345;2.5;q\n")[2] == []


def test_mixed_columns_say_what_is_mixed(read):
    rows = "".join(f"€ {n},1\n" for n in range(10, 30))
    table, schema, said = read("price,y\n" + rows + "$ 5,2\n$ 6,2\non request,2\n")
    assert schema.columns[0].type == "string"
    assert table["price"].to_pylist()[0] == "€ 10"
    assert said == [
        "Column 'price' is read as categories: most of its values are numbers written as € 1234.56, but 3 cells are not: "
        "'$ 5', '$ 6', 'on request'. Pass --numeric 'price' to read these as missing, or correct the file."
    ]
    _, schema, said = read("price,y\n€ 5,1\n$ 5,2\n")
    assert schema.columns[0].type == "string"
    assert said[0].startswith("Column 'price' is read as categories: its numbers are written in different ways, such as ")


def test_words_are_read_in_silence(read):
    assert read("word,n,y\none,1,a\ntwo,2,b\nB12,3,a\n")[2] == []


def test_codes_are_said(read):
    assert read("code,y\n007,a\n12,b\n")[2] == [
        "Column 'code' is read as categories: it has codes such as '007'. Pass --numeric 'code' to read numbers."
    ]


def test_a_numeric_column_has_missing_values_where_there_are_words(read, predict):
    table, schema, said = read("x,y\n1,a\nmany,b\n3,a\nmany,a\n", numeric=["x"])
    assert table["x"].to_pylist() == [1.0, None, 3.0, None]
    assert schema.columns[0] == Column("x", "number", 0, "", True)
    assert said == ["Column 'x': 2 cells that are no numbers are read as missing: 'many'."]
    values, said = predict("x\n5\nfew\n", schema, "x")
    assert values == [5.0, None]
    assert said == ["Column 'x': a cell that is no number is read as missing: 'few'."]
    with pytest.raises(DataError, match="1e\\+300 is too large"):
        predict("x\n1e300\n", schema, "x")


def test_a_numeric_column_of_the_most_frequent_style(read):
    table, schema, said = read("x,y\n€ 5,a\n€ 6,b\n$ 7,a\n", numeric=["x"])
    assert table["x"].to_pylist() == [5.0, 6.0, None]
    assert schema.columns[0].format == "€ 1234.56"
    assert said[-1] == "Column 'x': a cell that is no number is read as missing: '$ 7'."
    assert read("x,y\n007,a\n12,b\n", numeric=["x"])[0]["x"].to_pylist() == [7.0, 12.0]


def test_a_categorical_column_stays_as_written(read, predict):
    table, schema, said = read("x,z,y\n1,1.50,a\n2,2.0,b\n", categorical=["x", "z"])
    assert (table["x"].to_pylist(), table["z"].to_pylist()) == (["1", "2"], ["1.50", "2.0"])
    assert said == []
    assert predict("x,z\n3,4\n", schema, "x")[0] == ["3"]


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


def test_a_column_of_dates_also_takes_iso_dates(read, predict):
    _, schema, _ = read("day,y\n31.12.2024,a\n01.02.2025,b\n")
    assert schema.columns[0].format == "%d.%m.%Y"
    values, _ = predict("day\n31.12.2024\n2025-02-01\n\n2025-02-01T10:30:00\n2025-02-01T10:30:00Z\n", schema, "day")
    assert values == [
        datetime.datetime(2024, 12, 31),
        datetime.datetime(2025, 2, 1),
        datetime.datetime(2025, 2, 1, 10, 30),
        datetime.datetime(2025, 2, 1, 10, 30),
    ]
    with pytest.raises(DataError, match=r"'32\.12\.2024' is not a date"):
        predict("day\n2025-02-01\n32.12.2024\n", schema, "day")


def test_versions_are_no_dates(read):
    assert read("version,y\n1.2.3,a\n1.2.4,b\n")[1].columns[0].type == "string"


def test_values_in_messages_are_short(read, predict):
    _, schema, _ = read("x,y\n1,a\n2,b\n")
    with pytest.raises(DataError) as caught:
        predict(f"x\n{'z' * 5000}\n", schema, "x")
    assert len(str(caught.value)) < 250
