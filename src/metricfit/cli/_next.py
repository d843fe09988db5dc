"""The command to type next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metricfit.comparison import Comparison

SHARED = (  # options of `compare` and `fit`
    *(
        "target",
        "metric",
        "cost",
        "positive",
        "classes",
        "drop",
        "numeric",
        "categorical",
        "merge_rare",
        "drop_rare",
        "group",
        "time",
        "test",
        "keep_shared",
    ),
    *("header", "delimiter", "encoding", "folds", "repeats", "jobs", "seed"),
)


def after_compare(command: Callable[..., None], given: Mapping[str, Any], comparison: Comparison) -> str:
    """The command that fits the recommended contender, with the options that were given; empty if there is no such contender.

    A metric that is best for a constant answer chooses nothing: then it is `compare` by another metric.
    """
    from metricfit.comparison import better_metric, fit_options

    recommended, metric = comparison.verdict.recommended, better_metric(comparison)
    if metric is not None:
        return _join("compare", {**given, "metric": metric}, command, (*SHARED, "models", "methods", "margin"), [])
    if recommended is None or recommended == comparison.constant_name:
        return ""
    options = fit_options(comparison.results[recommended].contender, comparison.measure)
    return _join("fit", given, command, SHARED, [*shlex.split(options), "--out", "model"])


def after_fit(folder: Path) -> str:
    """The command that predicts with the model."""
    return shlex.join(["metricfit", "predict", str(folder), "new.csv", "--out", "predictions.csv"])


def _join(name: str, given: Mapping[str, Any], command: Callable[..., None], shared: tuple[str, ...], more: list[str]) -> str:
    """The command line with those of the shared options that differ from their defaults."""
    words, known = ["metricfit", name, _path(given["data"])], signature(command).parameters
    for option in shared:
        value = given[option]
        if value != known[option].default:
            words += _words(f"--{option.replace('_', '-')}", value)
    return shlex.join([*words, *more])


def _words(option: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [option if value else f"--no-{option[2:]}"]
    values = value if isinstance(value, list) else [value]
    return [word for one in values for word in (option, str(one))]


def _path(path: Path) -> str:
    """The path as it was given; an absolute one below the current folder is shortened."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path)
