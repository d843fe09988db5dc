"""Tables in files: CSV, TSV and Parquet, packed or not, read as they come."""

from metricfit.data._layout import Layout, layout_of
from metricfit.data._read import Column, as_json, columns_of, from_json, read_chunks, read_table
from metricfit.data._target import Task, column_named, label_like, task_of

__all__ = [
    "Column",
    "Layout",
    "Task",
    "as_json",
    "column_named",
    "columns_of",
    "from_json",
    "label_like",
    "layout_of",
    "read_chunks",
    "read_table",
    "task_of",
]
