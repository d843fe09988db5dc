"""Print results to stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from metricfit._printable import printable_lines, shorten

if TYPE_CHECKING:
    from metricfit.comparison import Comparison, Estimate, Result

WIDE = 110  # characters, for the intervals of differences
MAX_LETTERS = 30  # of the name of a model in the table
MAX_HEAD = 23  # letters of the name of a metric: as many as its cells have


def console() -> Console:
    """A console as wide as the terminal, or 120 characters wide without one."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=120)


def show_comparison(comparison: Comparison, next_command: str = "") -> None:
    """Print the table of models and methods, how rows were held out, notes, warnings, the verdict and a command."""
    screen = console()
    screen.print(_comparison_table(comparison, screen.width))
    first = comparison.evaluation[:1].upper() + comparison.evaluation[1:]
    lines = [f"{first}; {_about_intervals(comparison)}seed {comparison.seed}.", *comparison.notes]
    lines += [*(f"Warning: {warning}" for warning in comparison.warnings), comparison.verdict.sentence]
    for line in filter(None, (*lines, next_command and f"Next: {next_command}")):
        # whole lines for a file, whole words for a terminal; a command stays in one piece, so that it can be copied
        screen.print(_plain(line), soft_wrap=not screen.is_terminal or line.startswith("Next: "))


def _comparison_table(comparison: Comparison, width: int) -> RichTable:
    """The table; a narrow one has no intervals of differences, and folds long names."""
    from metricfit.comparison import metric_title, shown_estimate

    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("model", overflow="fold")
    table.add_column("method", overflow="fold", min_width=len("cross_entropy"))  # long models leave methods in one line
    against = "vs linear threshold" if width >= WIDE else "vs linear\nthreshold"
    metric = metric_title(comparison.metric, comparison.measure)
    for heading in (shorten(metric, MAX_HEAD), against, "p (Holm)", "fit, s"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    for result in comparison.results.values():
        other = result.difference
        cells = [_with_interval(other, "+") if width >= WIDE else f"{other.mean:+.4f}", _p(result)]
        if result is comparison.reference:
            cells = ["", ""]
        names = shorten(result.contender.model, MAX_LETTERS), _method(comparison, result)
        score = _with_interval(shown_estimate(comparison.measure, result.estimate))
        table.add_row(*map(_plain, (*names, score, *cells, f"{result.seconds:.2f}")))
    return table


def _plain(text: str) -> Text:
    """Text without markup, and with escapes for control characters."""
    return Text(printable_lines(text))


def _method(comparison: Comparison, result: Result) -> str:
    """The name of the method; of a constant answer what it answers."""
    is_constant = result.contender.name == comparison.constant_name
    return comparison.constant_title if is_constant else result.method.name


def _about_intervals(comparison: Comparison) -> str:
    return "95 % intervals; " if comparison.reference.estimate.known else "too few scores for intervals; "


def _with_interval(estimate: Estimate, sign: str = "") -> str:
    """The mean and its interval, if there is one."""
    mean = f"{estimate.mean:{sign}.4f}"
    return f"{mean} ({estimate.low:{sign}.3f} to {estimate.high:{sign}.3f})" if estimate.known else mean


def _p(result: Result) -> str:
    from metricfit.comparison import p_in_words

    return p_in_words(result.difference.p_holm) if result.difference.is_tested else "-"
