"""``metricfit predict``: predict labels for a file, or for many, several at a time, here or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from metricfit._errors import ClusterError, DataError, UsageError
from metricfit.cli._options import Cluster, Delimiter, Encoding, Overwrite, parse_delimiter, say, split_names, workers

if TYPE_CHECKING:
    from metricfit.cli._predictor import Predictor
    from metricfit.data import Drift

Pair = tuple[Path, Path]  # a file, and where its predictions go


@dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """Options of ``metricfit predict``."""

    model: Annotated[
        Path, typer.Argument(help="Folder that `metricfit fit` wrote, or file of `metricfit decide`.", show_default=False)
    ]
    data: Annotated[
        list[Path],
        typer.Argument(
            help="CSV, TSV, ARFF, Parquet, JSON Lines or Excel files with the model's columns, or with scores; - is stdin.",
            show_default=False,
        ),
    ]
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output file: .csv, .csv.gz or .parquet. For several files: a folder, with one output for each of them.",
            show_default="stdout, as CSV",
        ),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Columns to copy to the output: names or numbers, separated by commas; can be repeated."),
    ] = None
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also write the calibrated probability of every class.")
    ] = False
    on_error: Annotated[
        Literal["stop", "skip"],
        typer.Option(help="What to do with a row that cannot be read: skip leaves its prediction empty."),
    ] = "stop"
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse data that differ from the training table: new categories, other numbers, more missing values.",
        ),
    ] = False
    trusted: Annotated[
        list[str] | None,
        typer.Option(
            help="Types that the model may be built from, if it has estimators of other packages: names, separated by commas.",
            show_default="none",
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether the first line is a header.", show_default="as in the model's table"
        ),
    ] = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    jobs: Annotated[int, typer.Option(min=1, help="Number of files that are predicted in parallel.")] = 1
    cluster: Cluster = None
    overwrite: Overwrite = False


def predict(options: PredictOptions) -> None:
    """Predict a label for every row.

    The label is chosen for the metric. It is not always the most probable class.
    """
    from metricfit._files import check_free
    from metricfit.cli._model import open_model, open_rule
    from metricfit.cli._predictor import Predictor, output_format, say_moved
    from metricfit.data import Drift

    into_folder = len(options.data) > 1 or options.cluster or (options.out is not None and options.out.is_dir())
    pairs = _pair_files(options.data, options.out, options.overwrite) if into_folder else []
    if not pairs:
        output_format(options.out)
        if options.out is not None:
            check_free(options.out, "pass --overwrite", options.overwrite)
    delimiter = parse_delimiter(options.delimiter)
    with workers(options.jobs, options.cluster) as n_jobs:
        if options.model.is_file():
            if options.probabilities:
                raise UsageError(
                    "--probabilities needs a model. A rule decides by the scores of your file: --keep copies them."
                )
            model = open_rule(options.model, options.data[0], delimiter, options.encoding, options.header)
        else:
            model = open_model(options.model, split_names(options.trusted))
        predictor = Predictor(model, options)
        if pairs:
            _predict_files(predictor, pairs, n_jobs)
        else:
            drift = Drift(predictor.model.schema)
            predictor.write(options.data[0], options.out, say, drift)
            say_moved(drift)


def _pair_files(files: Sequence[Path], out: Path | None, overwrite: bool) -> list[Pair]:
    """Every file with its output in the folder ``out``; an error before anything is read if one of these cannot be written."""
    from metricfit._files import check_free

    if out is None:
        raise UsageError(f"{len(files)} files need --out FOLDER, which gets one output for each of them.")
    if Path("-") in files:
        raise UsageError("- (stdin) is a file alone: pass it without other files and without --cluster.")
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file, expected a folder for the outputs of {len(files)} files.")
    inputs, outputs = {file.resolve() for file in files}, dict[Path, Path]()
    for file in files:
        target = out / output_name(file)
        if target in outputs:
            raise UsageError(f"{outputs[target]} and {file} would both be written to {target}. Pass them one after the other.")
        if target.resolve() in inputs:
            raise UsageError(f"The output {target} would replace an input. Choose another folder for --out.")
        outputs[target] = file
        check_free(target, "pass --overwrite", overwrite)
    return [(file, target) for target, file in outputs.items()]


def output_name(file: Path) -> str:
    """The name of a file's output: its own, and as CSV what cannot be written in its format.

    >>> [output_name(Path(name)) for name in ("a/may.parquet", "may.csv.gz", "may.jsonl", "may.2.tsv")]
    ['may.parquet', 'may.csv.gz', 'may.csv', 'may.2.csv']
    """
    name = file.name
    if name.lower().endswith((".parquet", ".csv", ".csv.gz")):
        return name
    return file.with_suffix("").name.removesuffix(".jsonl").removesuffix(".tsv").removesuffix(".arff") + ".csv"


@dataclass
class FileResult:
    """What a worker reports of a file: its problem, if there was one, and its notes."""

    problem: str = ""
    notes: list[str] = field(default_factory=list)
    drift: Drift | None = None


def _predict_files(predictor: Predictor, pairs: Sequence[Pair], n_jobs: int | None) -> None:
    """Write the outputs. A file that cannot be predicted leaves the others as they are; the error at the end counts them."""
    from metricfit._parallel import parallel
    from metricfit.cli._predictor import say_moved
    from metricfit.data import Drift

    pairs = [(file.absolute(), target.absolute()) for file, target in pairs]  # a worker has another working folder
    failed, drift = 0, Drift(predictor.model.schema)
    for (file, target), result in zip(pairs, parallel(_predict_file, predictor, pairs, n_jobs), strict=True):
        for note in filter(None, (*result.notes, result.problem)):
            say(note if str(file) in note or str(target) in note else f"{file}: {note}")
        if not result.problem and not target.exists():
            raise ClusterError(f"{target} was written by a worker, but is not here: --out should be on a disk that all share.")
        if result.drift is not None:
            drift.join(result.drift)
        failed += bool(result.problem)
    say_moved(drift)
    if failed:
        folder = pairs[0][1].parent
        raise DataError(f"{failed} of {len(pairs)} files could not be predicted, see above. The others are in {folder}.")


def _predict_file(predictor: Predictor, file: Path, target: Path) -> FileResult:
    from metricfit.data import Drift

    result, drift = FileResult(), Drift(predictor.model.schema)
    try:
        predictor.write(file, target, result.notes.append, drift, progress=False)
        result.drift = drift
    except (DataError, UsageError, OSError) as error:
        result.problem = str(error)
    return result
