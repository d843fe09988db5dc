"""Format, encoding, delimiter and header are detected from the content of a file."""

import gzip
import os
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from metricfit._errors import DataError, UsageError
from metricfit.data import _source, layout_of

ROWS = [["age", "city", "class"], ["31", "Köln", "a"], ["", "Łódź", "b"], ["7", "Paris", "a"]]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(read, delimiter, end):
    table, _, notes = read(end.join(delimiter.join(row) for row in ROWS) + end)
    assert table.to_pydict() == {"age": [31.0, None, 7.0], "city": ["Köln", "Łódź", "Paris"], "class": ["a", "b", "a"]}
    assert not notes


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("1,5;2,5;a\n1,7;2,1;b\n", ";"),
        ("Doe, J\t3\ta\nRoe, R\t4\tb\n", "\t"),
        ("1  a\n1 2 b\n1  c\n1 4 d\n", " "),  # 1, missing, a
        ("1 2 a\n3 4 b\n", " "),
        ("1,   2,  a\n30, 40,  b\n", ","),
        ("1\t\t2\n3\t4\t5\n", "\t"),
        ("ADT1   0.58  10  MIT\nADT2  -0.4    5  NUC\n", r"\s+"),
    ],
)
def test_of_several_delimiters_that_fit_the_likely_one_is_chosen(write, text, delimiter):
    assert layout_of(write(text)).delimiter == delimiter


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "cp1251"])
def test_encodings(read, encoding):
    word = {"cp1251": "Москва", "cp1252": "Zürich"}.get(encoding, "Zürich Łódź")
    text = "age,city,class\n" + "".join(f"{n},{word} {n},{'ab'[n % 2]}\n" for n in range(50))
    table, _, notes = read(text.encode(encoding))
    assert table.column_names == ["age", "city", "class"]
    assert table["city"].to_pylist() == [f"{word} {n}" for n in range(50)]
    assert [note[:30] for note in notes] == ["The file is not UTF-8: read as"] * encoding.startswith("cp")


def test_the_encoding_by_option_or_by_a_byte_far_into_the_file(write, read):
    path = write("café,y\n1,a\n", encoding="latin-1")
    assert layout_of(path).notes == ("The file is not UTF-8: read as cp1252. Pass --encoding to change this.",)
    assert (layout_of(path, encoding="cp1252").notes, layout_of(path).names) == ((), ("café", "y"))
    late = b"word,class\n" + b"plain,a\n" * 300_000 + "Zürich,b\n".encode("cp1252")
    assert read(late)[0]["word"][-1].as_py() == "Zürich"
    for encoding in ("utf-99", "hex", "rot13"):
        with pytest.raises(UsageError, match="is not a text encoding"):
            layout_of(path, encoding=encoding)


@pytest.mark.parametrize(
    ("first", "header"),
    [
        ("age,city", True),
        ("31,Paris", False),
        ("2019,city", False),
        ("age,2", True),  # a word above numbers
        ("x1,x2", True),
        (",city", True),
        ("-1.5e3,b", False),
    ],
)
def test_a_first_line_with_a_number_is_data(write, first, header):
    path = write(first + "\n" + "31,Paris\n" * 3)
    found = layout_of(path)
    assert found.header is header
    assert [note[:47] for note in found.notes] == ["The first line has numbers and is read as data;"] * (not header)
    assert found.names == (tuple(name or "column 1" for name in first.split(",")) if header else ("1", "2"))
    assert layout_of(path, header=not header).header is not header


def test_a_first_line_of_values_that_occur_below_is_data(write, read):
    text = "red,low\nblue,high\nred,high\nblue,low\n"
    table, _, notes = read(text)
    assert (table.num_rows, table.column_names) == (4, ["1", "2"])
    assert notes == [
        "The first line has only values that occur again below and is read as data; columns are numbered from 1. "
        "Pass --header if it is a header."
    ]
    assert layout_of(write(text), header=True).names == ("red", "low")
    for text in ("red,level\nblue,high\nred,high\n", "red,\nblue,\nred,\n", "id,2019,y\n1,2,a\n2,3,b\n"):
        assert layout_of(write(text)).header


