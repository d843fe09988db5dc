"""Options that several commands share, and the checks that involve more than one of them."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metricfit._errors import UsageError

if TYPE_CHECKING:
    from metricfit.data import LabelledTable, TableSchema

Target = Annotated[str | None, typer.Option(help="Column to predict: name, or number from 1.", show_default="the last column")]
MetricName = Annotated[str, typer.Option(help="Metric to optimise; `metricfit metrics` lists them.")]
Positive = Annotated[
    str | None, typer.Option(help="Positive class for f1, precision and similar metrics.", show_default="the larger label")
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to drop: name or number; can be repeated.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line is a header.", show_default="detected"),
]
ModelHeader = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line is a header.", show_default="as in the model's table"),
]
Delimiter = Annotated[str | None, typer.Option(help="Column separator.", show_default="detected")]
Encoding = Annotated[str | None, typer.Option(help="Text encoding.", show_default="detected")]
Models = Annotated[
    str | None,
    typer.Option(
        help="Models to compare, separated by commas: linear, boosting, extra_trees, mlp, ensemble.",
        show_default="linear,boosting,ensemble",
    ),
]
Folds = Annotated[int, typer.Option(min=2, help="Number of cross-validation folds.")]
Repeats = Annotated[int, typer.Option(min=1, help="Number of cross-validation repeats.")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of splits that run in parallel.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random seed.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]


MODELS = ("linear", "boosting", "extra_trees", "mlp", "ensemble")  # that have a name, from simple to complex

MOST_EXPLAINED = 200  # columns whose importance is computed


@dataclass(frozen=True)
class Inputs:
    """Data, metric and positive class of a command, after all checks."""

    name: str
    table: LabelledTable
    metric: str
    pos_label: Any
    schema: TableSchema | None  # None for the example


def read_inputs(
    path: Path,
    target: str | None,
    metric: str,
    positive: str | None,
    drop: list[str] | None,
    header: bool | None,
    delimiter: str | None,
    encoding: str | None,
) -> Inputs:
    """Read a file. Notes on stderr name everything that was detected or assumed."""
    from metricfit import data

    check_metric(metric)
    layout = data.layout_of(path, delimiter=parse_delimiter(delimiter), encoding=encoding, header=header)
    if encoding is None and not layout.encoding.startswith("utf"):
        say(f"The file is not UTF-8: read as {layout.encoding}. Pass --encoding to change this.")
    if layout.header_detected and not layout.header:
        say("The first line has numbers and is read as data; columns are numbered from 1. Pass --header if it is a header.")
    wanted = layout.names[-1] if target is None else data.column_named(target, layout.names, "--target")
    dropped = [data.column_named(name, layout.names, "--drop") for name in drop or ()]
    if wanted in dropped:
        raise UsageError(f"--drop {wanted!r} is the target, which cannot be dropped. Pass another column to --target.")
    raw, schema = data.read_table(path, layout, wanted, dropped, say)
    table = data.split_target(raw, wanted, path)
    if table.n_unlabelled:
        say(f"{table.n_unlabelled:,} rows without a value in {wanted!r} are dropped.")
    return check_inputs(path.name, table, metric, positive, schema)


def check_inputs(
    name: str, table: LabelledTable, metric: str, positive: str | None, schema: TableSchema | None = None
) -> Inputs:
    """Check metric and positive class against the labels; for more than two classes "f1" becomes "f1_macro"."""
    import numpy as np

    from metricfit import metrics
    from metricfit.data import label_like

    classes, counts = np.unique(table.labels, return_counts=True)
    label = None if positive is None else label_like(positive, classes, "--positive")
    if len(classes) > 2 and metric + "_macro" in metrics.names():
        say(f"{metric} needs two classes, got {len(classes)}: {metric}_macro, the mean over classes, is used instead.")
        metric += "_macro"
    try:
        metrics.get(metric).check_classes(len(classes))
    except ValueError as error:
        raise UsageError(f"--metric {metric} does not fit {len(classes)} classes: {error}") from error
    sizes = ", ".join(f"{one} {count:,}" for one, count in list(zip(classes, counts, strict=True))[:10])
    more = f" and {len(classes) - 10} more classes" if len(classes) > 10 else ""
    say(f"{name}: {len(table.labels):,} rows, {_describe_columns(schema, table)}; {table.target}: {sizes}{more}.")
    of_one_class = len(classes) == 2 and metric + "_macro" in metrics.names()
    if label is not None and not of_one_class:
        raise UsageError(
            f"--positive does not apply to {metric} with {len(classes)} classes. It is for two classes and metrics such as f1."
        )
    if of_one_class:
        chosen = classes.tolist()[1] if label is None else label
        say(f"The positive class for {metric} is {chosen!r}. Pass --positive to change this.")
    return Inputs(name, table, metric, label, schema)


def _describe_columns(schema: TableSchema | None, table: LabelledTable) -> str:
    """The number of columns of each type."""
    if schema is None:
        return f"{table.features.num_columns} columns"
    counts = Counter(column.type for column in schema.columns)
    words = {"number": "number", "string": "categorical or text", "boolean": "boolean", "date": "date", "time": "time of day"}
    parts = ", ".join(f"{counts[kind]} {word}" for kind, word in words.items() if counts[kind])
    return f"{len(schema.columns)} columns ({parts})"


def check_metric(metric: str) -> None:
    from metricfit import metrics
    from metricfit._checks import did_you_mean

    if metric not in metrics.names():
        near = did_you_mean(metric, metrics.names())
        raise UsageError(f"--metric {metric!r} is not a metric.{near} `metricfit metrics` lists them.")


def parse_models(given: str | None) -> list[str] | None:
    """The names in ``--models``; None stands for the default ones."""
    if given is None:
        return None
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        check_model(name, "--models", MODELS)
    if not names:
        raise UsageError(f"--models should name some of {', '.join(MODELS)}, got {given!r}.")
    return names


def check_model(name: str, option: str, known: Sequence[str]) -> None:
    """Check for a known model whose packages are installed."""
    from metricfit._checks import did_you_mean
    from metricfit._extras import require

    if name not in known:
        raise UsageError(f"{option} {name!r} is not a model.{did_you_mean(name, known)} Choose from {', '.join(known)}.")
    if name == "mlp":
        require("lightning_fabric", "train", f"{option} mlp")


def check_importance(table: LabelledTable) -> bool:
    """Whether the importance of columns is computed: every column costs a prediction of the held-out rows."""
    n_columns = table.features.num_columns
    if n_columns > MOST_EXPLAINED:
        say(f"The importance of columns is left out: there are {n_columns:,}, more than {MOST_EXPLAINED}.")
    return n_columns <= MOST_EXPLAINED


def say(line: str) -> None:
    """Print a note to stderr, since stdout is for results."""
    print(line, file=sys.stderr)


def show_progress(line: str) -> None:
    """Replace the progress line, if stderr is a terminal; an empty line removes it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Suppress warnings, which are for programmers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parse_delimiter(given: str | None) -> str | None:
    """The delimiter as one character, given as itself or by name."""
    named = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
    delimiter = named.get(given, given) if given is not None else None
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"'):
        raise UsageError(f"--delimiter should be one ASCII character, or tab, space, comma, semicolon or pipe; got {given!r}.")
    return delimiter
