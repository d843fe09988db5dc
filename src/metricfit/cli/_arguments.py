"""Read the values of options: names, columns, delimiters, workers. Errors name the option, not the Python argument."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit._errors import DataError, UsageError
from metricfit._extras import require
from metricfit._printable import did_you_mean, printable

if TYPE_CHECKING:
    from metricfit.data import Layout

MOST_EXPLAINED = 200  # columns whose importance is computed

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
