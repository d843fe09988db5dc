"""``metricfit predict``: predict labels, in chunks of rows."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from metricfit._errors import DataError, UsageError
from metricfit.cli import _options as options
from metricfit.cli._formulas import Formulas

if TYPE_CHECKING:
    import pyarrow as pa

    from metricfit.cli._model import Model
    from metricfit.data import Chunk

PREDICTION = "prediction"
LISTED = 10  # rows without a prediction that are named
ROWS_PER_LINE = 100_000  # between two lines of progress where there is no terminal


def predict(
    model: Annotated[Path, typer.Argument(help="Folder that `metricfit fit` wrote.", show_default=False)],
    data: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV, Parquet, JSON Lines or Excel file with the model's columns; - is stdin.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Output file: .csv, .csv.gz or .parquet.", show_default="stdout, as CSV")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Columns to copy to the output: names or numbers, separated by commas; can be repeated."),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also write the calibrated probability of every class.")
    ] = False,
    on_error: Annotated[
        Literal["stop", "skip"],
        typer.Option(help="What to do with a row that cannot be read: skip leaves its prediction empty."),
    ] = "stop",
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv", help="Write a ' before labels and kept cells that a spreadsheet would run as a formula (= + - @)."
        ),
    ] = False,
    header: options.ModelHeader = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Predict a label for every row.

    The label is chosen for the metric. It is not always the most probable class.
    """
    from metricfit._files import check_free, new_file
    from metricfit.cli._model import open_model
    from metricfit.data import input_file, layout_of, read_chunks

    kind = _output_format(out)
    if safe_csv and kind == "parquet":
        raise UsageError(f"--safe-csv is for CSV files, got --out {out}.")
    if out is not None:
        check_free(out, "pass --overwrite", overwrite)
    opened = open_model(model)
    named = opened.schema.header if header is None else header
    problems = _Problems()
    with input_file(data) as path:
        layout = layout_of(path, delimiter=options.parse_delimiter(delimiter), encoding=encoding, header=named)
        for note in layout.notes:
            options.say(note)
        if layout.decimal == ",":
            options.say("Numbers such as 1,5 are read with a decimal comma.")
        kept = _kept_names(keep or (), layout.names, _output_names(opened, probabilities))
        chunks = read_chunks(path, layout, opened.schema, kept, on_error == "skip", options.say)
        predict_chunk = partial(_predict_readable, opened, model, data, probabilities, on_error == "skip")
        tables = (problems.noted(*predict_chunk(chunk)) for chunk in chunks)
        if on_error == "skip" and kind != "parquet" and not kept and not probabilities:
            tables = (_without_blank_lines(table) for table in tables)
        first = next(tables, None)  # an error in the first rows leaves no output behind
        rest: Iterator[pa.Table] = chain([_empty_table(opened, kept, probabilities) if first is None else first], tables)
        if kind != "parquet":
            rest = map(Formulas(safe_csv).checked, rest)
        written = _Written()
        if out is None:
            with written.told_if_incomplete():
                written.write(rest, sys.stdout.buffer, kind)
        else:
            with new_file(out, overwrite) as file, file.open("wb") as stream:
                written.write(rest, stream, kind)
            options.say(f"{written.n_rows:,} rows: {out}")
    problems.say()


def _predict_readable(
    model: Model, folder: Path, data: Path, probabilities: bool, skip: bool, chunk: Chunk
) -> tuple[Chunk, pa.Table]:
    """The chunk and its predictions. A row with a number that overflows in the model is an error, or a problem of the row."""
    from metricfit.estimators._decision import OutOfReachError

    try:
        return chunk, prediction_table(model, chunk, folder, probabilities)
    except OutOfReachError as error:
        places = [place for place in range(chunk.features.num_rows) if place not in chunk.problems]
        found = {places[row]: f"row {chunk.first_row + places[row]}, {problem}" for row, problem in error.rows.items()}
        if not skip:
            raise DataError(f"{'stdin' if str(data) == '-' else data}, {found[min(found)]}.") from error
        chunk = replace(chunk, problems=dict(sorted({**chunk.problems, **found}.items())))
        return chunk, prediction_table(model, chunk, folder, probabilities)


