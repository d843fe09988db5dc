"""Tables with columns of every kind, and the ways in which files of them are damaged."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

Random = np.random.Generator
WORDS = ["the", "lamp", "is", "warm", "and", "door", "was", "left", "open", "by", "a", "quiet", "guest", "from", "town"]


@dataclass(frozen=True)
class SampleTable:
    """A table: names, rows of text, and its classes."""

    names: list[str]
    rows: list[list[str]]

    @property
    def classes(self) -> set[str]:
        return {row[-1] for row in self.rows}


@dataclass(frozen=True)
class File:
    """A file; ``n_rows`` is the number of its rows if that is known, else None."""

    name: str
    content: bytes
    n_rows: int | None


def draw_table(random: Random, n_rows: int = 0) -> SampleTable:
    """Numbers, a category, a date, a text, missing cells, and two or three classes that hang on the first number."""
    n_rows = n_rows or int(random.integers(40, 80))
    size = random.normal(50.0, 10.0, n_rows)
    labels = random.choice(
        [["yes", "no"], ["0", "1"], ["low", "mid", "high"]][int(random.choice(3, p=[0.5, 0.4, 0.1]))], n_rows
    )
    order = np.argsort(size + random.normal(0.0, 5.0, n_rows))
    labels[order] = np.sort(labels)
    columns = [
        [f"{value:.3f}" for value in size],
        [str(value) for value in random.integers(0, 1000, n_rows)],
        random.choice(["red", "green", "blue", "dark blue"], n_rows).tolist(),
        [str(np.datetime64("2024-01-01") + int(day)) for day in random.integers(0, 900, n_rows)],
        [" ".join(random.choice(WORDS, 6)) for _ in range(n_rows)],
    ]
    for column in columns[1:]:
        for row in np.flatnonzero(random.random(n_rows) < 0.05):
            column[row] = ""
    names = ["size", "count", "colour", "day", "note", "state"]
    return SampleTable(names, [list(cells) for cells in zip(*columns, labels.tolist(), strict=True)])


def as_csv(table: SampleTable, delimiter: str = ",", end: str = "\n", header: bool = True) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerows([table.names, *table.rows] if header else table.rows)
    return text.getvalue().encode()


def as_parquet(table: SampleTable, **columns: Any) -> bytes:
    size = [float(row[0]) for row in table.rows]
    count = [float(row[1]) if row[1] else None for row in table.rows]
    days = pa.array([row[3] or None for row in table.rows]).cast(pa.timestamp("us"))
    text = {name: [row[place] or None for row in table.rows] for place, name in enumerate(table.names)}
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({**text, "size": size, "count": count, "day": days, **columns}).select(table.names), sink)
    return sink.getvalue().to_pybytes()


def as_json_lines(table: SampleTable) -> bytes:
    rows = (dict(zip(table.names, row, strict=True)) for row in table.rows)
    return "".join(json.dumps({**row, "size": float(row["size"])}) + "\n" for row in rows).encode()


def count_rows(content: bytes) -> int | None:
    """The rows below the header of a CSV file, as Python's own reader counts them."""
    try:
        return len([row for row in csv.reader(io.StringIO(content.decode(), newline="")) if row]) - 1
    except (UnicodeError, csv.Error):
        return None


def _with_cell(random: Random, table: SampleTable, cell: str, column: int | None = None) -> SampleTable:
    """The table with one more odd cell."""
    rows = [list(row) for row in table.rows]
    place = int(random.integers(0, len(table.names) - 1)) if column is None else column
    rows[int(random.integers(len(rows)))][place] = cell
    return replace(table, rows=rows)


def _csv(table: SampleTable, content: bytes | None = None, n_rows: int | None = -1, name: str = "table.csv") -> File:
    content = as_csv(table) if content is None else content
    return File(name, content, len(table.rows) if n_rows == -1 else n_rows)


def _flipped(random: Random, content: bytes, n_bytes: int, first: int = 0) -> bytes:
    harmed = bytearray(content)
    for place in random.integers(first, len(harmed), n_bytes):
        harmed[place] ^= 1 << int(random.integers(8))
    return bytes(harmed)


def _cut(random: Random, content: bytes) -> bytes:
    return content[: int(random.integers(1, len(content)))]


def untouched(random: Random, table: SampleTable) -> File:
    return _csv(table)


def truncated(random: Random, table: SampleTable) -> File:
    content = _cut(random, as_csv(table))
    return _csv(table, content, count_rows(content))


def byte_flipped(random: Random, table: SampleTable) -> File:
    return _csv(table, _flipped(random, as_csv(table), int(random.integers(1, 5))), None)


