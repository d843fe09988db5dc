"""Parquet files of the same columns: which there are, what their columns hold, and the labels of all rows."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from metricfit import data
from metricfit._errors import DataError, UsageError
from metricfit._printable import quoted
from metricfit._typing import Ints
from metricfit.data import Layout, TableSchema, check_classes, detect_columns, merge_classes, read_labels, type_name

Say = Callable[[str], None]
MOST_PART_ROWS = 2**20  # of the row groups that are read together
FIRST_ROWS = 2**15  # by which it is known what a column of text holds


@dataclass(frozen=True)
class FilePart:
    """Row groups of one file; ``before`` rows of the file come before them."""

    path: Path
    layout: Layout
    groups: tuple[int, ...]
    before: int
    n_rows: int

    def read_columns(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Columns as they are in the file, in chunks of rows."""
        no_features = TableSchema((), self.layout.header, len(self.layout.names))
        for chunk in data.read_chunks(self.path, self.layout, no_features, names, groups=self.groups):
            yield chunk.kept

    def read_features(self, schema: TableSchema) -> Iterator[pa.Table]:
        """The features, in chunks of rows."""
        for chunk in data.read_chunks(self.path, self.layout, schema, groups=self.groups, before=self.before):
            yield chunk.features


@dataclass(frozen=True)
class Files:
    """Parquet files with the same columns; ``schema`` describes the features."""

    parts: tuple[FilePart, ...]
    schema: TableSchema
    target: str
    left_out: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        return sum(part.n_rows for part in self.parts)

    @property
    def name(self) -> str:
        """The first file, and how many there are."""
        n_others = len({part.path for part in self.parts}) - 1
        return f"{self.parts[0].path.name} and {n_others:,} more files" if n_others else self.parts[0].path.name


