"""ARFF files of Weka, OpenML and KEEL, and text files whose columns are separated by any number of spaces."""

import gzip

import pyarrow as pa
import pytest

from metricfit._errors import DataError, UsageError
from metricfit.cli._options import parse_delimiter
from metricfit.data import layout_of, read_chunks, read_table

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


def written(folder, text, name="table.arff"):
    path = folder / name
    path.write_bytes(text.encode())
    return path


def read(path, **options):
    layout, said = layout_of(path, **options), []
    table, schema = read_table(path, layout, layout.names[-1], say=said.append)
    return table, schema, [*layout.notes, *said]


def test_arff_nominal_numeric_string_date_missing_and_quotes(tmp_path):
    table, schema, said = read(written(tmp_path, FLOWERS))
    assert table.column_names == ["petal length", 'o"clock', "grade", "remark", "seen", "class"]
    assert [column.type for column in schema.columns] == ["number", "number", "string", "string", "date"]
    assert table["petal length"].to_pylist() == [1.5, None, 2.5]
    assert table['o"clock'].to_pylist() == [7.0, 12.0, 9.0]
    assert table["grade"].to_pylist() == ["1", "2", None]  # nominal in the file, although all values are numbers
    assert table["remark"].to_pylist() == ['it\'s, "red"', None, "plain"]
    assert [None if day is None else day.isoformat()[:10] for day in table["seen"].to_pylist()] == [
        "2024-05-31",
        "2024-06-01",
        None,
    ]
    assert [label.strip() for label in table["class"].to_pylist()] == ["Iris setosa", "other", "other"]
    assert said == []


def test_arff_in_chunks_and_gzipped(tmp_path):
    path = tmp_path / "table.arff.gz"
    path.write_bytes(gzip.compress(FLOWERS.encode(), mtime=0))
    table, schema, _ = read(path)
    chunks = list(read_chunks(path, layout_of(path), schema, ["class"]))
    assert pa.concat_tables([chunk.features for chunk in chunks]).equals(table.drop_columns("class"))


def test_arff_errors_have_the_line_of_the_file(tmp_path):
    with pytest.raises(DataError, match=r"row 6, column 'x': 'word' is not a number"):
        read(written(tmp_path, "@relation r\n@attribute x real\n@attribute y {a,b}\n@data\n1,a\nword,b\n"))
    with pytest.raises(DataError, match=r"row 6 has 3 cells, expected 2"):
        read(written(tmp_path, "@relation r\n@attribute x real\n@attribute y {a,b}\n@data\n1,a\n2,3,b\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation r\n@attribute x real\n@attribute y {a}\n@data\n{0 1, 1 a}\n", "is a sparse ARFF file, which is not read."),
        ("@relation r\n@attribute x relational\n@data\n1\n", "line 2: column 'x' has the type 'relational', expected one of"),
        ("@relation r\n@data\n1\n", "is an ARFF file without @attribute lines"),
        ("@relation r\n@attribute x real\n", "is an ARFF file without a line @data"),
        ("@relation r\n@attribute\n@data\n1\n", "line 2 should be @attribute, a name and a type"),
    ],
)
def test_arff_that_is_refused(tmp_path, text, message):
    with pytest.raises(DataError) as caught:
        layout_of(written(tmp_path, text))
    assert message in str(caught.value)


ALIGNED = "ADT1   0.58  10  MIT\nADT2  -0.4    5  NUC\n  X   0.61   7  MIT  \n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_aligned_columns(tmp_path, encoding):
    path = tmp_path / "yeast.data"
    path.write_bytes(ALIGNED.encode(encoding))
    table, schema, said = read(path)
    assert table.column_names == ["1", "2", "3", "4"]
    assert table.to_pydict() == {
        "1": ["ADT1", "ADT2", "X"],
        "2": [0.58, -0.4, 0.61],
        "3": [10, 5, 7],
        "4": ["MIT", "NUC", "MIT"],
    }
    assert said[0] == "Columns are separated by spaces, any number of them. Pass --delimiter to change this."
    (chunk,) = read_chunks(path, layout_of(path), schema, skip=True)
    assert chunk.features.equals(table.drop_columns("4"))


def test_aligned_columns_with_a_header_and_quotes(tmp_path):
    table, _, _ = read(written(tmp_path, 'name        size  sort\n"Ann  B"     1.5  a\n"C D"       10.5  b\n'))
    assert table.to_pydict() == {"name": ["Ann  B", "C D"], "size": [1.5, 10.5], "sort": ["a", "b"]}


def test_single_spaces_commas_and_tabs_are_read_as_before(tmp_path):
    assert layout_of(written(tmp_path, "1  a\n1 2 b\n1  c\n1 4 d\n")).delimiter == " "  # 1, missing, a
    assert layout_of(written(tmp_path, "1 2 a\n3 4 b\n")).delimiter == " "
    assert layout_of(written(tmp_path, "1,   2,  a\n30, 40,  b\n")).delimiter == ","
    assert layout_of(written(tmp_path, "1\t\t2\n3\t4\t5\n")).delimiter == "\t"


def test_the_delimiter_by_name(tmp_path):
    assert parse_delimiter("whitespace") == parse_delimiter(r"\s+") == r"\s+"
    table, _, said = read(written(tmp_path, ALIGNED), delimiter=r"\s+")
    assert (table.num_rows, table.num_columns) == (3, 4)
    assert not any("separated" in line for line in said)
    with pytest.raises(UsageError, match="whitespace"):
        parse_delimiter("xx")
