"""Parquet files that do not fit in memory, as blocks of rows for the learners."""

from metricfit._extras import require

require("pyarrow", "cli", "metricfit.shards")

from metricfit.shards._files import Files, check_scratch, find_files, open_files, read_all_labels
from metricfit.shards._fit import fit_files, fit_shards

__all__ = [
    "Files",
    "check_scratch",
    "find_files",
    "fit_files",
    "fit_shards",
    "open_files",
    "read_all_labels",
]
