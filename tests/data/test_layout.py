"""Format, encoding, delimiter and header, found out from real files of many kinds."""

import gzip
import os
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from metricfit._errors import DataError, UsageError
from metricfit.data import _source, layout_of
from metricfit.data import read_table as read_table_for
from metricfit.data._source import READS


def read_table(path, layout):
    """All columns, the last being the target."""
    return read_table_for(path, layout, layout.names[-1])[0]


ROWS = [["age", "city", "class"], ["31", "Köln", "a"], ["", "Łódź", "b"], ["7", "Paris", "a"]]


def written(tmp_path, text, encoding="utf-8", name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters(tmp_path, delimiter, end):
    path = written(tmp_path, end.join(delimiter.join(row) for row in ROWS) + end)
    layout = layout_of(path)
    assert (layout.delimiter, layout.names, layout.header) == (delimiter, ("age", "city", "class"), True)
    assert read_table(path, layout)["city"].to_pylist() == ["Köln", "Łódź", "Paris"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "cp1251"])
def test_encodings(tmp_path, encoding):
    word = {"cp1251": "Москва", "cp1252": "Zürich"}.get(encoding, "Zürich Łódź")
    text = "age,city,class\n" + "".join(f"{n},{word} {n},{'ab'[n % 2]}\n" for n in range(50))
    path = written(tmp_path, text, encoding)
    table = read_table(path, layout_of(path))
    assert table["city"].to_pylist()[0] == f"{word} 0"
    assert table["age"].to_pylist()[-1] == 49.0
    assert table.column_names == ["age", "city", "class"]


def test_a_wrong_byte_far_into_the_file_is_seen(tmp_path):
    path = tmp_path / "late.csv"
    path.write_bytes(b"word,class\n" + b"plain,a\n" * 300_000 + "Zürich,b\n".encode("cp1252"))
    layout = layout_of(path)
    assert layout.encoding != "utf-8"
    assert read_table(path, layout)["word"].to_pylist()[-1] == "Zürich"


def test_gzip_and_parquet_are_known_by_their_content(tmp_path):
    text = "\n".join(",".join(row) for row in ROWS) + "\n"
    packed = tmp_path / "packed.data"
    packed.write_bytes(gzip.compress(text.encode()))
    assert layout_of(packed).compressed
    plain = read_table(packed, layout_of(packed))
    parquet.write_table(plain, tmp_path / "columns.bin")
    again = read_table(tmp_path / "columns.bin", layout_of(tmp_path / "columns.bin"))
    assert again.equals(plain)


def test_decimal_commas(tmp_path):
    path = written(tmp_path, "height;class\n1,75;a\n1,8;b\n")
    assert read_table(path, layout_of(path))["height"].to_pylist() == [1.75, 1.8]


@pytest.mark.parametrize(
    ("first", "header"),
    [
        ("age,city", True),
        ("31,Paris", False),
        ("2019,city", False),
        ("age,2", True),  # a word over numbers
        ("x1,x2", True),
        (",city", True),
        ("-1.5e3,b", False),
    ],
)
def test_a_first_line_with_a_number_is_no_header(tmp_path, first, header):
    path = written(tmp_path, first + "\n" + "31,Paris\n" * 3)
    found = layout_of(path)
    assert found.header is header
    assert found.names == (tuple(name or "column 1" for name in first.split(",")) if header else ("1", "2"))
    assert layout_of(path, header=not header).header is not header


def test_repeated_names_are_numbered_and_said(tmp_path):
    path = written(tmp_path, "a, a ,b,a (2),a,\n1,2,3,4,5,6\n7,8,9,10,11,12\n")
    layout = layout_of(path)
    assert layout.names == ("a", "a (3)", "b", "a (2)", "a (4)", "column 6")  # "a (2)" is taken
    assert layout.renamed == (("a", "a (3)"), ("a", "a (4)"))
    assert layout.notes == [
        "There are several columns named 'a': one is read as 'a (3)'.",
        "There are several columns named 'a': one is read as 'a (4)'.",
    ]
    assert read_table(path, layout)["a (4)"].to_pylist() == [5.0, 11.0]