def prediction_table(model: Model, chunk: Chunk, folder: Path, probabilities: bool) -> pa.Table:
    """The kept columns, ``prediction``, and if wanted ``probability_<class>``; nothing is predicted for unreadable rows."""
    import numpy as np
    import pyarrow as pa

    from metricfit.estimators._decision import OutOfReachError

    classifier, features = model.classifier, chunk.features
    readable = np.setdiff1d(np.arange(features.num_rows), list(chunk.problems))
    given: Any = features.take(readable) if chunk.problems else features
    scores = probability = np.empty((0, len(classifier.classes_)))
    try:
        if len(readable):
            if not classifier.reads_frames_:
                given = np.stack([given[name].to_numpy() for name in given.column_names], 1)
            with options.ignore_warnings():
                scores, probability = classifier.scores_and_probabilities(given)
    except OutOfReachError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise DataError(f"The model in {folder} cannot predict these data: {error}") from error
    found = {PREDICTION: pa.array(classifier.classes_[scores.argmax(1)])}
    if probabilities:
        found |= {name: pa.array(column) for name, column in zip(_output_names(model, True)[1:], probability.T, strict=True)}
    if chunk.problems:
        places = np.full(features.num_rows, -1)
        places[readable] = np.arange(len(readable))
        rows = pa.array(places, mask=places < 0)
        found = {name: column.take(rows) for name, column in found.items()}
    return pa.table({**dict(zip(chunk.kept.column_names, chunk.kept.columns, strict=True)), **found})


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


def _kept_names(given: Sequence[str], names: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """The columns in ``--keep``; a column whose name has commas is given alone."""
    from metricfit.data import column_named

    wanted = [part.strip() for item in given for part in ([item] if item in names else item.split(",")) if part.strip()]
    kept = list(dict.fromkeys(column_named(name, names, "--keep") for name in wanted))
    for name in kept:
        if name in outputs:
            raise UsageError(f"--keep {name!r} has the name of a column of the output. Rename it in the file.")
    return kept


class _Problems:
    """Rows without a prediction: their number, and what is wrong with the first of them."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.first: list[str] = []

    def noted(self, chunk: Chunk, table: pa.Table) -> pa.Table:
        """Note the chunk's problems, and return its table."""
        self.n_rows += len(chunk.problems)
        self.first += list(chunk.problems.values())[: LISTED - len(self.first)]
        return table

    def say(self) -> None:
        if self.n_rows:
            one = self.n_rows == 1
            rows, they = ("1 row has", "it") if one else (f"{self.n_rows:,} rows have", "they")
            listed = f"; the first {LISTED}" if self.n_rows > LISTED else ""
            options.say(f"{rows} no prediction, because {they} cannot be read{listed}:")
        for line in self.first:
            options.say(f"  {line}")


def _output_format(out: Path | None) -> str:
    """The output format, from the file's suffix."""
    if out is None and sys.stdout is None:
        raise UsageError("stdout is closed. Pass --out FILE.")
    if out is None or not out.suffix:
        return "csv"
    for kind in ("parquet", "csv.gz", "csv"):
        if out.name.lower().endswith("." + kind):
            return kind
    raise UsageError(f"--out should end in .csv, .csv.gz or .parquet, got {out}.")


class _Written:
    """The rows that were written so far."""

    def __init__(self) -> None:
        self.n_rows = 0

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
                _show_rows(self.n_rows, self.n_rows + table.num_rows)
                self.n_rows += table.num_rows
        options.show_progress("")

    @contextmanager
    def told_if_incomplete(self) -> Iterator[None]:
        """Say in an error how far the output on stdout goes, because nobody can take it back."""
        try:
            yield
        except (DataError, UsageError) as error:
            ends = f"The output on stdout is incomplete: it ends after {self.n_rows:,} rows."
            raise type(error)(f"{error} {ends}") from error


def _show_rows(before: int, after: int) -> None:
    """Progress: a line that replaces itself in a terminal, elsewhere a line for every 100,000 rows."""
    options.show_progress(f"{after:,} rows")
    if not sys.stderr.isatty() and before // ROWS_PER_LINE < after // ROWS_PER_LINE:
        options.say(f"{after:,} rows predicted.")