def bytes_inserted(random: Random, table: SampleTable) -> File:
    content, place = as_csv(table), int(random.integers(0, 500))
    return _csv(table, content[:place] + random.bytes(int(random.integers(1, 20))) + content[place:], None)


def cr_only(random: Random, table: SampleTable) -> File:
    return _csv(table, as_csv(table, end="\r"))


def mixed_line_ends(random: Random, table: SampleTable) -> File:
    lines = as_csv(table).split(b"\n")[:-1]
    return _csv(table, b"".join(line + random.choice([b"\n", b"\r\n", b"\r"]).item() for line in lines))


def blank_lines(random: Random, table: SampleTable) -> File:
    lines = as_csv(table).splitlines(keepends=True)
    return _csv(table, b"".join(line + b"\n" * int(random.random() < 0.2) for line in lines))


def nul_bytes(random: Random, table: SampleTable) -> File:
    return _csv(_with_cell(random, table, "a\0b"), n_rows=None)


def wrong_encoding(random: Random, table: SampleTable) -> File:
    content = as_csv(_with_cell(random, table, "größer für Müller", 2)).decode()
    return _csv(table, content.encode(random.choice(["latin-1", "utf-16", "utf-32", "utf-16-le", "cp1252"]).item()))


def byte_order_mark(random: Random, table: SampleTable) -> File:
    return _csv(table, b"\xef\xbb\xbf" + as_csv(table))


def duplicate_header(random: Random, table: SampleTable) -> File:
    names = list(table.names)
    names[int(random.integers(1, 5))] = names[0]
    return _csv(replace(table, names=names))


def missing_header(random: Random, table: SampleTable) -> File:
    return _csv(table, as_csv(table, header=False), None)


def ragged_rows(random: Random, table: SampleTable) -> File:
    rows = [list(row) for row in table.rows]
    row = rows[int(random.integers(len(rows)))]
    row[1:] = row[1:-2] if random.random() < 0.5 else [*row[1:], "more"]
    return _csv(replace(table, rows=rows))


def unclosed_quote(random: Random, table: SampleTable) -> File:
    content = as_csv(table)
    place = int(random.choice([at for at, byte in enumerate(content) if byte in b",\n"][:-1])) + 1
    return _csv(table, content[:place] + b'"' + content[place:], None)


def huge_cell(random: Random, table: SampleTable) -> File:
    return _csv(_with_cell(random, table, "x" * int(random.choice([10**5, 5 * 10**6])), int(random.integers(0, 6))))


def extreme_number(random: Random, table: SampleTable) -> File:
    number = random.choice(["1e308", "-1e308", "1e999", "inf", "-Infinity", "nan", "1e39", "1e50", "1e-320", "9" * 400])
    return _csv(_with_cell(random, table, number.item(), int(random.integers(0, 2))))


def empty_columns(random: Random, table: SampleTable) -> File:
    place = int(random.integers(0, 5))
    return _csv(replace(table, rows=[[*row[:place], "", *row[place + 1 :]] for row in table.rows]))


def one_class_only(random: Random, table: SampleTable) -> File:
    return _csv(replace(table, rows=[[*row[:-1], "same"] for row in table.rows]))


def control_characters(random: Random, table: SampleTable) -> File:
    odd = random.choice(["\x1b[31mred", "a\x07b", "\u202edrawkcab", "a\x85b", "\x1b]0;title\x07", "a\u2028b"]).item()
    return _csv(_with_cell(random, table, odd, int(random.integers(0, 6))))


def odd_labels(random: Random, table: SampleTable) -> File:
    odd = random.choice(["=1+1", "@cmd", "--5", "\x1b[2J", "'", "a,b", 'say "no"', "-", "+", "é", "None"]).item()
    old = sorted(table.classes)[0]
    return _csv(replace(table, rows=[[*row[:-1], odd if row[-1] == old else row[-1]] for row in table.rows]))


def odd_names(random: Random, table: SampleTable) -> File:
    odd = random.choice(["", " ", "\x1b[31m", "x" * 5000, "=a", "1", "a\nb", "prediction", "{{ 7 }}", "<script>"]).item()
    names = list(table.names)
    names[int(random.integers(0, 6))] = odd
    return _csv(replace(table, names=names))


def very_wide(random: Random, table: SampleTable) -> File:
    more = [f"x{place}" for place in range(int(random.integers(100, 400)))]
    rows = [[*(f"{value:.2f}" for value in random.normal(size=len(more))), *row] for row in table.rows]
    return _csv(SampleTable([*more, *table.names], rows))


def few_rows(random: Random, table: SampleTable) -> File:
    return _csv(replace(table, rows=table.rows[: int(random.integers(0, 6))]))


