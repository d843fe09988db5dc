"""Files that hold more than they seem to, have no lines, or are no files: one line, quickly, and without much memory."""

import gzip
import io
import os
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from metricfit import _files
from metricfit._errors import DataError, UsageError
from metricfit.data import _json, _sniff, layout_of, read_table
from tests.data.workbook import write_workbook


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A tenth of a megabyte counts as large, so that the tests are fast."""
    monkeypatch.setattr(_files, "LARGE", 10**5)


def test_a_gzip_bomb_is_refused(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,x\n" * 10**6))
    with pytest.raises(DataError, match=r"bomb.csv.gz holds more than 1 MB in \d+ KB. Decompress it first if this is right."):
        layout_of(path)


def test_a_gzip_bomb_is_refused_where_the_encoding_is_given(tmp_path):
    """Then nobody reads the whole file before the table is read."""
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,x\n" * 10**6))
    with pytest.raises(DataError, match="Decompress it first"):
        read_table(path, layout_of(path, encoding="utf-8"), "b")


def test_a_table_that_compresses_well_is_read(tmp_path):
    path = tmp_path / "table.csv.gz"
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in zip(range(50_000), "xy" * 25_000, strict=True))
    path.write_bytes(gzip.compress(text.encode()))
    assert read_table(path, layout_of(path), "b")[0].num_rows == 50_000


@pytest.mark.parametrize("harm", ["cut", "flipped"])
@pytest.mark.parametrize("start", [b"a,b\n", b'{"a": 1, "b": "x"}\n'])
def test_damaged_gzip_is_one_line(tmp_path, harm, start):
    path, random = tmp_path / "table.gz", np.random.default_rng(0)
    row = start.decode() if start.startswith(b"{") else "{},x\n"
    whole = gzip.compress(start + b"".join(row.replace("{}", str(n)).encode() for n in random.integers(10**9, size=30_000)))
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] if harm == "cut" else whole[:middle] + b"\xff\x00\xff\x00" + whole[middle + 4 :])
    with pytest.raises(DataError, match=r"table.gz cannot be read: (the compressed data are damaged|CRC check failed)"):
        layout_of(path)


def test_a_workbook_that_is_a_bomb_is_refused(tmp_path):
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"<x>" + b" " * 10**6)
    with pytest.raises(DataError, match=r"bomb.xlsx holds more than 1 MB in 1 KB. Save the table as CSV if this is right."):
        layout_of(path)


def test_a_workbook_with_wrong_sizes_is_refused(tmp_path):
    """Its directory says 10 bytes, the member has a million."""
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"<x>" + b" " * 10**6)
    size = (10**6 + 3).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (10).to_bytes(4, "little")))
    with pytest.raises(DataError, match="damaged zip or Excel file"):
        layout_of(path)


def test_a_workbook_with_a_cell_far_away_is_refused(tmp_path):
    """Its reader would make a rectangle of it, of 17 billion cells."""
    path = tmp_path / "far.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"<x/>")
        archive.writestr("xl/worksheets/sheet1.xml", b'<c r="A1"><v>1</v></c><c r="XFD1048576"><v>1</v></c>')
    with pytest.raises(DataError, match=r"far.xlsx has a cell in row 1,048,576, column 16,384: its sheet spans"):
        layout_of(path)


def test_a_good_workbook_is_read(tmp_path):
    path = tmp_path / "table.xlsx"
    write_workbook(path, one=[["a", "b"], [1.0, "x"], [2.0, "y"]])
    assert layout_of(path).names == ("a", "b")


def test_a_parquet_bomb_is_refused(tmp_path):
    path = tmp_path / "bomb.parquet"
    table = pa.table({"a": np.zeros(10**6), "b": ["x"] * 10**6})
    parquet.write_table(table, path, compression="zstd", use_dictionary=False)
    with pytest.raises(DataError, match=r"bomb.parquet holds more than \d+ MB in \d+ KB. Write it without compression"):
        layout_of(path)


def test_a_parquet_file_of_one_value_repeated_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "MOST_TIMES", 30)
    path = tmp_path / "bomb.parquet"
    n_rows = 10**6
    parquet.write_table(pa.table({"a": np.zeros(n_rows), "b": np.zeros(n_rows)}), path, row_group_size=n_rows)
    assert 16 * n_rows > 900 * path.stat().st_size
    with pytest.raises(DataError, match="take some of its rows"):
        read_table(path, layout_of(path), "b")


def test_of_lines_that_end_in_cr_only_the_first_are_enough_for_the_layout(tmp_path):
    """The whole file was read in search of another end of line, in quadratic time."""
    path = tmp_path / "old.csv"
    path.write_bytes(b"a,b\r" + b"1.5,x\r2.5,y\r" * 10**5)
    assert sum(map(len, _sniff.first_lines(path, False, "utf-8"))) <= _sniff.SAMPLE_BYTES
    table, _ = read_table(path, layout_of(path), "b")
    assert table.num_rows == 2 * 10**5
    assert table.slice(0, 2).to_pylist() == [{"a": 1.5, "b": "x"}, {"a": 2.5, "b": "y"}]


def test_a_file_without_lines_is_refused_after_its_start(tmp_path, monkeypatch):
    monkeypatch.setattr(_sniff, "MAX_LINE_BYTES", 2**20)
    path = tmp_path / "line.csv"
    path.write_bytes(b"a," * 2**21)
    with pytest.raises(DataError, match=r"line.csv has no end of a line in its first 1 MB, expected one row per line."):
        layout_of(path)


def test_a_json_object_that_never_ends_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_json, "MAX_LINE", 1000)
    path = tmp_path / "line.jsonl"
    path.write_text('{"a": "' + "x" * 5000)
    with pytest.raises(DataError, match="line 1 is longer than"):
        layout_of(path)


def test_a_row_longer_than_a_block_is_one_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1,x\n2," + b"y" * 2**24 + b"\n3,x\n")
    with pytest.raises(DataError, match=r"table\.csv"):
        read_table(path, layout_of(path), "b")


@pytest.mark.parametrize("what", ["pipe", "/dev/zero", "link", "folder"])
def test_what_is_no_file_is_refused(tmp_path, what):
    path = tmp_path / "table.csv"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(UsageError, match=r"expected a file|is a pipe or a device"):
        layout_of(path)


def test_a_bounded_file_can_be_read_at_once(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n"))
    with _files.BoundedGzip(path) as file:
        assert file.read() == b"one\ntwo\n"
    with _files.BoundedGzip(path) as file, io.TextIOWrapper(file) as text:
        assert text.readlines() == ["one\n", "two\n"]
