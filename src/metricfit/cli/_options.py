"""Options that several commands share, and their checks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from metricfit._errors import UsageError
from metricfit._printable import printable
from metricfit._words import did_you_mean

Data = Annotated[
    Path,
    typer.Argument(
        help="CSV, TSV, ARFF, JSON Lines (also gzipped), Parquet or Excel file; - reads stdin.", show_default=False
    ),
]
DataFiles = Annotated[
    list[Path],
    typer.Argument(
        help="CSV, TSV, ARFF, JSON Lines (also gzipped), Parquet or Excel file; - reads stdin. Several Parquet files, a "
        "pattern such as 'part-*.parquet' or a folder of them are read in parts.",
        show_default=False,
    ),
]
Stream = Annotated[
    bool, typer.Option("--stream", help="Read a Parquet file in parts, in little memory: linear models or trees.")
]
ScratchFolder = Annotated[
    Path | None,
    typer.Option("--scratch", help="Folder for temporary files while files are read in parts.", show_default="the system's"),
]
Target = Annotated[str | None, typer.Option(help="Column to predict: name, or number from 1.", show_default="the last column")]
MetricName = Annotated[
    str | None,
    typer.Option(help="Metric to optimise; `metricfit metrics` lists them.", show_default="f1 or f1_macro"),
]
CostOption = Annotated[
    str | None,
    typer.Option(
        "--cost",
        help='Costs of wrong answers instead of a metric: "bad,good=5; good,bad=1" (true class, predicted class), or a CSV '
        "file with a row per true class and a column per predicted class.",
        show_default=False,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="Positive class for f1, precision and similar metrics.",
        show_default="the larger of two numbers, the rarer of two names",
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(help="All classes in their order, separated by commas, for metrics that need it.", show_default=False),
]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to drop: names or numbers, separated by commas.")]
Numeric = Annotated[
    list[str] | None, typer.Option(help="Columns to read as numbers; cells that are none become missing values.")
]
Categorical = Annotated[list[str] | None, typer.Option(help="Columns to read as categories, also if they hold numbers.")]
MergeRare = Annotated[
    int,
    typer.Option(
        min=0,
        help="Merge classes with fewer rows than this into one class, 'other'; into neighbours if the metric needs an order.",
        show_default=False,
    ),
]
DropRare = Annotated[int, typer.Option(min=0, help="Drop the rows of classes with fewer rows than this.", show_default=False)]
Group = Annotated[
    str | None, typer.Option(help="Column whose equal values stay together, in training or test rows.", show_default=False)
]
TimeColumn = Annotated[
    str | None,
    typer.Option("--time", help="Column of dates or numbers: train on the past, test on what follows.", show_default=False),
]
TestFile = Annotated[
    Path | None, typer.Option("--test", help="File of rows to judge by, instead of cross-validation.", show_default=False)
]
KeepShared = Annotated[
    bool, typer.Option("--keep-shared", help="Also judge the rows of --test that are rows of the training file.")
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line is a header.", show_default="detected"),
]
ModelHeader = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line is a header.", show_default="as in the model's table"),
]
Delimiter = Annotated[
    str | None, typer.Option(help="Column separator; whitespace is any number of spaces.", show_default="detected")
]
Encoding = Annotated[str | None, typer.Option(help="Text encoding.", show_default="detected")]
Models = Annotated[
    str | None,
    typer.Option(
        help="Models to compare, separated by commas: linear, boosting, extra_trees, mlp, ensemble.",
        show_default="linear,boosting,ensemble",
    ),
]
Methods = Annotated[
    str | None,
    typer.Option(
        help="Methods of the linear model and of mlp to compare, separated by commas; threshold is always compared.",
        show_default="all, for the linear model",
    ),
]
Margin = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="A simpler model is recommended if it is shown to be within this distance of the best. In units of the metric; "
        "for --cost, a share of the cost of a constant answer.",
    ),
]
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        help="Method to train by: auto, cross_entropy, threshold; for linear and mlp also the others of `metricfit compare`.",
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


def check_metric(metric: str) -> None:
    from metricfit import metrics

    try:
        metrics.get(metric)
    except ValueError as error:
        text = str(error).removeprefix("`metric` ")
        known = f"{metric!r} is not a metric.{did_you_mean(metric, metrics.names())} `metricfit metrics` lists them."
        raise UsageError(f"--metric {known if text.startswith('should') else text}") from error


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


def parse_methods(given: str | None) -> list[str] | None:
    """The names in ``--methods``; None stands for the default ones."""
    if given is None:
        return None
    from metricfit import methods

    names, known = [name.strip() for name in given.split(",") if name.strip()], methods.names()
    for name in names:
        if name not in known:
            raise UsageError(f"--methods {name!r} is not a method.{did_you_mean(name, known)} Choose from {', '.join(known)}.")
    if not names:
        raise UsageError(f"--methods should name some of {', '.join(known)}, got {given!r}.")
    return names


def check_model(name: str, option: str, known: Sequence[str]) -> None:
    """Check for a known model whose packages are installed."""
    from metricfit._extras import require

    if name not in known:
        raise UsageError(f"{option} {name!r} is not a model.{did_you_mean(name, known)} Choose from {', '.join(known)}.")
    if name == "mlp":
        require("lightning_fabric", "train", f"{option} mlp")


def check_method(name: str, model: str) -> None:
    """Check for a known method that can train the model."""
    from metricfit import methods

    if name not in methods.names():
        known = f"{did_you_mean(name, methods.names())} Choose from {', '.join(methods.names())}."
        raise UsageError(f"--method {name!r} is not a method.{known}")
    method = methods.get(name)
    if isinstance(method, methods.Method) and method.loss != "cross_entropy" and model not in ("linear", "mlp"):
        raise UsageError(f"--method {name} does not train --model {model}. Pass --model linear or --model mlp.")


def check_importance(n_columns: int) -> bool:
    """Whether the importance of columns is computed: every column costs a prediction of the held-out rows."""
    if n_columns > MOST_EXPLAINED:
        say(f"The importance of columns is left out: there are {n_columns:,}, more than {MOST_EXPLAINED}.")
    return n_columns <= MOST_EXPLAINED


def say(line: str) -> None:
    """Print a note to stderr, since stdout is for results."""
    print(printable(line), file=sys.stderr)


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


def split_names(given: Sequence[str] | None) -> list[str]:
    """The names of an option that can be repeated, separated by commas."""
    return [name.strip() for one in given or () for name in one.split(",")]


def parse_delimiter(given: str | None) -> str | None:
    """The delimiter as one character or ``\\s+``, given as itself or by name."""
    named = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
    if given in ("whitespace", r"\s+"):
        return r"\s+"
    delimiter = named.get(given, given) if given is not None else None
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"'):
        raise UsageError(
            f"--delimiter should be one ASCII character, or tab, space, whitespace, comma, semicolon or pipe; got {given!r}."
        )
    return delimiter
