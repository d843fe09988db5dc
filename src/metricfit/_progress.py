"""Progress reporters that print to stderr."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from metricfit._extras import is_installed


class Progress:
    """No-op base class; `Bar` and `Lines` print."""

    def start(self, total: int) -> None:
        """Set the number of steps."""

    def step(self, stage: str, value: float | None) -> None:
        """Report one finished step of a stage, and the metric's current value if it is known."""

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

    def start(self, total: int) -> None:
        self.task = self.bars.add_task("starting", total=total, metric="")

    def step(self, stage: str, value: float | None) -> None:
        metric: dict[str, Any] = {} if value is None else {"metric": f"{self.name} {value:.4f}"}
        self.bars.update(self.task, advance=1, description=stage, **metric)

    def __enter__(self) -> Progress:
        self.bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bars.stop()


class Lines(Progress):
    """One line per step, for a stderr that is not a terminal, where a bar would appear only at the end."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def start(self, total: int) -> None:
        self.total, self.done = total, 0

    def step(self, stage: str, value: float | None) -> None:
        self.done += 1
        metric = "" if value is None else f", {self.name} {value:.4f}"
        print(f"{self.done} of {self.total}: {stage}{metric}", file=sys.stderr, flush=True)


def bar_or_lines(name: str) -> Progress:
    """A bar, or lines where rich is not installed."""
    return Bar(name) if is_installed("rich") else Lines(name)
