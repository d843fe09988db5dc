"""Options of ``compare`` and ``fit``, what options have in common, and their checks.

The options of a command are the fields of one dataclass, which travels through the command. :func:`as_command` makes them
known to typer.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from metricfit._errors import DataError, UsageError
from metricfit._printable import did_you_mean, printable

if TYPE_CHECKING:
    from metricfit.data import Layout

MODELS = ("linear", "boosting", "extra_trees", "mlp", "ensemble")  # that have a name, from simple to complex
FORMATS = "CSV, TSV, ARFF, JSON Lines (also gzipped), Parquet or Excel file; - reads stdin."
MOST_EXPLAINED = 200  # columns whose importance is computed

MetricName = Annotated[
    str | None, typer.Option(help="Metric to optimise; `metricfit metrics` lists them.", show_default="f1 or f1_macro")
]
Costs = Annotated[
    str | None,
    typer.Option(
        help='Costs of wrong answers instead of a metric: "bad,good=5; good,bad=1" (true class, predicted class), or a '
        "CSV file with a row per true class and a column per predicted class."
    ),
]
Constraints = Annotated[str | None, typer.Option(help='Constraints, such as "precision >= 0.9 and recall[fraud] >= 50%".')]
Confidence = Annotated[float | None, typer.Option(help="Promise the constraints with this probability, such as 0.9.")]
Calibration = Annotated[
    float | None,
    typer.Option(
        help="Share of rows held out to set the rule for the constraints, such as 0.25. Makes the promise exact.",
        show_default="out-of-fold scores set it",
    ),
]
Fallback = Annotated[
    Literal["best"] | None,
    typer.Option(
        help="What to do if the constraints cannot be kept: best uses the best limits that can be promised.",
        show_default="nothing is written",
    ),
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first line is a header.", show_default="detected")
]
Delimiter = Annotated[
    str | None, typer.Option(help="Column separator. whitespace is any number of spaces.", show_default="detected")
]
Encoding = Annotated[str | None, typer.Option(help="Text encoding.", show_default="detected")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of splits that run in parallel.")]
Cluster = Annotated[
    str | None,
    typer.Option(help="Scheduler of a Dask cluster to run on, such as tcp://host:8786.", show_default="this machine"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]

_ABOUT_DATA = ("`scores`", "`y`", "`sample_weight`", "`groups`", "`costs`")  # how errors about the contents of the file begin
_OF_ONE_NAME = re.compile(  # arguments whose options have their names
    r"`(abstain|abstain_cost|abstain_label|adapt|budget|calibration|classes|confidence|fallback|methods|metric|models|pos_label|"
    r"subject_to|test|time|time_limit)`"
)
_IN_OPTIONS = {  # what else an error calls an argument, and its option
    r"`class_order`|class_order": "--classes",
    r"`sample_weight`": "--weight",
    r"`groups`": "--group",
    r"`shares`|`?for_prevalence`?": "--prevalence",
    r"`costs`": "The costs",
    r"`scores`": "The scores",
    r"`y`": "The target",
    r"kind='(\w+)'": r"--kind \1",
    r"fallback='best'": "--fallback best",
    r"calibration=": "--calibration ",
}


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Options of ``compare`` and ``fit``: the columns, the metric, which rows are held out, and where the work runs."""

    target: Annotated[
        str | None, typer.Option(help="Column to predict: name, or number from 1.", show_default="the last column")
    ] = None
    metric: MetricName = None
    cost: Costs = None
    subject_to: Constraints = None
    confidence: Confidence = None
    calibration: Calibration = None
    positive: Annotated[
        str | None,
        typer.Option(
            help="Positive class for f1, precision and similar metrics.",
            show_default="the larger of two numbers, or the rarer of two names",
        ),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(help="All classes in order, separated by commas, for metrics that need it."),
    ] = None
    drop: Annotated[list[str] | None, typer.Option(help="Columns to drop: names or numbers, separated by commas.")] = None
    numeric: Annotated[
        list[str] | None, typer.Option(help="Columns to read as numbers. Cells that are not numbers become missing values.")
    ] = None
    categorical: Annotated[
        list[str] | None, typer.Option(help="Columns to read as categories, even if they contain numbers.")
    ] = None
    merge_rare: Annotated[
        int,
        typer.Option(
            min=0,
            help="Merge classes with fewer rows than this into one class, 'other'; into neighbours if the metric needs an "
            "order.",
            show_default=False,
        ),
    ] = 0
    drop_rare: Annotated[
        int, typer.Option(min=0, help="Drop the rows of classes with fewer rows than this.", show_default=False)
    ] = 0
    group: Annotated[
        str | None,
        typer.Option(help="Column of groups: rows with the same value stay together, in the training or in the test rows."),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(help="Column of dates or numbers: train on the past, test on the future."),
    ] = None
    test: Annotated[Path | None, typer.Option(help="File of test rows, instead of cross-validation.")] = None
    keep_shared: Annotated[
        bool, typer.Option("--keep-shared", help="Also score rows of --test that occur in the training file.")
    ] = False
    header: Header = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    folds: Annotated[int, typer.Option(min=2, help="Number of cross-validation folds.")] = 5
    repeats: Annotated[int, typer.Option(min=1, help="Number of cross-validation repeats.")] = 2
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Time limit in seconds for each fit of the ensemble, such as 60, which it uses to train more members. There "
            "is one fit per split (10 by default), and `fit` adds one for all rows, so 60 takes about 11 minutes."
        ),
    ] = None
    jobs: Jobs = 1
    cluster: Cluster = None
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random seed.")] = 0
    as_json: AsJson = False


