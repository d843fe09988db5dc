"""How far a fit has come: a bar on stderr for whoever asks for it."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from metricfit._extras import is_installed


class Progress:
    """Says nothing. The bar below is the same with a voice."""

    def start(self, total: int) -> None:
        """How many steps there will be."""

    def step(self, stage: str, value: float | None) -> None:
        """One step of a stage is done; the metric stands at ``value``."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Take the bar away, also when a fit is interrupted."""


class Bar(Progress):
    """A bar with how many steps of how many, time left, stage and, where a metric has a name, how it stands."""

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
        shown: dict[str, Any] = {} if value is None else {"metric": f"{self.name} {value:.4f}"}
        self.bars.update(self.task, advance=1, description=stage, **shown)

    def __enter__(self) -> Progress:
        self.bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bars.stop()


class Lines(Progress):
    """A line on stderr for every step, where stderr is a file and a bar would not be seen before the end."""

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