def test_a_first_line_of_values_is_data(tmp_path):
    path = written(tmp_path, "red,low\nblue,high\nred,high\nblue,low\n")
    layout = layout_of(path)
    assert (layout.header, layout.names) == (False, ("1", "2"))
    assert layout.notes == [
        "The first line has only values that occur again below and is read as data; columns are numbered from 1. "
        "Pass --header if it is a header."
    ]
    assert read_table(path, layout).num_rows == 4
    assert layout_of(path, header=True).names == ("red", "low")
    assert layout_of(written(tmp_path, "red,level\nblue,high\nred,high\n")).header  # one cell is not enough
    assert layout_of(written(tmp_path, "red,\nblue,\nred,\n")).header


def test_a_file_that_is_not_utf8_is_said(tmp_path):
    path = written(tmp_path, "café,y\n1,a\n", "latin-1")
    assert layout_of(path).notes == ["The file is not UTF-8: read as cp1252. Pass --encoding to change this."]
    assert layout_of(path, encoding="cp1252").notes == []


def test_a_few_control_characters_are_still_text(tmp_path):
    assert layout_of(written(tmp_path, "a\x1b[31m,y\n" + "plain,b\n" * 9)).names == ("a\x1b[31m", "y")


def test_a_year_among_names_is_a_name(tmp_path):
    path = written(tmp_path, "id,2019,2020,y\n1,2,3,a\n2,3,4,b\n")
    assert layout_of(path).names == ("id", "2019", "2020", "y")


def test_of_delimiters_that_fit_commas_come_late(tmp_path):
    """Decimal commas between semicolons, names with commas between tabs."""
    assert layout_of(written(tmp_path, "1,5;2,5;a\n1,7;2,1;b\n")).delimiter == ";"
    assert layout_of(written(tmp_path, "Doe, J\t3\ta\nRoe, R\t4\tb\n")).delimiter == "\t"


def test_lines_of_blanks_before_the_header(tmp_path):
    path = written(tmp_path, "\n  \nage,class\n1,a\n2,b\n")
    assert read_table(path, layout_of(path))["age"].to_pylist() == [1.0, 2.0]


def test_very_wide_tables(tmp_path):
    names = [f"column_number_{place}" for place in range(30_000)]
    path = written(tmp_path, ",".join(names) + "\n" + ",".join(["1"] * 30_000) + "\n")
    assert layout_of(path).names[-1] == names[-1]