def as_command(function: Callable[[Any], None]) -> Callable[..., None]:
    """The function as typer takes it: the fields of its argument, a dataclass, are the options of the command."""
    (name,) = inspect.signature(function).parameters
    options = get_type_hints(function)[name]
    types = get_type_hints(options, include_extras=True)

    def command(**values: Any) -> None:
        function(options(**values))

    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=types[field.name],
        )
        for field in fields(options)
    ]
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__, command.__annotations__ = inspect.Signature(parameters), types  # type: ignore[attr-defined]
    return command


def as_options(text: str) -> str:
    """A sentence with options instead of the arguments of Python.

    >>> as_options("Pass calibration=0.25 for an exact one.")
    'Pass --calibration 0.25 for an exact one.'
    """
    text = _OF_ONE_NAME.sub(lambda found: f"--{found[1].replace('_', '-')}", text)
    for argument, option in _IN_OPTIONS.items():
        text = re.sub(argument, option, text)
    return text


@contextmanager
def in_options(where: str = "") -> Iterator[None]:
    """Turn an error about arguments into one about options, or about the file if its contents are wrong."""
    try:
        yield
    except (UsageError, DataError):
        raise
    except ValueError as error:
        text, about_data = as_options(str(error)), str(error).startswith(_ABOUT_DATA)
        raise (DataError(f"{where}{text}") if about_data else UsageError(text)) from error


def parse_names(text: str | None, option: str, what: str, known: Sequence[str]) -> list[str] | None:
    """The names in an option, separated by commas; None stands for the default ones."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError(f"{option} should name some of {', '.join(known)}, got {text!r}.")
    for name in names:
        check_name(name, option, what, known)
    return names


def check_name(name: str, option: str, what: str, known: Sequence[str]) -> None:
    """Check for a known name, and for a model that its packages are installed."""
    from metricfit._extras import require

    if name not in known:
        raise UsageError(f"{option} {name!r} is not a {what}.{did_you_mean(name, known)} Choose from {', '.join(known)}.")
    if what == "model" and name == "mlp":
        require("lightning_fabric", "train", f"{option} mlp")


def changed(options: Any, names: Iterable[str]) -> dict[str, Any]:
    """Those of the named options that differ from their defaults."""
    defaults = {field.name: field.default for field in fields(options)}
    return {name: value for name in names if (value := getattr(options, name)) != defaults[name]}


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


def split_names(values: Sequence[str] | None) -> list[str]:
    """The names of an option that can be repeated, separated by commas."""
    return [name.strip() for one in values or () for name in one.split(",")]


def find_columns(values: Sequence[str] | None, names: Sequence[str], option: str) -> list[str]:
    """The columns of an option that can be repeated, by name or number; a column whose name has commas is given alone."""
    from metricfit.data import column_named

    texts = [text for one in values or () for text in ([one] if one in names else split_names([one]))]
    return [column_named(text, names, option) for text in texts if text]


def find_layout(path: Path, options: Any, header: bool | None = None) -> Layout:
    """The layout of a file, by the options of a command; ``header`` is for a command without that option."""
    from metricfit.data import layout_of

    header = header if options.header is None else options.header
    return layout_of(path, delimiter=parse_delimiter(options.delimiter), encoding=options.encoding, header=header)


def announced_layout(path: Path, options: Any) -> Layout:
    """The layout of a file; notes on stderr name everything that was detected."""
    layout = find_layout(path, options)
    for note in layout.notes:
        say(note)
    return layout


def file_name(path: Path) -> str:
    """The name of the file; bytes of it that are not text are escapes, because reports are UTF-8."""
    return "stdin" if str(path) == "-" else os.fsencode(path.name).decode("utf-8", "backslashreplace")


def parse_delimiter(text: str | None) -> str | None:
    """The delimiter as one character or ``\\s+``, given as itself or by name."""
    named = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
    if text in ("whitespace", r"\s+"):
        return r"\s+"
    delimiter = named.get(text, text) if text is not None else None
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"'):
        raise UsageError(
            f"--delimiter should be one ASCII character, or tab, space, whitespace, comma, semicolon or pipe; got {text!r}."
        )
    return delimiter


@contextmanager
def workers(jobs: int, cluster: str | None, one_thread: bool = False) -> Iterator[int | None]:
    """Yield the ``n_jobs`` of everything that runs meanwhile: ``--jobs``, or None for all threads of the cluster.

    An estimator with ``n_jobs=None`` takes them too.
    """
    if cluster is None:
        from joblib import parallel_config

        with parallel_config(n_jobs=jobs):
            yield jobs
        return
    if jobs != 1:
        raise UsageError(
            f"--jobs {jobs} and --cluster cannot be combined: a cluster runs as many tasks at once as it has threads."
        )
    from metricfit._cluster import connected

    with connected(cluster, one_thread) as client:
        threads = client.nthreads()
        say(f"Cluster {cluster}: {len(threads)} workers with {sum(threads.values())} threads.")
        yield None
