"""The command to type next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricfit.cli._options import TableOptions

if TYPE_CHECKING:
    from metricfit.cli._compare import CompareOptions
    from metricfit.comparison import Comparison

NOT_REPEATED = ("cluster", "as_json")  # options of `compare` that say nothing about the next command


def after_compare(options: CompareOptions, comparison: Comparison) -> str:
    """The command that fits the recommended contender, with the options that were given; empty if there is no such contender.

    A metric that is best for a constant answer chooses nothing: then it is `compare` by another metric.
    """
    from metricfit.comparison import better_metric, fit_options

    shared = [field.name for field in fields(TableOptions) if field.name not in NOT_REPEATED]
    recommended, metric = comparison.verdict.recommended, better_metric(comparison)
    if metric is not None:
        return _join("compare", replace(options, metric=metric), [*shared, "models", "methods", "margin"], [])
    if recommended is None or recommended == comparison.constant_name:
        return ""
    contender = comparison.results[recommended].contender
    return _join("fit", options, shared, [*shlex.split(fit_options(contender, comparison.measure)), "--out", "model"])


def after_fit(folder: Path) -> str:
    """The command that predicts with the model."""
    return shlex.join(["metricfit", "predict", str(folder), "new.csv", "--out", "predictions.csv"])


def _join(name: str, options: CompareOptions, shared: Sequence[str], more: list[str]) -> str:
    """The command line with those of the shared options that differ from their defaults."""
    words, defaults = ["metricfit", name, _path(options.data)], {field.name: field.default for field in fields(options)}
    for option in shared:
        value = getattr(options, option)
        if value != defaults[option]:
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
