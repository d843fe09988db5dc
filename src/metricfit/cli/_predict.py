"""``metricfit predict``: predict labels and calibrated probabilities, in chunks of rows."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metricfit._errors import DataError, UsageError
from metricfit.cli import _options as options

if TYPE_CHECKING:
    import pyarrow as pa

    from metricfit.cli._model import Model


def predict(
    model: Annotated[Path, typer.Argument(help="Folder that `metricfit fit` wrote.", show_default=False)],
    data: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet file with the model's columns.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="Output file: .csv, .csv.gz or .parquet.", show_default="stdout, as CSV")
    ] = None,
    header: options.ModelHeader = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Predict a label and calibrated probabilities for every row.

    The label is chosen for the metric. It is not always the most probable class.
    """
    import pyarrow as pa

    from metricfit._files import check_free, new_file
    from metricfit.cli._model import open_model
    from metricfit.data import layout_of, read_chunks

    kind = _output_format(out)
    if out is not None:
        check_free(out, "pass --overwrite", overwrite)
    opened = open_model(model)
    named = opened.schema.header if header is None else header
    layout = layout_of(data, delimiter=options.parse_delimiter(delimiter), encoding=encoding, header=named)
    chunks = (prediction_table(opened, chunk, model) for chunk in read_chunks(data, layout, opened.schema))
    schema = prediction_table(opened, pa.table({}), model).schema
    if out is None:
        _write_chunks(chunks, schema, sys.stdout.buffer, kind)
        return
    with new_file(out, overwrite) as file, file.open("wb") as stream:
        n_rows = _write_chunks(chunks, schema, stream, kind)
    options.say(f"{n_rows:,} rows: {out}")


def prediction_table(model: Model, features: pa.Table, folder: Path) -> pa.Table:
    """``prediction``, and ``probability_<class>`` for every class."""
    import numpy as np
    import pyarrow as pa

    classifier = model.classifier
    names = [f"probability_{label}" for label in classifier.classes_]
    if not features.num_rows:  # the writers need names and types before the first chunk
        return pa.table({"prediction": classifier.classes_[:0], **dict.fromkeys(names, np.empty(0))})
    given: Any = features
    try:
        if not classifier.reads_frames_:
            given = np.stack([features[name].to_numpy() for name in features.column_names], 1)
        with options.ignore_warnings():
            scores, probability = classifier.scores_and_probabilities(given)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise DataError(f"The model in {folder} cannot predict these data: {error}") from error
    return pa.table({"prediction": classifier.classes_[scores.argmax(1)], **dict(zip(names, probability.T, strict=True))})


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


def _write_chunks(chunks: Iterator[pa.Table], schema: pa.Schema, stream: Any, kind: str) -> int:
    from pyarrow import csv, parquet

    n_rows, writer_of = 0, parquet.ParquetWriter if kind == "parquet" else csv.CSVWriter
    with gzip.open(stream, "wb") if kind == "csv.gz" else nullcontext(stream) as target, writer_of(target, schema) as writer:
        for chunk in chunks:
            writer.write_table(chunk)
            n_rows += chunk.num_rows
            options.show_progress(f"{n_rows:,} rows")
    options.show_progress("")
    return n_rows
