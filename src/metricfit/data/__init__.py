"""Read tables from CSV, TSV, ARFF and JSON Lines (also compressed by gzip), Parquet and Excel files."""

from metricfit._extras import require

require("pyarrow", "cli", "metricfit.data")
require("charset_normalizer", "cli", "metricfit.data")

from metricfit.data._drift import Drift, describe_values
from metricfit.data._layout import Layout, layout_of
from metricfit.data._numbers import NumberStyle, find_numbers
from metricfit.data._read import Chunk, read_chunks, read_table
from metricfit.data._schema import TYPE_NAMES, Column, TableSchema
from metricfit.data._source import input_file
from metricfit.data._target import (
    LabelledTable,
    check_classes,
    column_named,
    label_like,
    merge_classes,
    read_labels,
    split_target,
)
from metricfit.data._types import decode, detect_columns, type_name

__all__ = [
    "TYPE_NAMES",
    "Chunk",
    "Column",
    "Drift",
    "LabelledTable",
    "Layout",
    "NumberStyle",
    "TableSchema",
    "check_classes",
    "column_named",
    "decode",
    "describe_values",
    "detect_columns",
    "find_numbers",
    "input_file",
    "label_like",
    "layout_of",
    "merge_classes",
    "read_chunks",
    "read_labels",
    "read_table",
    "split_target",
    "type_name",
]
