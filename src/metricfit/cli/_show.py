"""Print results to stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from metricfit._printable import printable

if TYPE_CHECKING:
    from metricfit.comparison import Comparison
    from metricfit.comparison._statistics import Estimate


def console() -> Console:
    """A console as wide as the terminal, or 120 characters wide without one."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=120)


def show_comparison(comparison: Comparison) -> None:
    """Print the table of models and methods, and the two sentences of the verdict."""
    screen = console()
    space = " " if screen.width >= 90 else "\n"  # names of methods fit a terminal of 80 characters
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading in ("model", "method"):
        table.add_column(heading, overflow="fold")
    for heading in (comparison.metric, f"vs linear{space}threshold", "p (Holm)", "fit, s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in comparison.results.values():
        own, other = result.estimate, result.difference
        against = ["", ""] if result is comparison.reference else [_format(other, "+"), f"{result.p_holm:.3f}"]
        table.add_row(printable(result.contender.model), result.method.name, _format(own), *against, f"{result.seconds:.2f}")
    screen.print(table)
    repeats = f"{comparison.n_repeats} repeat{'s' if comparison.n_repeats > 1 else ''}"
    screen.print(f"95 % intervals; {comparison.n_splits} folds, {repeats}; seed {comparison.seed}.")
    for line in (*comparison.notes, comparison.verdict.sentence):
        for part in line.split("\n"):
            screen.print(printable(part), soft_wrap=True, markup=False)


def _format(estimate: Estimate, sign: str = "") -> str:
    """The mean and the half-width of its interval."""
    return f"{estimate.mean:{sign}.4f} ± {estimate.high - estimate.mean:.3f}"
