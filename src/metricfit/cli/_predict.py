"""``metricfit predict``: predict labels for a file, or for many, several at a time, here or on a cluster."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from metricfit._errors import ClusterError, DataError, UsageError
from metricfit._files import check_free, new_file
from metricfit._parallel import parallel
from metricfit.cli._arguments import find_columns, find_layout, parse_delimiter, say, show_progress, split_names, workers
from metricfit.cli._model import Model, RuleModel, open_model, open_rule
from metricfit.cli._options import PredictOptions
from metricfit.data import Chunk, Drift, input_file, read_chunks
from metricfit.estimators import OutOfReachError

Pair = tuple[Path, Path]  # a file, and where its predictions go
MAX_LISTED = 10  # rows without a prediction that are named, and columns that differ
ROWS_PER_LINE = 100_000  # between two lines of progress where there is no terminal
OUTPUT_FORMATS = ("parquet", "csv.gz", "csv")

Say = Callable[[str], None]


def predict(options: PredictOptions) -> None:
    into_folder = len(options.data) > 1 or options.cluster or (options.out is not None and options.out.is_dir())
    pairs = _pair_files(options.data, options.out, options.overwrite) if into_folder else []
    if not pairs:
        output_format(options.out)
        if options.out is not None:
            check_free(options.out, "pass --overwrite", options.overwrite)
    parse_delimiter(options.delimiter)
    with workers(options.jobs, options.cluster) as n_jobs:
        if options.model.is_file():
            if options.probabilities:
                raise UsageError("--probabilities needs a model. A rule uses the scores of your file: --keep copies them.")
            model: Model | RuleModel = open_rule(options)
        else:
            model = open_model(options.model, split_names(options.trusted))
        if pairs:
            _predict_files((model, options), pairs, n_jobs)
        else:
            one = _FilePrediction(model, options, options.data[0], say, progress=True)
            one.write(options.out)
            _say_moved(one.drift)


def _pair_files(files: Sequence[Path], out: Path | None, overwrite: bool) -> list[Pair]:
    """Every file with its output in the folder ``out``; an error before anything is read if one of these cannot be written."""
    if out is None:
        raise UsageError(f"{len(files)} files need --out FOLDER, for one output per file.")
    if Path("-") in files:
        raise UsageError("- (stdin) cannot be combined with other files or --cluster.")
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file, expected a folder for the outputs of {len(files)} files.")
    inputs, outputs = {file.resolve() for file in files}, dict[Path, Path]()
    for file in files:
        target = out / output_name(file)
        if target in outputs:
            raise UsageError(f"{outputs[target]} and {file} would both be written to {target}. Predict them in separate runs.")
        if target.resolve() in inputs:
            raise UsageError(f"The output {target} would replace an input. Choose another folder for --out.")
        outputs[target] = file
        check_free(target, "pass --overwrite", overwrite)
    return [(file, target) for target, file in outputs.items()]


def output_name(file: Path) -> str:
    """The name of a file's output: its own, and as CSV what cannot be written in its format.

    >>> [output_name(Path(name)) for name in ("a/may.PARQUET", "may.csv.gz", "may.jsonl.gz", "may.xlsx", "may.2.tsv")]
    ['may.PARQUET', 'may.csv.gz', 'may.csv', 'may.csv', 'may.2.csv']
    """
    name = file.name
    if name.lower().endswith((".parquet", ".csv", ".csv.gz")):
        return name
    return file.with_suffix("").name.removesuffix(".jsonl").removesuffix(".tsv").removesuffix(".arff") + ".csv"


def _predict_files(shared: tuple[Model | RuleModel, PredictOptions], pairs: Sequence[Pair], n_jobs: int | None) -> None:
    """Write the outputs. A file that cannot be predicted leaves the others as they are; the error at the end counts them."""
    pairs = [(file.absolute(), target.absolute()) for file, target in pairs]  # a worker has another working folder
    failed, moved = 0, Drift(shared[0].schema)
    for (file, target), result in zip(pairs, parallel(_predict_file, shared, pairs, n_jobs), strict=True):
        problem, notes, drift = result
        for note in filter(None, (*notes, problem)):
            say(note if str(file) in note or str(target) in note else f"{file}: {note}")
        if not problem and not target.exists():
            raise ClusterError(f"{target} was written by a worker, but is not here: --out should be on a shared disk.")
        if problem:
            failed += 1
        else:
            moved.join(drift)
    _say_moved(moved)
    if failed:
        folder = pairs[0][1].parent
        raise DataError(f"{failed} of {len(pairs)} files could not be predicted, see above. The others are in {folder}.")


def _predict_file(shared: tuple[Model | RuleModel, PredictOptions], file: Path, target: Path) -> tuple[str, list[str], Drift]:
    """What a worker reports of a file: its problem, if there was one, its notes, and whether its rows are as in training."""
    notes = list[str]()
    one = _FilePrediction(*shared, file, notes.append)
    try:
        one.write(target)
    except (DataError, UsageError, OSError) as error:
        return str(error), notes, one.drift
    return "", notes, one.drift


class _FilePrediction:
    """The predictions of a file: how many rows were written, what is wrong with the others, and the drift of all."""

    def __init__(
        self, model: Model | RuleModel, options: PredictOptions, data: Path, say: Say, progress: bool = False
    ) -> None:
        self.model, self.options, self.data, self.say, self.progress = model, options, data, say, progress
        self.skip, self.shown = options.on_error == "skip", "stdin" if str(data) == "-" else str(data)
        self.drift, self.n_rows, self.n_problems, self.first_problems = Drift(model.schema), 0, 0, list[str]()

    def write(self, out: Path | None) -> None:
        """Write ``out`` or, without one, stdout."""
        kind = output_format(out)
        with input_file(self.data) as path:
            if self.options.strict:
                self._check_moved(path)
            tables = self._tables(path, kind)
            if out is None:
                try:
                    self._write_tables(tables, kind, sys.stdout.buffer)
                except (DataError, UsageError) as error:  # what is on stdout cannot be taken back
                    ends = f"The output on stdout is incomplete: it ends after {self.n_rows:,} rows."
                    raise type(error)(f"{error} {ends}") from error
            else:
                with new_file(out, self.options.overwrite) as file, file.open("wb") as stream:
                    self._write_tables(tables, kind, stream)
                self.say(f"{self.n_rows:,} rows: {out}")
        if self.n_problems:
            rows, they = ("1 row has", "it") if self.n_problems == 1 else (f"{self.n_problems:,} rows have", "they")
            listed = f"; the first {MAX_LISTED}" if self.n_problems > MAX_LISTED else ""
            self.say(f"{rows} no prediction, because {they} cannot be read{listed}:")
        for line in self.first_problems:
            self.say(f"  {line}")

    def _check_moved(self, path: Path) -> None:
        """Read the file once, before anything is written."""
        drift, layout = Drift(self.model.schema), find_layout(path, self.options, self.model.schema.header)
        for chunk in read_chunks(path, layout, self.model.schema, skip=self.skip):
            drift.add(_readable_rows(chunk))
        if notes := drift.notes():
            shown = " ".join(notes[:MAX_LISTED]) + (f" {len(notes) - MAX_LISTED} more." if len(notes) > MAX_LISTED else "")
            raise DataError(f"{self.shown} differs from the training table, and --strict was passed. {shown}")

    def _tables(self, path: Path, kind: str) -> Iterator[pa.Table]:
        """The output, chunk by chunk. An error in the first rows is raised here, and leaves no output behind."""
        layout = find_layout(path, self.options, self.model.schema.header)
        for note in layout.notes:
            self.say(note)
        if layout.decimal == ",":
            self.say("Numbers such as 1,5 are read with a decimal comma.")
        outputs = self.model.output_names(self.options.probabilities)
        kept = _kept_names(self.options.keep or (), layout.names, outputs)
        may_be_blank = self.skip and kind != "parquet" and not kept and len(outputs) == 1

        def predicted() -> Iterator[pa.Table]:
            chunks = read_chunks(path, layout, self.model.schema, kept, self.skip, self.say)
            for chunk in _joined(chunks) if self.model.reads_whole_files else chunks:
                self.drift.add(_readable_rows(chunk))
                table = self._predict(chunk)
                yield _without_blank_lines(table) if may_be_blank else table

        tables = predicted()
        if (first := next(tables, None)) is None:  # no rows
            first = self._prediction_table(
                Chunk(pa.table({}), pa.table({name: pa.array([], pa.string()) for name in kept}), {})
            )
        return chain([first], tables)

    def _predict(self, chunk: Chunk) -> pa.Table:
        """The predictions of a chunk. A row whose number overflows in the model is an error, or a problem of the row."""
        try:
            table = self._prediction_table(chunk)
        except OutOfReachError as error:
            readable = [index for index in range(chunk.features.num_rows) if index not in chunk.problems]
            found = {readable[row]: f"row {chunk.first_row + readable[row]}, {what}" for row, what in error.rows.items()}
            if not self.skip:
                raise DataError(f"{self.shown}, {found[min(found)]}.") from error
            chunk = replace(chunk, problems=dict(sorted({**chunk.problems, **found}.items())))
            table = self._prediction_table(chunk)
        self.n_problems += len(chunk.problems)
        self.first_problems += list(chunk.problems.values())[: MAX_LISTED - len(self.first_problems)]
        return table

    def _prediction_table(self, chunk: Chunk) -> pa.Table:
        """Kept columns, and the answers of the model; unreadable rows have none."""
        n_rows = chunk.features.num_rows
        try:
            found = self.model.answer(_readable_rows(chunk), self.options.probabilities)
        except OutOfReachError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise DataError(f"The model in {self.options.model} cannot predict these data: {error}") from error
        if chunk.problems:
            readable = np.setdiff1d(np.arange(n_rows), list(chunk.problems))
            indices = np.full(n_rows, -1)
            indices[readable] = np.arange(len(readable))
            taken = pa.array(indices, mask=indices < 0)
            found = {name: column.take(taken) for name, column in found.items()}
        return pa.table({**dict(zip(chunk.kept.column_names, chunk.kept.columns, strict=True)), **found})

    def _write_tables(self, tables: Iterator[pa.Table], kind: str, stream: Any) -> None:
        first = next(tables)
        writer_of = parquet.ParquetWriter if kind == "parquet" else csv.CSVWriter
        with (
            gzip.open(stream, "wb") if kind == "csv.gz" else nullcontext(stream) as target,
            writer_of(target, first.schema) as writer,
        ):
            for table in chain([first], tables):
                writer.write_table(table)
                before, self.n_rows = self.n_rows, self.n_rows + table.num_rows
                if self.progress:
                    show_progress(f"{self.n_rows:,} rows")
                    if not sys.stderr.isatty() and before // ROWS_PER_LINE < self.n_rows // ROWS_PER_LINE:
                        say(f"{self.n_rows:,} rows predicted.")
        if self.progress:
            show_progress("")


def _joined(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """All rows of a file as one chunk."""
    parts, problems, n_rows = list(chunks), dict[int, str](), 0
    for chunk in parts:
        problems |= {n_rows + row: problem for row, problem in chunk.problems.items()}
        n_rows += chunk.features.num_rows
    if parts:
        features, kept = pa.concat_tables([one.features for one in parts]), pa.concat_tables([one.kept for one in parts])
        yield replace(parts[0], features=features, kept=kept, problems=problems)


def _say_moved(drift: Drift) -> None:
    """Say once, after all rows, where they differ from the training table."""
    notes = drift.notes()
    if notes:
        say("Warning: these rows differ from the training table, so predictions may be poor. Pass --strict to refuse them.")
    for note in notes[:MAX_LISTED]:
        say(f"  {note}")
    if len(notes) > MAX_LISTED:
        say(f"  {len(notes) - MAX_LISTED} more columns differ.")


def _readable_rows(chunk: Chunk) -> pa.Table:
    """The features of the rows without a problem."""
    rows = np.setdiff1d(np.arange(chunk.features.num_rows), list(chunk.problems))
    return chunk.features.take(rows) if chunk.problems else chunk.features


def _without_blank_lines(table: pa.Table) -> pa.Table:
    """Write ``""`` for a missing prediction that is alone in its line, because many readers of CSV skip a blank line."""
    return pa.table({name: pc.fill_null(table[name].cast(pa.string()), "") for name in table.column_names})


def _kept_names(columns: Sequence[str], names: Sequence[str], outputs: Sequence[str]) -> list[str]:
    kept = list(dict.fromkeys(find_columns(columns, names, "--keep")))
    for name in kept:
        if name in outputs:
            raise UsageError(f"--keep {name!r} has the name of a column of the output. Rename it in the file.")
    return kept


def output_format(out: Path | None) -> str:
    """The output format, from the file's suffix."""
    if out is None and sys.stdout is None:
        raise UsageError("stdout is closed. Pass --out FILE.")
    if out is None or not out.suffix:
        return "csv"
    for kind in OUTPUT_FORMATS:
        if out.name.lower().endswith("." + kind):
            return kind
    raise UsageError(f"--out should end in .csv, .csv.gz or .parquet, got {out}.")
