"""What ``leaky-rates`` shows: errors at the chosen rate, folds that are stuck, and gains with corrected intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reproductions._claims import Claim, claim, mean_with_interval
from reproductions._experiment import Numbers, Results
from reproductions._figure import empty_figure
from reproductions._markdown import mean_and_std, table
from reproductions._ranks import wilcoxon
from reproductions._results import differences, distinct_values, matching
from reproductions.leaky_2019 import published, tabular
from reproductions.leaky_2019._curves import COLOURS, STUCK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WARM = "EErr after NegLog"
PAIRS = (("LEErr", "EErr"), ("LEErr", "NegLog"), ("EErr", "NegLog"), (WARM, "EErr"), (WARM, "NegLog"), ("LEErr", WARM))
TICKS = (4, 5, 6, 7, 8, 10, 14, 16, 18, 20, 22, 24, 26, 30, 40, 60, 90)  # of the figure, in percent
Fold = tuple[int, int]  # repetition and fold


def summary(found: Results) -> str:
    sets = distinct_values(found, "set")
    methods = distinct_values(found, "method")
    rows, stuck = [], []
    for name in sets:
        for method in methods:
            runs = runs_of(found, name, method)
            errors = chosen_errors(found, name, method)
            rates = [choose(run)["rate"] for run in runs.values()]
            few = mean_and_std(list(chosen_errors(found, name, method, tabular.RATES).values())) if _is_table(name) else "—"
            n_stuck = f"{len(stuck_folds(found, name, method))} of {len(runs)}"
            rows.append(
                [name, method, _reported(name, method), few, mean_and_std(list(errors.values())), n_stuck, _span(rates)]
            )
        stuck.append([name, *_stuck_by_rate(found, name)])
    heads = ["set", "loss", "paper", "ours, three rates", "ours, all rates", "stuck folds", "rates chosen"]
    gained = [[name, *(_gain(found, name, method, base) for method, base in PAIRS)] for name in sets]
    if len(known := [name for name in sets if _is_table(name)]) > 1:
        gained.append(["p over the tables, Wilcoxon", *(_p_over_sets(found, known, *pair) for pair in PAIRS)])
    gain_heads = ["set", *(f"{method} over {base}" for method, base in PAIRS)]
    epochs = [numbers["epochs"] for cell, numbers in found if _is_table(str(cell["set"]))]
    capped = sum(one >= tabular.MOST_EPOCHS for one in epochs)
    return (
        f"## Error on test, %\n\n{table(heads, rows)}\n\n"
        "The rate is the best on development, from three rates as in `leaky-tabular` or from all rates of the grid. A fold "
        f"is stuck if its error is more than {STUCK:g} points above that of NegLog.\n\n"
        f"## Stuck folds of EErr by rate\n\n{table(['set', 'rate: stuck folds'], stuck)}\n\n"
        f"## Gains in points, at the chosen rates (95 % interval)\n\n{table(gain_heads, gained)}\n\n"
        "Intervals of the tables are Nadeau and Bengio's, because folds share training rows. Those of MNIST are over folds "
        f"that share one test part. {capped} of {len(epochs)} runs on tables were ended at {tabular.MOST_EPOCHS} epochs "
        "rather than by patience. Five tables cannot have a p below 0.063.\n"
    )


def runs_of(found: Results, name: str, method: str) -> dict[Fold, list[Numbers]]:
    """By fold, one entry per rate."""
    runs: dict[Fold, list[Numbers]] = {}
    for cell, numbers in matching(found, set=name, method=method):
        runs.setdefault((int(cell["seed"]), int(cell["fold"])), []).append(numbers)
    return runs


def choose(run: list[Numbers], rates: tuple[float, ...] = ()) -> Numbers:
    """The best rate on development, of several the one with the least training loss; of these rates only, if any are given.

    >>> errors = {0.03: 5.0, 0.1: 4.0, 1.0: 4.0}
    >>> choose([{"rate": rate, "development_error": error, "surrogate": rate} for rate, error in errors.items()])["rate"]
    0.1
    """
    known = [one for one in run if not rates or one["rate"] in rates]
    return min(known or run, key=lambda one: (one["development_error"], one["surrogate"]))


def chosen_errors(found: Results, name: str, method: str, rates: tuple[float, ...] = ()) -> dict[Fold, float]:
    return {fold: choose(run, rates)["test_error"] for fold, run in runs_of(found, name, method).items()}


def stuck_folds(found: Results, name: str, method: str) -> list[Fold]:
    base = chosen_errors(found, name, "NegLog")
    return [fold for fold, error in chosen_errors(found, name, method).items() if error > base[fold] + STUCK]


def gains(found: Results, name: str, method: str, base: str) -> list[float]:
    """How many errors less, in points, on each fold."""
    ours, theirs = (chosen_errors(found, name, one) for one in (method, base))
    return differences(list(theirs.values()), [ours[fold] for fold in theirs])


def _stuck_by_rate(found: Results, name: str) -> list[str]:
    base, counts = chosen_errors(found, name, "NegLog"), dict[float, int]()
    for fold, run in runs_of(found, name, "EErr").items():
        for one in run:
            counts[one["rate"]] = counts.get(one["rate"], 0) + (one["test_error"] > base[fold] + STUCK)
    return [", ".join(f"{rate:g}: {count}" for rate, count in counts.items())]


def _gain(found: Results, name: str, method: str, base: str) -> str:
    return mean_with_interval(gains(found, name, method, base), tabular.TEST_SHARE if _is_table(name) else 0.0)


def _p_over_sets(found: Results, sets: list[str], method: str, base: str) -> str:
    return f"{wilcoxon([float(np.mean(gains(found, name, method, base))) for name in sets]):.3f}"


def _is_table(name: str) -> bool:
    return name in published.SETS


def _reported(name: str, method: str) -> str:
    return "{:.2f} ± {:.2f}".format(*published.tabular_error(name, method)) if _is_table(name) and method != WARM else "—"


def _span(rates: list[float]) -> str:
    ends = f"{min(rates):g}", f"{max(rates):g}"
    return " … ".join(dict.fromkeys(ends))


def claims(found: Results) -> list[Claim]:
    """LEErr over EErr on the tables, each at its best rate, as in Table 3."""
    return [
        claim(
            f"LEErr over EErr, accuracy, {name}, rates from a wide grid",
            published.tabular_error(name, "EErr")[0] - published.tabular_error(name, "LEErr")[0],
            gains(found, name, "LEErr", "EErr"),
            tabular.runs_of(name, len(gains(found, name, "LEErr", "EErr"))),
            group=f"Table 3 of İrsoy, {name}",
        )
        for name in filter(_is_table, distinct_values(found, "set"))
    ]


def figure(found: Results) -> Figure:
    """The error at each rate: a dot per fold, a line through the medians."""
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    sets, methods = distinct_values(found, "set"), distinct_values(found, "method")
    drawn = empty_figure(11.0, 5.0)
    panels = drawn.subplots(2, 4).flatten().tolist()
    for axes, name in zip(panels, sets, strict=False):
        for method in methods:
            runs = runs_of(found, name, method)
            rates = [one["rate"] for one in next(iter(runs.values()))]
            errors = np.array([[one["test_error"] for one in run] for run in runs.values()])
            colour = COLOURS.get(method, "#239b56")
            axes.plot(rates, np.median(errors, axis=0), color=colour, linewidth=1.0, label=method)
            shifted = np.array(rates) * 1.08 ** (methods.index(method) - 1.5)  # side by side
            axes.plot(np.tile(shifted, len(errors)), errors.flatten(), ".", color=colour, markersize=2.0)
        axes.set_xscale("log")
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.set_yticks([tick for tick in TICKS if low <= tick <= high])
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_title(f"{name}: error on test, %", fontsize=8)
        axes.set_xlabel("learning rate", fontsize=8)
    for axes in panels[len(sets) :]:
        axes.set_axis_off()
    panels[-1].legend(*panels[0].get_legend_handles_labels(), frameon=False, loc="center")
    return drawn
