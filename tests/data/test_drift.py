"""Rows that differ from the training table get a note; ordinary held-out rows do not."""

import json

import numpy as np
import pyarrow as pa
import pytest

from metricfit.data import Column, Drift, TableSchema, describe_values

N_ROWS = 400


def table(seed=0, n_rows=N_ROWS):
    random = np.random.default_rng(seed)
    names = random.choice(
        ["red", "green", "blue", *(f"rare {index}" for index in range(60))], n_rows, p=[0.3, 0.3, 0.25, *[0.0025] * 60]
    )
    cells = [
        None if gap else value for gap, value in zip(random.random(n_rows) < 0.1, random.normal(size=n_rows), strict=True)
    ]
    return pa.table({"size": random.lognormal(0, 2, n_rows), "colour": names, "gaps": pa.array(cells, pa.float64())})


def trained(features):
    kinds = ["string" if pa.types.is_string(kind) else "number" for kind in features.schema.types]
    columns = tuple(
        Column(name, kind, index) for index, (name, kind) in enumerate(zip(features.column_names, kinds, strict=True))
    )
    return describe_values(TableSchema(columns, True, len(columns)), features)


def notes(schema, *parts):
    drift = Drift(schema)
    for part in parts:
        drift.add(part)
    return drift.notes()


def test_unseen_categories_numbers_outside_and_gaps_are_counted():
    features = pa.table({"a": [1.0, 2.0, 3.0, None] * 50, "b": ["x", "y"] * 100})
    new = pa.table({"a": [1000.0, 2000.0, None, None, None], "b": ["p", "q", "p", "p", "x"]})
    assert notes(trained(features), *[new] * 20) == [
        "Column 'a': 40 of 40 numbers (100 %) are outside the training range, 1 to 3. They are from 1000 to 2000.",
        "Column 'a': 60 of 100 cells (60 %) are missing, 25.0 % in the training table.",
        "Column 'b': 80 of 100 cells (80 %) have categories without a training row: 'p', 'q'.",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_rows_from_the_same_source_get_no_note(seed):
    assert not notes(trained(table(seed)), table(seed + 100))
    assert not notes(trained(table(seed)), table(seed + 100, 20 * N_ROWS))  # many more rows than were trained on
    assert not notes(trained(table(seed)), table(seed + 100, 3))


def test_a_per_cent_of_the_rows_may_be_outside():
    schema, new = trained(pa.table({"a": np.linspace(0.0, 1.0, 10**5)})), np.full(1000, 0.5)
    for n_outside, n_notes in ((10, 0), (11, 1)):
        new[:n_outside] = 2.0
        assert len(notes(schema, pa.table({"a": new}))) == n_notes


@pytest.mark.parametrize("old", [["a", "b"] * 75 + [f"once {index}" for index in range(100)], [f"id {n}" for n in range(200)]])
def test_names_that_are_often_new_get_no_note(old):
    assert not notes(trained(pa.table({"name": old})), pa.table({"name": [f"new {index}" for index in range(250)]}))


def test_counts_of_files_are_joined_and_stay_small():
    schema, total = trained(table()), Drift(trained(table()))
    for _ in range(50):
        part = Drift(schema)
        part.add(pa.table({"size": [1e9], "colour": [f"new {np.random.default_rng(0).integers(9)}"], "gaps": [0.0]}))
        total.join(part)
    assert total.counts["colour"].n_unseen == total.counts["size"].n_outside == 50
    assert len(total.counts["colour"].examples) <= 3


def test_the_schema_is_json_and_older_ones_are_read():
    schema = trained(table())
    written = json.loads(json.dumps(schema.as_json()))
    assert TableSchema.from_json(written) == schema
    for column in written["columns"]:
        del column["seen"]
    older = TableSchema.from_json(written)
    assert [column.seen for column in older.columns] == [None] * 3
    assert not notes(older, table(1))
