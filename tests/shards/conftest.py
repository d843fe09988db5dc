"""Tables as files of uneven size: one is empty, one has a single class, one has few rows."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet


def make_table(n=500, k=2, seed=0, wide=0):
    """Numbers with gaps, a category with rare values, dates, and a class that depends on some of them."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(n, 4 + wide))
    features[:, 2] = np.exp(features[:, 2])
    scores = features @ random.normal(size=(4 + wide, k)) + random.gumbel(size=(n, k))
    scores[:, 0] += 1.0
    labels = scores.argmax(1)
    features[random.random(n) < 0.1, 1] = np.nan
    colours = random.choice(["red", "green", "blue", None, "rare"], n, p=[0.4, 0.3, 0.2, 0.098, 0.002])
    days = np.datetime64("2020-01-01") + np.arange(n) % 700
    columns = {f"x{number}": pa.array(column, from_pandas=True) for number, column in enumerate(features.T)}
    return pa.table({**columns, "colour": pa.array(colours.tolist(), pa.string()), "day": pa.array(days), "y": labels})


@pytest.fixture
def split(tmp_path):
    """A function that writes a table as files and returns their pattern."""

    def write(table, group_rows=200):
        labels = table["y"].to_numpy()
        one_class = np.flatnonzero(labels == 0)[:40]
        others = np.setdiff1d(np.arange(len(labels)), one_class)
        cuts = [0, 7, 7, len(others) // 3, len(others)]
        parts = [one_class, *(others[start:stop] for start, stop in pairwise(cuts))]
        for number, rows in enumerate(parts):
            parquet.write_table(table.take(rows), tmp_path / f"part-{number}.parquet", row_group_size=group_rows)
        return f"{tmp_path}/part-*.parquet", table.take(np.concatenate(parts))

    return write
