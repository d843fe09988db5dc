"""Tables in files: CSV and the like, packed or not, and Parquet, read as they come."""

from metricfit._extras import require

require("pyarrow", "cli", "metricfit.data")
require("charset_normalizer", "cli", "metricfit.data")

from metricfit.data._layout import Layout, layout_of
from metricfit.data._read import Known, read_chunks, read_table
from metricfit.data._target import Task, column_named, label_like, task_of
from metricfit.data._types import Column

__all__ = [
    "Column",
    "Known",
    "Layout",
    "Task",
    "column_named",
    "label_like",
    "layout_of",
    "read_chunks",
    "read_table",
    "task_of",
]
