"""Write many rows as Parquet files: a table that does not fit in memory.

    python -m benchmarks.make_rows --out FOLDER [--rows 20000000] [--columns 20] [--files 20] [--seed 0]

Numbers in float64, uncompressed (3.2 GB for 20,000,000 x 20), and a class ``y``, one in ten of which is 1. Each file has rows
of its own seed, so that files can be made again one by one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

GROUP_ROWS = 2**17


def write_rows(folder: Path, n_rows: int, n_columns: int, n_files: int, seed: int = 0) -> None:
    """Files ``part-0000.parquet`` and so on, with ``n_rows`` in all."""
    folder.mkdir(parents=True, exist_ok=True)
    for place in range(n_files):
        n_own = n_rows * (place + 1) // n_files - n_rows * place // n_files
        path = folder / f"part-{place:04}.parquet"
        with parquet.ParquetWriter(path, made_up(1, n_columns, 0).schema, compression="none") as writer:
            for group, start in enumerate(range(0, n_own, GROUP_ROWS)):
                rows = made_up(min(GROUP_ROWS, n_own - start), n_columns, seed * 10**8 + place * 10**4 + group)
                writer.write_table(rows)


def made_up(n_rows: int, n_columns: int, seed: int) -> pa.Table:
    """Rows whose class depends on all columns, on some not linearly; about one in ten is 1."""
    random = np.random.default_rng(seed)
    features = random.standard_normal((n_rows, n_columns))
    slopes = np.linspace(1.0, 0.1, n_columns)
    score = features @ slopes / np.sqrt(slopes @ slopes) * 1.5 + 0.5 * (features[:, 0] * features[:, 1]) - 2.9
    labels = (score + random.logistic(size=n_rows) > 0.0).astype(np.int8)
    columns = {f"x{place}": features[:, place] for place in range(n_columns)}
    return pa.table({**columns, "y": labels})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    write_rows(given.out, given.rows, given.columns, given.files, given.seed)


if __name__ == "__main__":
    main()
