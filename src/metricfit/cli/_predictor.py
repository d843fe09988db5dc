"""Predict the rows of one file, in chunks, and write them."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit._errors import DataError, UsageError
from metricfit.cli._options import find_columns, find_layout, ignore_warnings, say, show_progress

if TYPE_CHECKING:
    import pyarrow as pa

    from metricfit.cli._model import Model
    from metricfit.cli._predict import PredictOptions
    from metricfit.data import Chunk, Drift

PREDICTION = "prediction"
MAX_LISTED = 10  # rows without a prediction that are named, and columns that differ
ROWS_PER_LINE = 100_000  # between two lines of progress where there is no terminal
FORMATS = ("parquet", "csv.gz", "csv")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Predictor:
    """A model, and the options of its predictions."""

    model: Model
    options: PredictOptions

    def write(self, data: Path, out: Path | None, say: Say, drift: Drift, progress: bool = True) -> None:
        """Predict a file, and write ``out`` or, without one, stdout. The rows are added to ``drift``."""
        from metricfit._files import new_file
        from metricfit.data import input_file

        problems, writer, kind = _RowProblems(), _Writer(progress), output_format(out)
        with input_file(data) as path:
            if self.options.strict:
                self._check_moved(path, data)
            tables = self._tables(path, data, kind, problems, say, drift)
            if out is None:
                with writer.say_if_incomplete():
                    writer.write(tables, sys.stdout.buffer, kind)
            else:
                with new_file(out, self.options.overwrite) as file, file.open("wb") as stream:
                    writer.write(tables, stream, kind)
                say(f"{writer.n_rows:,} rows: {out}")
        problems.say(say)

    @property
    def _skip(self) -> bool:
        return self.options.on_error == "skip"

    def _check_moved(self, path: Path, data: Path) -> None:
        """Read the file once, before anything is written."""
        from metricfit.data import Drift, read_chunks

        drift, layout = Drift(self.model.schema), find_layout(path, self.options, self.model.schema.header)
        for chunk in read_chunks(path, layout, self.model.schema, skip=self._skip):
            drift.add(readable_rows(chunk))
        if notes := drift.notes():
            shown = " ".join(notes[:MAX_LISTED]) + (f" {len(notes) - MAX_LISTED} more." if len(notes) > MAX_LISTED else "")
            raise DataError(f"{_shown(data)} differs from the training table, and --strict is given. {shown}")

    def _tables(self, path: Path, data: Path, kind: str, problems: _RowProblems, say: Say, drift: Drift) -> Iterator[pa.Table]:
        """The output, chunk by chunk. An error in the first rows is raised here, and leaves no output behind."""
        from metricfit.data import read_chunks

        layout = find_layout(path, self.options, self.model.schema.header)
        for note in layout.notes:
            say(note)
        if layout.decimal == ",":
            say("Numbers such as 1,5 are read with a decimal comma.")
        probabilities = self.options.probabilities
        kept = _kept_names(self.options.keep or (), layout.names, _output_names(self.model, probabilities))
        chunks = read_chunks(path, layout, self.model.schema, kept, self._skip, say)
        tables = (problems.noted(*self._predict(data, chunk)) for chunk in _counted(chunks, drift))
        if self._skip and kind != "parquet" and not kept and not probabilities:
            tables = (_without_blank_lines(table) for table in tables)
        first = next(tables, None)
        return chain([_empty_table(self.model, kept, probabilities) if first is None else first], tables)

    def _predict(self, data: Path, chunk: Chunk) -> tuple[Chunk, pa.Table]:
        """The chunk and its predictions. A row whose number overflows in the model is an error, or a problem of the row."""
        from metricfit.estimators import OutOfReachError

        try:
            return chunk, self._prediction_table(chunk)
        except OutOfReachError as error:
            readable = [index for index in range(chunk.features.num_rows) if index not in chunk.problems]
            found = {readable[row]: f"row {chunk.first_row + readable[row]}, {what}" for row, what in error.rows.items()}
            if not self._skip:
                raise DataError(f"{_shown(data)}, {found[min(found)]}.") from error
            chunk = replace(chunk, problems=dict(sorted({**chunk.problems, **found}.items())))
            return chunk, self._prediction_table(chunk)

    def _prediction_table(self, chunk: Chunk) -> pa.Table:
        """Kept columns, ``prediction``, and if asked for ``probability_<class>``; unreadable rows have no prediction."""
        import numpy as np
        import pyarrow as pa

        from metricfit.estimators import OutOfReachError

        classifier, n_rows = self.model.classifier, chunk.features.num_rows
        rows: Any = readable_rows(chunk)
        scores = probability = np.empty((0, len(classifier.classes_)))
        try:
            if rows.num_rows:
                if not classifier.reads_frames_:
                    rows = np.stack([rows[name].to_numpy() for name in rows.column_names], 1)
                with ignore_warnings():
                    scores, probability = classifier.scores_and_probabilities(rows)
        except OutOfReachError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise DataError(f"The model in {self.options.model} cannot predict these data: {error}") from error
        found = {PREDICTION: pa.array(classifier.classes_[scores.argmax(1)])}
        if self.options.probabilities:
            names = _output_names(self.model, True)[1:]
            found |= {name: pa.array(column) for name, column in zip(names, probability.T, strict=True)}
        if chunk.problems:
            readable = np.setdiff1d(np.arange(n_rows), list(chunk.problems))
            indices = np.full(n_rows, -1)
            indices[readable] = np.arange(len(readable))
            taken = pa.array(indices, mask=indices < 0)
            found = {name: column.take(taken) for name, column in found.items()}
        return pa.table({**dict(zip(chunk.kept.column_names, chunk.kept.columns, strict=True)), **found})


def _shown(data: Path) -> str:
    return "stdin" if str(data) == "-" else str(data)


def _counted(chunks: Iterator[Chunk], drift: Drift) -> Iterator[Chunk]:
    for chunk in chunks:
        drift.add(readable_rows(chunk))
        yield chunk


def say_moved(drift: Drift) -> None:
    """Say once, after all rows, where they differ from the training table."""
    notes = drift.notes()
    if notes:
        say("Warning: these rows differ from the training table, so predictions may be poor. Pass --strict to refuse them.")
    for note in notes[:MAX_LISTED]:
        say(f"  {note}")
    if len(notes) > MAX_LISTED:
        say(f"  {len(notes) - MAX_LISTED} more columns differ.")


def readable_rows(chunk: Chunk) -> pa.Table:
    """The features of the rows without a problem."""
    import numpy as np

    rows = np.setdiff1d(np.arange(chunk.features.num_rows), list(chunk.problems))
    return chunk.features.take(rows) if chunk.problems else chunk.features


def _without_blank_lines(table: pa.Table) -> pa.Table:
    """Write ``""`` for a missing prediction that is alone in its line, because many readers of CSV skip a blank line."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pa.table({PREDICTION: pc.fill_null(table[PREDICTION].cast(pa.string()), "")})


