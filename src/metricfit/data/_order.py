"""The order of classes that a Parquet file may know: pandas and polars write ordered categories as ordered dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from metricfit._printable import quoted
from metricfit.data._layout import Layout


def check_order(
    values: pa.ChunkedArray, path: Path, layout: Layout, target: str, say: Callable[[str], None]
) -> pa.ChunkedArray:
    """The target without its order, if the file was written without the list of categories.

    Such a file has the categories in the order in which they first occur, which is no order.
    """
    if not _is_ordered(values.type):
        return values
    raw_name = layout.raw_names[layout.names.index(target)]
    with parquet.ParquetFile(path) as file:
        groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
    parts = [group.column(index) for group in groups for index in range(group.num_columns)]
    listed = all(part.has_dictionary_page for part in parts if part.path_in_schema == raw_name)
    same = all(chunk.dictionary.equals(values.chunk(0).dictionary) for chunk in values.chunks)
    if listed and same:
        return values
    say(f"Column {quoted(target)} is an ordered category, but the file does not hold the order of its classes.")
    return values.cast(values.type.value_type)


def order_of(values: pa.ChunkedArray, labels: NDArray[Any]) -> tuple[Any, ...] | None:
    """The classes that occur, in the order of the categories; ``values`` and ``labels`` belong to the same rows."""
    if not _is_ordered(values.type) or not values.num_chunks:
        return None
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in values.chunks])
    found, rows = np.unique(codes, return_index=True)
    return tuple(labels[rows[np.argsort(found)]].tolist())


def _is_ordered(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) and kind.ordered)
