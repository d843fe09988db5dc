"""``metricfit predict``: predict labels for a file, or for many."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from metricfit._errors import UsageError
from metricfit.cli import _options as options
from metricfit.cli._workers import Cluster, workers


def predict(
    model: Annotated[Path, typer.Argument(help="Folder that `metricfit fit` wrote.", show_default=False)],
    data: Annotated[
        list[Path],
        typer.Argument(
            help="CSV, TSV, ARFF, Parquet, JSON Lines or Excel files with the model's columns; - is stdin.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output file: .csv, .csv.gz or .parquet. For several files: a folder, with one output for each of them.",
            show_default="stdout, as CSV",
        ),
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
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse data that differ from the training table: new categories, other numbers, more missing values.",
        ),
    ] = False,
    trusted: Annotated[
        list[str] | None,
        typer.Option(
            help="Types that the model may be built from, if it has estimators of other packages: names, separated by commas.",
            show_default="none",
        ),
    ] = None,
    header: options.ModelHeader = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of files that are predicted in parallel.")] = 1,
    cluster: Cluster = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Predict a label for every row.

    The label is chosen for the metric. It is not always the most probable class.
    """
    from metricfit._files import check_free
    from metricfit.cli._model import open_model
    from metricfit.cli._predict_files import pair_files, predict_files
    from metricfit.cli._prediction import Prediction, output_format, say_moved
    from metricfit.data import Drift

    pairs = pair_files(data, out, overwrite) if len(data) > 1 or cluster or (out is not None and out.is_dir()) else []
    targets: list[Path | None] = [target for _, target in pairs] if pairs else [out]
    for target in targets:
        if output_format(target) == "parquet" and safe_csv:
            raise UsageError(f"--safe-csv is for CSV files, got --out {target}.")
    if not pairs and out is not None:
        check_free(out, "pass --overwrite", overwrite)
    separator = options.parse_delimiter(delimiter)
    wanted = (tuple(keep or ()), probabilities, on_error == "skip", safe_csv, header, separator, encoding, strict)
    with workers(jobs, cluster) as n_jobs:
        prediction = Prediction(open_model(model, options.split_names(trusted)), model, *wanted)
        if pairs:
            predict_files(prediction, pairs, n_jobs, overwrite)
        else:
            drift = Drift(prediction.model.schema)
            prediction.write(data[0], out, overwrite, options.say, drift)
            say_moved(drift, options.say)