def _output_names(model: Model, probabilities: bool) -> list[str]:
    return [PREDICTION, *(f"probability_{label}" for label in model.classifier.classes_ if probabilities)]


def _empty_table(model: Model, kept: Sequence[str], probabilities: bool) -> pa.Table:
    """The output for a file without rows."""
    import numpy as np
    import pyarrow as pa

    names = _output_names(model, probabilities)
    kept_columns = {name: pa.array([], pa.string()) for name in kept}
    return pa.table({**kept_columns, PREDICTION: model.classifier.classes_[:0], **dict.fromkeys(names[1:], np.empty(0))})


def _kept_names(columns: Sequence[str], names: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """The columns in ``--keep``."""
    kept = list(dict.fromkeys(find_columns(columns, names, "--keep")))
    for name in kept:
        if name in outputs:
            raise UsageError(f"--keep {name!r} has the name of a column of the output. Rename it in the file.")
    return kept


class _RowProblems:
    """Rows without a prediction: their number, and what is wrong with the first of them."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.first: list[str] = []

    def noted(self, chunk: Chunk, table: pa.Table) -> pa.Table:
        """Note the chunk's problems, and return its table."""
        self.n_rows += len(chunk.problems)
        self.first += list(chunk.problems.values())[: MAX_LISTED - len(self.first)]
        return table

    def say(self, say: Say) -> None:
        if self.n_rows:
            one = self.n_rows == 1
            rows, they = ("1 row has", "it") if one else (f"{self.n_rows:,} rows have", "they")
            listed = f"; the first {MAX_LISTED}" if self.n_rows > MAX_LISTED else ""
            say(f"{rows} no prediction, because {they} cannot be read{listed}:")
        for line in self.first:
            say(f"  {line}")


def output_format(out: Path | None) -> str:
    """The output format, from the file's suffix."""
    if out is None and sys.stdout is None:
        raise UsageError("stdout is closed. Pass --out FILE.")
    if out is None or not out.suffix:
        return "csv"
    for kind in FORMATS:
        if out.name.lower().endswith("." + kind):
            return kind
    raise UsageError(f"--out should end in .csv, .csv.gz or .parquet, got {out}.")


class _Writer:
    """The rows that were written so far."""

    def __init__(self, progress: bool = True) -> None:
        self.n_rows, self.progress = 0, progress

    def write(self, tables: Iterator[pa.Table], stream: Any, kind: str) -> None:
        from pyarrow import csv, parquet

        first = next(tables)
        writer_of = parquet.ParquetWriter if kind == "parquet" else csv.CSVWriter
        with (
            gzip.open(stream, "wb") if kind == "csv.gz" else nullcontext(stream) as target,
            writer_of(target, first.schema) as writer,
        ):
            for table in chain([first], tables):
                writer.write_table(table)
                if self.progress:
                    _show_rows(self.n_rows, self.n_rows + table.num_rows)
                self.n_rows += table.num_rows
        if self.progress:
            show_progress("")

    @contextmanager
    def say_if_incomplete(self) -> Iterator[None]:
        """Say in an error how far the output on stdout goes, because it cannot be taken back."""
        try:
            yield
        except (DataError, UsageError) as error:
            ends = f"The output on stdout is incomplete: it ends after {self.n_rows:,} rows."
            raise type(error)(f"{error} {ends}") from error


def _show_rows(before: int, after: int) -> None:
    """Progress: a line that replaces itself in a terminal, elsewhere a line for every 100,000 rows."""
    show_progress(f"{after:,} rows")
    if not sys.stderr.isatty() and before // ROWS_PER_LINE < after // ROWS_PER_LINE:
        say(f"{after:,} rows predicted.")
