"""Dates, times and durations that Arrow can hold and Python cannot."""

import datetime
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from metricfit._errors import DataError
from metricfit.data import layout_of, read_chunks, read_table, split_target

FAR = 10**13  # seconds: the year 318857


def column(kind, *numbers):
    return pa.array(np.array(numbers, "int32" if kind.bit_width == 32 else "int64")).view(kind)


def written(tmp_path, **columns):
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.table(columns), path, store_schema=True)
    return path


@pytest.mark.parametrize(
    ("kind", "far", "message"),
    [
        (pa.timestamp("ms"), FAR * 1000, "row 2, column 'day': a value of type timestamp.* is outside of the years 1 to 9999"),
        (pa.timestamp("us"), -(10**18), "row 2, column 'day': a value of type timestamp.* is outside of the years 1 to 9999"),
        (pa.timestamp("us", "UTC"), 10**18, "is outside of the years 1 to 9999"),
        (pa.date32(), 10**8, "row 2, column 'day': a value of type date32.day. is outside of the years 1 to 9999"),
        (pa.timestamp("us", "Nowhere/Else"), 5, "'Nowhere/Else' is not a known time zone"),
    ],
)
def test_moments_that_python_cannot_hold_are_problems_of_their_rows(tmp_path, kind, far, message):
    path = written(tmp_path, day=column(kind, 0, far), label=["x", "y"])
    with pytest.raises(DataError, match=message):
        read_table(path, layout_of(path), "label")


def test_with_skip_they_are_skipped(tmp_path):
    good = tmp_path / "good.parquet"
    parquet.write_table(pa.table({"day": column(pa.timestamp("us"), 0, 1), "label": ["x", "y"]}), good)
    _, schema = read_table(good, layout_of(good), "label")
    path = written(tmp_path, day=column(pa.timestamp("us"), 0, 10**18, 5))
    (chunk,) = read_chunks(path, layout_of(path), schema, skip=True)
    assert list(chunk.problems) == [1]


def test_nanoseconds_need_no_pandas(tmp_path):
    path = written(
        tmp_path, day=column(pa.timestamp("ns"), 1, 2**62), hour=column(pa.time64("ns"), 1, 10**12), label=["x", "y"]
    )
    table, _ = read_table(path, layout_of(path), "label")
    assert table["day"][0].as_py() == datetime.datetime(1970, 1, 1)
    assert table["hour"][1].as_py() == datetime.time(0, 16, 40)


def test_durations_have_one_unit_and_no_overflow(tmp_path):
    for unit, one in (("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)):
        path = written(tmp_path, wait=column(pa.duration(unit), one, 2**62), label=["x", "y"])
        table, _ = read_table(path, layout_of(path), "label")
        assert table["wait"][0].as_py() == 1e6


def test_far_dates_cannot_be_classes(tmp_path):
    path = written(tmp_path, a=[1.0, 2.0], label=column(pa.timestamp("us"), 0, 10**18))
    table, _ = read_table(path, layout_of(path), "label")
    with pytest.raises(DataError, match="column 'label' has a date that is outside of the years 1 to 9999"):
        split_target(table, "label", path)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [2]]),
        pa.array([{"x": 1}, {"x": 2}]),
        pa.array([b"1", b"2"]),
        pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
    ],
)
def test_nested_and_odd_types_are_one_line(tmp_path, values):
    path = written(tmp_path, odd=values, label=["x", "y"])
    with pytest.raises(DataError, match=r"Column 'odd' has values of type .*, which cannot be used. Pass --drop 'odd'."):
        read_table(path, layout_of(path), "label")
    path = written(tmp_path, a=[1, 2], odd=values)
    table, _ = read_table(path, layout_of(path), "odd")
    with pytest.raises(DataError, match="which cannot be classes"):
        split_target(table, "odd", path)


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_of_parquet_are_read_or_refused(tmp_path, seed):
    random = np.random.default_rng(seed)
    days = pa.array(random.integers(0, 10**15, 200)).view(pa.timestamp("us"))
    path = written(tmp_path, a=random.normal(size=200), day=days, c=random.choice(["u", "v"], 200), label=["x", "y"] * 100)
    whole = bytearray(path.read_bytes())
    for place in random.integers(4, len(whole) - 8, 3):
        whole[place] ^= 1 << int(random.integers(8))
    path.write_bytes(bytes(whole))
    with suppress(DataError):
        layout = layout_of(path)
        read_table(path, layout, layout.names[-1])


@pytest.mark.parametrize("label", ["--5", "-", "0" * 5000, "9" * 5000])
def test_labels_that_nearly_are_numbers_stay_text(label):
    table = pa.table({"a": [1.0, 2.0] * 4, "label": [label, "7"] * 4})
    assert sorted(set(split_target(table, "label", "table").labels.tolist())) == sorted([label, "7"])


def test_a_label_as_long_as_a_book_is_refused():
    table = pa.table({"a": [1.0, 2.0] * 4, "label": ["x" * 10**6, "7"] * 4})
    with pytest.raises(DataError, match="column 'label' has a value of 1,000,000 letters, expected names of classes"):
        split_target(table, "label", "table")
