"""The labels of many files: one pass over the target alone. They are kept as small integers, a byte or two per row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from metricfit._errors import DataError
from metricfit._typing import Ints
from metricfit.data import check_classes, merge_classes, read_labels
from metricfit.shards._files import Files, Say, column_types

MOST_CLASSES = 5_000
NO_LABEL = -1
Codes = NDArray[np.integer[Any]]  # of one or two bytes


@dataclass(frozen=True)
class Labels:
    """Classes, and the index of its class for every row, ``NO_LABEL`` where there is none."""

    classes: NDArray[Any]
    codes: Codes

    @property
    def known(self) -> Codes:
        """Those of the rows with a label."""
        return self.codes[self.codes != NO_LABEL]

    @property
    def counts(self) -> Ints:
        return count_codes(self.codes, len(self.classes))


def read_all_labels(files: Files, merge_rare: int = 0, say: Say = lambda line: None) -> Labels:
    """Labels are converted as those of one file in memory, from their different values."""
    codes, values = _encode(files)
    path = files.parts[0].path
    known, labels = read_labels(values, files.target, path)
    n_rows = count_codes(codes, len(values))[known.to_numpy()]
    if merge_rare:
        labels = _merge(labels, n_rows, merge_rare, files.target, say)
    classes, indices = np.unique(labels, return_inverse=True)
    counts = np.bincount(indices, n_rows, len(classes)).astype(np.int64) if len(labels) else np.zeros(0, np.int64)
    n_unlabelled = len(codes) - int(counts.sum())
    check_classes(classes, counts, files.target, path, n_unlabelled, merge_rare)
    if n_unlabelled:
        say(f"{n_unlabelled:,} rows without a value in {files.target!r} are dropped.")
    class_of = np.full(len(values) + 1, NO_LABEL, codes.dtype)
    class_of[np.flatnonzero(known.to_numpy())] = indices
    return Labels(classes, class_of[codes].astype(np.int8 if len(classes) < 127 else np.int16))


def count_codes(codes: Codes, n_classes: int) -> Ints:
    """Rows of every class, without a copy of the codes in a larger type."""
    counts = np.zeros(n_classes, np.int64)
    for start in range(0, len(codes), 2**20):
        part = codes[start : start + 2**20]
        counts += np.bincount(part[part != NO_LABEL], minlength=n_classes)
    return counts


def _encode(files: Files) -> tuple[Codes, pa.ChunkedArray]:
    """The index of every row's value among the different values, in the order in which they come."""
    known: dict[Any, int] = {}
    codes, at, kind = np.empty(files.n_rows, np.int16), 0, _common_type(files)
    for part in files.parts:
        for chunk in part.read_columns([files.target]):
            column = chunk.column(0)
            try:
                column = column.cast(kind)
            except pa.ArrowException as error:
                raise _other_type(part.path, files.target, column.type, kind) from error
            if pa.types.is_floating(kind) and pc.any(pc.invert(pc.is_finite(column))).as_py():
                raise DataError(f"{part.path}, column {files.target!r} has infinite numbers or NaN, which cannot be classes.")
            found = pc.dictionary_encode(column).combine_chunks()
            own = np.array([known.setdefault(value, len(known)) for value in found.dictionary.to_pylist()], np.int64)
            if len(known) > MOST_CLASSES:
                raise DataError(
                    f"{part.path}, column {files.target!r} has more than {MOST_CLASSES:,} different values, expected classes. "
                    "Pass another column to --target."
                )
            indices = pc.fill_null(found.indices, len(own)).to_numpy(zero_copy_only=False)
            codes[at : at + len(indices)] = np.append(own, NO_LABEL)[indices]
            at += len(indices)
    return codes, pa.chunked_array([pa.array(list(known), kind)])


def _common_type(files: Files) -> pa.DataType:
    """A type for the labels of all files: floats for integers and floats, as where the files are joined."""
    kind = pa.null()
    for path, layout in {part.path: part.layout for part in files.parts}.items():
        own = column_types(path, layout)[files.target]
        try:
            schemas = [pa.schema([("y", one)]) for one in (kind, own)]
            kind = pa.unify_schemas(schemas, promote_options="permissive").field("y").type
        except pa.ArrowException as error:
            raise _other_type(path, files.target, own, kind) from error
    return kind


def _other_type(path: Path, target: str, found: pa.DataType, expected: pa.DataType) -> DataError:
    return DataError(
        f"{path}, column {target!r} has values of type {found}, which do not fit {expected} as in the other files. Write it "
        "with the same type in all files."
    )


def _merge(labels: NDArray[Any], n_rows: Ints, fewest: int, target: str, say: Say) -> NDArray[Any]:
    """``merge_classes`` of the rows, from the different labels and their numbers of rows."""
    classes, codes = np.unique(labels, return_inverse=True)
    return merge_classes(classes, np.bincount(codes, n_rows).astype(np.int64), fewest, target, say)[codes]