def find_files(given: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files of a pattern such as ``"part-*.parquet"``, of a folder, or of a list of these; sorted by name.

    >>> find_files("no-such-*.parquet")
    Traceback (most recent call last):
        ...
    metricfit._errors.UsageError: No file matches no-such-*.parquet.
    """
    found: list[Path] = []
    for one in [given] if isinstance(given, str | Path) else given:
        matches, problem = [Path(one)], ""
        if glob.has_magic(str(one)) and not Path(one).exists():
            matches = [Path(path) for path in sorted(glob.glob(str(one), recursive=True)) if Path(path).is_file()]
            problem = f"No file matches {one}."
        elif Path(one).is_dir():
            matches, problem = sorted(Path(one).glob("*.parquet")), f"Folder {one} has no *.parquet files."
        if not matches:
            raise UsageError(problem)
        found += matches
    seen: dict[Path, Path] = {}
    for path in found:
        other = seen.setdefault(path.resolve(), path)
        if other is not path:
            raise UsageError(f"{path} is given twice{'' if other == path else f', also as {other}'}. Leave one out.")
    return found


def check_scratch(folder: str | Path | None) -> None:
    """A UsageError for a folder in which nothing can be written."""
    try:
        with tempfile.TemporaryDirectory(prefix="metricfit-", dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"--scratch {folder or tempfile.gettempdir()} should be a folder that can be written, got: "
            f"{error.strerror or error}. Pass another folder."
        ) from error


def open_files(
    paths: Sequence[Path],
    target: str | None,
    dropped: Collection[str] = (),
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
    say: Say = lambda line: None,
) -> Files:
    """Check that the files belong together. Text that holds numbers or dates is known by the first rows of the first file."""
    layouts = [_parquet_layout(path) for path in paths]
    first = layouts[0]
    target = first.names[-1] if target is None else data.column_named(target, first.names, "--target")
    options = {"--drop": dropped, "--numeric": numeric, "--categorical": categorical}
    named = {option: [data.column_named(name, first.names, option) for name in given] for option, given in options.items()}
    for option, columns in named.items():
        if target in columns:
            raise UsageError(f"{option} {quoted(target)} is the target. Pass another column to --target or to {option}.")
    kinds = _common_columns(paths, layouts, named["--drop"])
    names = [name for name in first.names if name not in named["--drop"]]
    if len(names) < 2:
        raise DataError(f"{paths[0]} has no columns except the target {quoted(target)}.")
    parts = tuple(part for path, layout in zip(paths, layouts, strict=True) for part in _split_file(path, layout))
    if not sum(part.n_rows for part in parts):
        raise DataError(f"{paths[0]} and the other files have no rows." if len(paths) > 1 else f"{paths[0]} has no rows.")
    raw = _first_rows(next(part for part in parts if part.n_rows), {name: kinds[name] for name in names}, target)
    types = detect_columns(raw, first, target, say, named["--numeric"], named["--categorical"])
    return Files(parts, TableSchema(tuple(types), first.header, len(first.names)), target, tuple(named["--drop"]))


def _parquet_layout(path: Path) -> Layout:
    layout = data.layout_of(path)
    if layout.format != "parquet":
        raise DataError(
            f"{path} is not a Parquet file. Several files are read in parts, which needs Parquet. Convert it first."
        )
    return layout


def _common_columns(paths: Sequence[Path], layouts: Sequence[Layout], dropped: Collection[str]) -> dict[str, pa.DataType]:
    """The columns of every file, with types that are read alike. A column of type null, without values, is like any other."""
    expected = column_types(paths[0], layouts[0])
    seen = dict.fromkeys(expected, paths[0].name)
    for path, layout in zip(paths[1:], layouts[1:], strict=True):
        found = column_types(path, layout)
        missing = [name for name in expected if name not in found and name not in dropped]
        further = [name for name in found if name not in expected]
        if missing:
            raise DataError(f"{path} lacks column {quoted(missing[0])}, which {paths[0].name} has.")
        if further:
            raise DataError(
                f"{path} has column {quoted(further[0])}, which {paths[0].name} lacks. Give all files the same columns."
            )
        for name, kind in expected.items():
            if name in dropped or pa.types.is_null(found[name]):
                continue
            if pa.types.is_null(kind):
                expected[name], seen[name] = found[name], path.name
            elif type_name(found[name]) != type_name(kind):
                raise DataError(
                    f"{path}, column {quoted(name)} has values of type {found[name]}, expected {kind} as in {seen[name]}. "
                    "Write it with the same type in all files."
                )
    return expected


def column_types(path: Path, layout: Layout) -> dict[str, Any]:
    """The Arrow types of the columns, and of the values where these are a dictionary."""
    with parquet.ParquetFile(path) as file:
        types = [field.type for field in file.schema_arrow]
    return {
        name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in zip(layout.names, types, strict=True)
    }


def _split_file(path: Path, layout: Layout) -> list[FilePart]:
    """Runs of row groups with at most ``MOST_PART_ROWS`` rows, or one row group where it has more."""
    with parquet.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(index).num_rows for index in range(file.metadata.num_row_groups)]
    parts, groups, before, n_rows = list[FilePart](), list[int](), 0, 0
    for index, size in enumerate(sizes):
        if groups and n_rows + size > MOST_PART_ROWS:
            parts.append(FilePart(path, layout, tuple(groups), before, n_rows))
            groups, before, n_rows = [], before + n_rows, 0
        groups.append(index)
        n_rows += size
    return [*parts, FilePart(path, layout, tuple(groups), before, n_rows)]


def _first_rows(part: FilePart, kinds: Mapping[str, pa.DataType], target: str) -> pa.Table:
    """The first rows of text, by which it is known what it holds. Other columns have their type and no values."""
    texts = [name for name, kind in kinds.items() if name != target and type_name(kind) == "string"]
    chunks, n_rows = list[pa.Table](), 0
    for chunk in part.read_columns(texts) if texts else ():
        chunks.append(chunk)
        n_rows += chunk.num_rows
        if n_rows >= FIRST_ROWS:
            break
    found = pa.concat_tables(chunks) if chunks else None
    empty = {kind: pa.nulls(n_rows, kind) for kind in set(kinds.values())}  # shared, since wide files have many
    return pa.table({name: found[name] if found and name in texts else empty[kind] for name, kind in kinds.items()})


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
        different, of_label = np.unique(labels, return_inverse=True)
        counts = np.bincount(of_label, n_rows).astype(np.int64)
        labels = merge_classes(different, counts, merge_rare, files.target, say)[of_label]
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