def test_repeated_and_empty_names_are_numbered(read):
    table, _, notes = read("a, a ,b,a (2),a,\n1,2,3,4,5,6\n7,8,9,10,11,12\n")
    assert table.column_names == ["a", "a (3)", "b", "a (2)", "a (4)", "column 6"]  # "a (2)" exists
    assert notes == [f"There are several columns named 'a': one is read as 'a ({n})'." for n in (3, 4)]
    assert table["a (4)"].to_pylist() == [5.0, 11.0]


def test_blank_lines_quotes_wide_tables_and_gzip(write, read):
    assert read("\n  \nage,class\n1,a\n2,b\n")[0]["age"].to_pylist() == [1.0, 2.0]
    table, _, _ = read('text,class\n"one, two\nthree ""four""",a\nfive,b\n')
    assert table["text"].to_pylist() == ['one, two\nthree "four"', "five"]
    names = [f"column_number_{index}" for index in range(30_000)]
    assert layout_of(write(",".join(names) + "\n" + ",".join(["1"] * 30_000) + "\n")).names[-1] == names[-1]
    assert read(gzip.compress(b"age,class\n1,a\n2,b\n"))[0]["age"].to_pylist() == [1.0, 2.0]
    assert layout_of(write("a\x1b[31m,y\n" + "plain,b\n" * 9)).names == ("a\x1b[31m", "y")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty."),
        (b"\n \n", "is empty."),
        (b"PAR1 and then nothing", "is a damaged Parquet file"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-12], "cannot be read"),
        (b"PK\x03\x04 and more", "is a damaged zip or Excel file"),
        (b"a,b\n\0\0\0\n", "looks like a binary file. Save the table as CSV, TSV, ARFF, Parquet, JSON Lines or Excel."),
        (gzip.compress(b"PAR1\0", mtime=0), "looks like a binary file."),
    ],
)
def test_bad_files(write, content, message):
    with pytest.raises(DataError) as caught:
        layout_of(write(content))
    assert message in str(caught.value)


def test_a_zip_archive_and_a_large_workbook_are_refused(tmp_path, monkeypatch):
    for name, member, message in (
        ("archive.zip", "table.csv", r"archive.zip is a zip archive without a workbook. Unpack it first."),
        ("large.xlsx", "xl/workbook.xml", r"large.xlsx holds 0.0 GB, too much for a workbook. Save the table as CSV."),
    ):
        monkeypatch.setattr(_source, "MAX_WORKBOOK_BYTES", 10)
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(member, "more than ten bytes")
        with pytest.raises(DataError, match=message):
            layout_of(tmp_path / name)


@pytest.mark.parametrize("harm", ["cut", "flipped"])
@pytest.mark.parametrize("row", ["{},x\n", '{"a": 1, "b": "x"}\n'])
def test_damaged_gzip_is_one_line(write, harm, row):
    rows = (row.replace("{}", str(n)).replace("1,", f"{n},") for n in np.random.default_rng(0).integers(10**9, size=30_000))
    whole = gzip.compress("".join(["a,b\n"] * row.startswith("{}") + list(rows)).encode())
    middle = len(whole) // 2
    path = write(whole[:middle] if harm == "cut" else whole[:middle] + b"\xff\x00\xff\x00" + whole[middle + 4 :])
    with pytest.raises(DataError, match="cannot be read: "):
        layout_of(path)


def test_a_row_longer_than_a_block_is_one_line(read):
    with pytest.raises(DataError, match=r"table\.csv"):
        read(b"a,b\n1,x\n2," + b"y" * 2**24 + b"\n3,x\n")


def test_paths_that_are_not_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("none.csv", "does not exist"), ("", "is a folder"), ("pipe", "is a pipe or a device")):
        with pytest.raises(UsageError, match=message):
            layout_of(tmp_path / name)


def test_parquet_files_without_columns_or_with_repeated_names(tmp_path):
    for names, message in (([], "has no columns"), (["x", "x"], "has several columns with the same name")):
        parquet.write_table(pa.table([[1.0, 2.0]] * len(names), names=names), tmp_path / "t.parquet")
        with pytest.raises(DataError, match=message):
            layout_of(tmp_path / "t.parquet")
