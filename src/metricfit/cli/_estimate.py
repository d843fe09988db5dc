"""A rough time before a long comparison starts. After the first split, progress gives a better one."""

from __future__ import annotations

from collections.abc import Sequence

from metricfit._progress import in_words
from metricfit.cli._options import say

LONG = 60.0  # seconds
# seconds of a split for one class on one core: fixed, and for a million cells; from `compare` on twenty tables
LINEAR, TREES = (1.0, 5.0), (1.5, 13.0)
CLASSES_POWER = 0.8


def estimate_seconds(n_rows: int, n_columns: int, n_classes: int, n_splits: int, models: Sequence[str] | None) -> float:
    """Right within a factor of about two or three: categories, text and early stopping are not known beforehand.

    >>> round(estimate_seconds(10_000, 100, 2, 10, None))
    357
    """
    cells = n_rows * n_columns / 1e6
    parts = [LINEAR] if models is not None and set(models) <= {"linear"} else [LINEAR, TREES]
    return n_splits * n_classes**CLASSES_POWER * sum(fixed + each * cells for fixed, each in parts)


def say_estimate(n_rows: int, n_columns: int, n_classes: int, n_splits: int, models: Sequence[str] | None, jobs: int) -> None:
    """Say how long it will take, if that is long."""
    seconds = estimate_seconds(n_rows, n_columns, n_classes, n_splits, models) / min(jobs, n_splits)
    if seconds > LONG:
        say(f"{n_splits} splits: roughly {in_words(seconds)}. --jobs runs splits in parallel.")
