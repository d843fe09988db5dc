"""Options that several commands share, and what they mean together."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metricfit._errors import UsageError

if TYPE_CHECKING:
    from metricfit.data import Known, Task

Target = Annotated[
    str | None, typer.Option(help="Column to predict, by name or by number from 1.", show_default="the last column")
]
MetricName = Annotated[str, typer.Option(help="What the model is judged by; `metricfit metrics` lists them.")]
Positive = Annotated[
    str | None, typer.Option(help="Class that f1, precision and the like are about.", show_default="the larger of two")
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out, by name or number; can be repeated.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns.", show_default="found out"),
]
Delimiter = Annotated[str | None, typer.Option(help="What parts the cells of a line.", show_default="found out")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the text.", show_default="found out")]
Folds = Annotated[int, typer.Option(min=2, help="Parts of the data; each is held out once.")]
Repeats = Annotated[int, typer.Option(min=1, help="How often the data are cut anew.")]
Jobs = Annotated[int, typer.Option(min=1, help="Splits worked on at the same time.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same result.")]
AsJson = Annotated[bool, typer.Option("--json", help="Results as JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over a file that exists.")]


@dataclass(frozen=True)
class Given:
    """The data and the metric of a command, read and checked."""

    name: str
    task: Task
    metric: str
    positive: Any
    known: Known | None  # of the file's columns


def read(
    path: Path,
    target: str | None,
    metric: str,
    positive: str | None,
    drop: list[str] | None,
    header: bool | None,
    delimiter: str | None,
    encoding: str | None,
) -> Given:
    """The table of a file. What was found out or assumed is said on stderr."""
    from metricfit import data

    check_metric(metric)
    layout = data.layout_of(path, delimiter=delimiter_of(delimiter), encoding=encoding, header=header)
    if encoding is None and not layout.encoding.startswith("utf"):
        say(f"The file is not UTF-8: read as {layout.encoding} (--encoding names another).")
    if not layout.told and not layout.header:
        say("The first line holds numbers, so it is taken for data and columns are numbered from 1 (--header says otherwise).")
    wanted = layout.names[-1] if target is None else data.column_named(target, layout.names, "--target")
    dropped = [data.column_named(name, layout.names, "--drop") for name in drop or ()]
    if wanted in dropped:
        raise UsageError(f"--drop {wanted!r} is the target.")
    table, known = data.read_table(path, layout, wanted, dropped, say)
    task = data.task_of(table, wanted, path)
    if task.without_label:
        say(f"{task.without_label:,} rows without a value in {wanted!r} are left out.")
    return given(path.name, task, metric, positive, known)


def given(name: str, task: Task, metric: str, positive: str | None, known: Known | None = None) -> Given:
    """Metric and positive class as they fit the classes there are."""
    import numpy as np

    from metricfit import metrics
    from metricfit.data import label_like

    classes, counts = np.unique(task.labels, return_counts=True)
    label = None if positive is None else label_like(positive, classes, "--positive")
    if len(classes) > 2 and metric + "_macro" in metrics.names():
        say(f"{metric} is about one class of two, and there are {len(classes)}: taking {metric}_macro, the mean over classes.")
        metric += "_macro"
    try:
        metrics.get(metric).check_classes(len(classes))
    except ValueError as error:
        raise UsageError(f"--metric {metric} does not fit {len(classes)} classes: {error}") from error
    sizes = ", ".join(f"{one} {count:,}" for one, count in list(zip(classes, counts, strict=True))[:10])
    more = f" and {len(classes) - 10} more classes" if len(classes) > 10 else ""
    say(f"{name}: {len(task.labels):,} rows, {_kinds(known, task)}; {task.target}: {sizes}{more}.")
    of_one_class = len(classes) == 2 and metric + "_macro" in metrics.names()
    if label is not None and not of_one_class:
        raise UsageError(
            f"--positive is for metrics of one class of two, such as f1: {metric} of {len(classes)} classes has none."
        )
    if of_one_class:
        chosen = classes.tolist()[1] if label is None else label
        say(f"{metric} is that of class {chosen!r} (--positive says otherwise).")
    return Given(name, task, metric, label, known)


def _kinds(known: Known | None, task: Task) -> str:
    """What the columns are taken for."""
    if known is None:
        return f"{task.features.num_columns} columns"
    counts = Counter(column.type for column in known.columns)
    words = {
        "number": "number",
        "string": "category or text",
        "boolean": "true or false",
        "date": "date",
        "time": "time of day",
    }
    return (
        f"{len(known.columns)} columns ({', '.join(f'{counts[kind]} {word}' for kind, word in words.items() if counts[kind])})"
    )


def check_metric(metric: str) -> None:
    from metricfit import metrics
    from metricfit._checks import did_you_mean

    if metric not in metrics.names():
        near = did_you_mean(metric, metrics.names())
        raise UsageError(f"--metric {metric!r} is not known.{near} `metricfit metrics` lists them.")


def say(line: str) -> None:
    """Something a user may want to know, beside the results."""
    print(line, file=sys.stderr)


def tell(line: str) -> None:
    """How far something has come, on a terminal; each such line takes the place of the one before, the last being empty."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings that are meant for programmers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def delimiter_of(given: str | None) -> str | None:
    """One character, from itself or its name."""
    named = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
    delimiter = named.get(given, given) if given is not None else None
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"'):
        raise UsageError(f"--delimiter {given!r} should be one character, or tab, space, comma, semicolon or pipe.")
    return delimiter