def thousands_and_units(random: Random, table: SampleTable) -> File:
    shape = random.choice(["{:,.2f} EUR", "{:.1%}", "({:.2f})", "{:.2f} kg", "007{:.0f}"]).item()
    return _csv(replace(table, rows=[[shape.format(float(row[0])), *row[1:]] for row in table.rows]))


def other_delimiter(random: Random, table: SampleTable) -> File:
    return _csv(table, as_csv(table, random.choice([";", "\t", "|", ":"]).item()))


def odd_dates(random: Random, table: SampleTable) -> File:
    odd = random.choice(["2024-02-30", "31.12.2024", "0000-00-00", "9999-12-31", "10000-01-01", "2024-01-01T25:00"]).item()
    return _csv(_with_cell(random, table, odd, 3))


def gzipped(random: Random, table: SampleTable) -> File:
    return _csv(table, gzip.compress(as_csv(table)), name="table.csv.gz")


def gzip_truncated(random: Random, table: SampleTable) -> File:
    return _csv(table, _cut(random, gzip.compress(as_csv(table))), None, "table.csv.gz")


def gzip_flipped(random: Random, table: SampleTable) -> File:
    return _csv(table, _flipped(random, gzip.compress(as_csv(table)), 2, 10), None, "table.csv.gz")


def wrong_suffix(random: Random, table: SampleTable) -> File:
    write = (as_csv, as_parquet, as_json_lines)[int(random.integers(3))]
    content: bytes = write(table)
    return _csv(table, content, name=random.choice(["table.parquet", "table.xlsx", "table", "table.jsonl"]).item())


def parquet_flipped(random: Random, table: SampleTable) -> File:
    return _csv(table, _flipped(random, as_parquet(table), int(random.integers(1, 4)), 4), None, "table.parquet")


def parquet_truncated(random: Random, table: SampleTable) -> File:
    return _csv(table, _cut(random, as_parquet(table)), None, "table.parquet")


def parquet_odd_types(random: Random, table: SampleTable) -> File:
    n_rows = len(table.rows)
    kinds = [
        pa.array(random.integers(-(2**62), 2**62, n_rows)).view(pa.timestamp("us")),
        pa.array(random.integers(-(2**62), 2**62, n_rows)).view(pa.duration("ns")),
        pa.array(random.integers(0, 2**40, n_rows)).view(pa.time64("us")),
        pa.array([[1, 2]] * n_rows),
        pa.array([{"a": 1}] * n_rows),
        pa.array([b"\xff"] * n_rows),
        pa.array(random.normal(size=n_rows)).cast(pa.float16(), safe=False),
        pa.array([10**30] * n_rows, pa.decimal256(60, 10)),
        pa.nulls(n_rows),
    ]
    return _csv(table, as_parquet(table, count=kinds[int(random.integers(len(kinds)))]), name="table.parquet")


def json_broken(random: Random, table: SampleTable) -> File:
    content = as_json_lines(table)
    harmed = _cut(random, content) if random.random() < 0.5 else _flipped(random, content, 3)
    return _csv(table, harmed, None, "table.jsonl")


def json_odd(random: Random, table: SampleTable) -> File:
    odd = random.choice(['{"a": [1]}', "[]", "{}", "null", "1", '{"size": 1e999}', "[" * 5000, '{"size": NaN}']).item()
    lines = as_json_lines(table).splitlines(keepends=True)
    lines.insert(int(random.integers(len(lines))), odd.encode() + b"\n")
    return _csv(table, b"".join(lines), None, "table.jsonl")


def not_a_table(random: Random, table: SampleTable) -> File:
    content = [random.bytes(500), b"", b"\n\n\n", b"PK\x03\x04" + random.bytes(100), b"PAR1" + random.bytes(100), b"{", b","]
    return _csv(table, content[int(random.integers(len(content)))], None, random.choice(["t.csv", "t.xlsx", "t.gz"]).item())


DAMAGES: tuple[Callable[[Random, SampleTable], File], ...] = (
    *(untouched, truncated, byte_flipped, bytes_inserted, cr_only, mixed_line_ends, blank_lines, nul_bytes, wrong_encoding),
    *(byte_order_mark, duplicate_header, missing_header, ragged_rows, unclosed_quote, huge_cell, extreme_number),
    *(empty_columns, one_class_only, control_characters, odd_labels, odd_names, very_wide, few_rows, thousands_and_units),
    *(other_delimiter, odd_dates, gzipped, gzip_truncated, gzip_flipped, wrong_suffix, parquet_flipped, parquet_truncated),
    *(parquet_odd_types, json_broken, json_odd, not_a_table),
)
