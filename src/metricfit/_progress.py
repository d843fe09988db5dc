"""Progress reporters that print to stderr."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from metricfit._extras import is_installed

LONG = 30.0  # seconds: if more remain after the first split, a line says so


class Progress:
    """No-op base class; `Bar` and `Lines` print."""

    def announce(self, line: Callable[[], str]) -> None:
        """Report how long it will take, if ``line`` has words for it; it is not called where nobody reads it."""

    def start(self, total: int) -> None:
        """Set the number of steps."""

    def step(self, stage: str, value: float | None) -> None:
        """Report one finished step of a stage, and the metric's current value if it is known."""

    def split_done(self, n_done: int, n_splits: int, n_jobs: int = 1) -> None:
        """Report a finished split of a comparison; ``n_jobs`` of them run at once."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop printing, also after an error."""


class Bar(Progress):
    """A progress bar with steps, remaining time, stage and the value of the metric called ``name``."""

    def __init__(self, name: str = "", transient: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Rich

        columns: list[Any] = [BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
        texts = TextColumn("{task.description}"), TextColumn("{task.fields[metric]}")
        self.bars = Rich(*columns, *texts, console=Console(stderr=True), transient=transient)
        self.name = name

    def announce(self, line: Callable[[], str]) -> None:
        if text := line():
            self.bars.console.print(text, highlight=False, markup=False)

    def start(self, total: int) -> None:
        self.task, self.begin = self.bars.add_task("starting", total=total, metric=""), time.monotonic()

    def step(self, stage: str, value: float | None) -> None:
        metric: dict[str, Any] = {} if value is None else {"metric": f"{self.name} {value:.4f}"}
        self.bars.update(self.task, advance=1, description=stage, **metric)

    def split_done(self, n_done: int, n_splits: int, n_jobs: int = 1) -> None:
        if n_done == 1:
            self.announce(lambda: remaining_time(time.monotonic() - self.begin, n_splits, n_jobs))

    def __enter__(self) -> Progress:
        self.bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bars.stop()


class Lines(Progress):
    """One line per step or, with ``by_split``, per split of a comparison, where a bar would appear only at the end."""

    def __init__(self, name: str = "", by_split: bool = False) -> None:
        self.name, self.by_split = name, by_split

    def announce(self, line: Callable[[], str]) -> None:
        if text := line():
            print(text, file=sys.stderr, flush=True)

    def start(self, total: int) -> None:
        self.total, self.done, self.begin = total, 0, time.monotonic()

    def step(self, stage: str, value: float | None) -> None:
        self.done += 1
        metric = "" if value is None else f", {self.name} {value:.4f}"
        if not self.by_split:
            print(f"{self.done} of {self.total}: {stage}{metric}", file=sys.stderr, flush=True)

    def split_done(self, n_done: int, n_splits: int, n_jobs: int = 1) -> None:
        if self.by_split:
            seconds = time.monotonic() - self.begin
            estimate = remaining_time(seconds, n_splits, n_jobs) if n_done == 1 else ""
            line = estimate or f"Split {n_done} of {n_splits} is done, after {in_words(seconds)}."
            print(line, file=sys.stderr, flush=True)


def remaining_time(seconds: float, n_splits: int, n_jobs: int = 1) -> str:
    """A sentence after the first split, if it is long until the last one; else nothing.

    >>> remaining_time(14.0, 10)
    'The first of 10 splits took 14 s: about 2 minutes remain.'
    >>> remaining_time(3.0, 10)
    ''
    """
    remaining = seconds * (math.ceil(n_splits / n_jobs) - 1)
    if remaining <= LONG:
        return ""
    return f"The first of {n_splits} splits took {in_words(seconds)}: about {in_words(remaining)} remain."


def in_words(seconds: float) -> str:
    """
    >>> in_words(0.4), in_words(89.0), in_words(100.0), in_words(9000.0)
    ('0 s', '89 s', '2 minutes', '2.5 hours')
    """
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} minutes" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} hours"


def bar_or_lines(name: str = "", *, by_split: bool = False) -> Progress:
    """A bar on a terminal; elsewhere lines without control characters, of each step or, with ``by_split``, of each split.

    A bar needs rich. The bar of a comparison disappears at the end, because the results follow.
    """
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")
    if is_installed("rich") and (is_terminal or _is_notebook()):
        return Bar(name, transient=by_split)
    return Lines(name, by_split)


def _is_notebook() -> bool:
    """Whether rich draws in a notebook, whose stderr is not a terminal."""
    from rich.console import Console

    return "ipykernel" in sys.modules and Console().is_jupyter