def test_quoted_cells_may_hold_anything(tmp_path):
    path = written(tmp_path, 'text,class\n"one, two\nthree ""four""",a\nfive,b\n')
    assert read_table(path, layout_of(path))["text"].to_pylist() == ['one, two\nthree "four"', "five"]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", DataError, "is empty."),
        (b"\n \n", DataError, "is empty."),
        (b"PAR1 and then nothing", DataError, "is a damaged Parquet file"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-12], DataError, "cannot be read"),
        (gzip.compress(b"PAR1", mtime=0), DataError, "is a Parquet file compressed by gzip. Decompress it first."),
        (b"PK\x03\x04 and more", DataError, "is a damaged zip or Excel file"),
        (b"a,b\n\0\0\0\n", DataError, f"looks like a binary file. {READS}"),
        (bytes(range(1, 256)) * 9, DataError, f"looks like a binary file. {READS}"),  # no zero byte
        (b"a,b\n\x01\x02\x03\x04,5\n", DataError, "looks like a binary file."),
        (b"\x80\x04\x95 a pickle", DataError, "looks like a Python pickle."),
        (b"%PDF-1.7\n\0 and more", DataError, "looks like a binary file."),
        (b"ARROW1\0\0 and more", DataError, "looks like an Arrow (Feather) file."),
        (b"<!DOCTYPE html>\n<html>", DataError, "looks like an HTML or XML page."),
        (gzip.compress(b"PK\x03\x04", mtime=0), DataError, "is an Excel or zip file compressed by gzip. Decompress it first."),
        (b"% made by hand\n@RELATION beans\n", DataError, "is an ARFF file without a line @data."),
    ],
)
def test_bad_files(tmp_path, content, error, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(error) as caught:
        layout_of(path)
    assert message in str(caught.value)


def test_a_zip_archive_and_a_large_workbook_are_refused(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("table.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match=r"looks like a zip archive.*Unpack it first"):
        layout_of(tmp_path / "archive.zip")
    monkeypatch.setattr(_source, "MOST_UNPACKED", 10)
    with zipfile.ZipFile(tmp_path / "large.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "more than ten bytes")
    with pytest.raises(DataError, match=r"large.xlsx holds 0.0 GB, too much for a workbook. Save the table as CSV."):
        layout_of(tmp_path / "large.xlsx")


@pytest.mark.parametrize("harm", ["cut", "flipped"])
@pytest.mark.parametrize("row", ["{},x\n", '{"a": 1, "b": "x"}\n'])
def test_damaged_gzip_is_one_line(tmp_path, harm, row):
    path, random = tmp_path / "table.gz", np.random.default_rng(0)
    rows = (row.replace("{}", str(n)).replace("1,", f"{n},") for n in random.integers(10**9, size=30_000))
    whole = gzip.compress("".join(["a,b\n"] * row.startswith("{}") + list(rows)).encode())
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] if harm == "cut" else whole[:middle] + b"\xff\x00\xff\x00" + whole[middle + 4 :])
    with pytest.raises(DataError, match=r"table.gz cannot be read: "):
        layout_of(path)


def test_lines_that_end_in_cr(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes(b"a,b\r" + b"1.5,x\r2.5,y\r" * 10**5)
    table = read_table(path, layout_of(path))
    assert table.num_rows == 2 * 10**5
    assert table.slice(0, 2).to_pylist() == [{"a": 1.5, "b": "x"}, {"a": 2.5, "b": "y"}]


def test_a_row_longer_than_a_block_is_one_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1,x\n2," + b"y" * 2**24 + b"\n3,x\n")
    with pytest.raises(DataError, match=r"table\.csv"):
        read_table(path, layout_of(path))


def test_files_that_are_none(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        layout_of(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="is a folder"):
        layout_of(tmp_path)
    for encoding in ("utf-99", "hex", "rot13"):
        with pytest.raises(UsageError, match="is not a text encoding"):
            layout_of(written(tmp_path, "a,b\n1,2\n"), encoding=encoding)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is a pipe or a device"):
        layout_of(tmp_path / "pipe")
    pyarrow_table = pa.table({})
    parquet.write_table(pyarrow_table, tmp_path / "nothing.parquet")
    with pytest.raises(DataError, match="has no columns"):
        layout_of(tmp_path / "nothing.parquet")


def test_a_header_in_latin_letters(tmp_path):
    assert layout_of(written(tmp_path, "café,y\n1,a\n", "latin-1")).names == ("café", "y")


def test_types_of_parquet(tmp_path):
    table = pa.table(
        {
            "small": pa.array([1, None], pa.int8()),
            "money": pa.array([1, 2], pa.decimal128(9, 2)),
            "word": pa.array(["x", "y"]).dictionary_encode(),
            "flag": [True, None],
            "empty": pa.nulls(2),
            "lasted": pa.array([1, 2], pa.duration("s")),
            "y": ["a", "b"],
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", layout_of(tmp_path / "t.parquet"))
    assert [str(kind) for kind in found.schema.types] == ["double", "double", "string", "bool", "string", "double", "string"]
    parquet.write_table(pa.table({"parts": [[1], [2]], "y": ["a", "b"]}), tmp_path / "lists.parquet")
    layout = layout_of(tmp_path / "lists.parquet")
    with pytest.raises(DataError, match="Pass --drop 'parts'"):
        read_table(tmp_path / "lists.parquet", layout)
    assert read_table_for(tmp_path / "lists.parquet", layout, "y", ["parts"])[0].column_names == ["y"]
