"""Results on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from metricfit.methods import BASELINE

if TYPE_CHECKING:
    from metricfit.comparison import Comparison
    from metricfit.comparison._statistics import Estimate


def console() -> Console:
    """As wide as the terminal, or wide enough for all where there is none."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=120)


def show_comparison(comparison: Comparison) -> None:
    """The table and the sentence."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method")
    for heading in (comparison.metric, f"to {BASELINE}", "p (Holm)", "fit, s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, result in comparison.results.items():
        own, other = result.estimate, result.difference
        against = ["", ""] if name == BASELINE else [_shown(other, "+"), f"{result.p_holm:.3f}"]
        table.add_row(name, _shown(own), *against, f"{result.seconds:.2f}")
    screen = console()
    screen.print(table)
    often = {1: "once", 2: "twice"}.get(comparison.n_repeats, f"{comparison.n_repeats} times")
    screen.print(f"95 % intervals; {comparison.n_splits} folds, {often}; seed {comparison.seed}.")
    screen.print(comparison.verdict.sentence, soft_wrap=True)


def _shown(estimate: Estimate, sign: str = "") -> str:
    """The mean, and how far the interval reaches to either side."""
    return f"{estimate.mean:{sign}.4f} ± {estimate.high - estimate.mean:.3f}"
