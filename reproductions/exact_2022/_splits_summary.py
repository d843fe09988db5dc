"""What the random splits say: gains with intervals that know of the overlap, and tests over data sets."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metricfit.comparison._statistics import corrected_estimate
from reproductions._claims import Claim, Runs, claim, mean_with_interval, p_text
from reproductions._experiment import Results, get_experiment
from reproductions._figure import empty_figure
from reproductions._markdown import table
from reproductions._ranks import Scores, draw_critical_difference, ranks_table, wilcoxon
from reproductions._results import differences, distinct_values, values
from reproductions._runner import read_results
from reproductions.exact_2022 import published
from reproductions.exact_2022._arms import ARMS
from reproductions.exact_2022._splits import MOST_ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOUR = ("Sklearn", "Cross-entropy", "Hinge", "EXACT")
PREDICTED = "EXACT with predicted sigma"
# what is gained, by which, over which
BASELINES = (("EXACT over cross-entropy", "EXACT", "Cross-entropy"), ("EXACT over hinge", "EXACT", "Hinge"))
PARTS = (
    ("EXACT's margin", "EXACT", "EXACT without margin"),
    ("EXACT's scheduler, over sigma 1", "EXACT", "EXACT without scheduler"),
    ("EXACT's scheduler, over a predicted sigma", "EXACT", PREDICTED),
    ("EXACT's normaliser", "EXACT", "EXACT without normalizer"),
    ("the floor of EXACT's normaliser", "EXACT", "EXACT without floor"),
    ("the normaliser with cross-entropy", "Cross-entropy with normalizer", "Cross-entropy"),
    ("the normaliser with hinge", "Hinge with normalizer", "Hinge"),
)
RESULTS = Path(__file__).parent / "results"


def summary(found: Results) -> str:
    return "\n\n".join([_gains(found), _over_sets(found), _parts(found), _accuracies(found)]) + "\n"


def claims(found: Results) -> list[Claim]:
    """EXACT over cross-entropy by set, over splits; over cross-entropy and hinge, and each part of EXACT, over sets."""
    made, sets = [], distinct_values(found, "set")
    for name in sets:
        text = f"EXACT over cross-entropy, accuracy, {name}, random splits"
        gains = _differences(found, name, "EXACT", "Cross-entropy")
        made.append(claim(text, _published(name, "EXACT", "Cross-entropy"), gains, _runs(found, [name]), group="exact-splits"))
    for text, first, second in (*BASELINES, *PARTS):
        gain = _published_mean(sets, first, second)
        if gain is not None or second == PREDICTED:  # the paper says of the latter that it is worse, without a number
            made.append(_claim_over_sets(found, text, gain, first, second))
    return made


def _claim_over_sets(found: Results, text: str, gain: float | None, first: str, second: str) -> Claim:
    """A claim about the mean over sets. A set is the unit: the interval is Student's over sets, the p-value Wilcoxon's.

    An interval over splits would hold for these ten sets alone: on one of them EXACT gains four points, on six it loses.
    """
    sets = distinct_values(found, "set")
    gains = _by_set(found, first, second)
    estimate = corrected_estimate(gains, 0.0)
    return Claim(
        f"{text}, accuracy, mean of {len(sets)} sets, random splits",
        gain,
        estimate.mean,
        estimate.high - estimate.mean,
        direction=0 if gain is not None else 1,
        p=wilcoxon(gains),
        runs=_runs(found, sets),
        group="exact-splits",
    )


def figure(found: Results) -> Figure:
    """Two critical-difference diagrams: the four methods of Table 2, and all arms."""
    drawn = empty_figure(9.0, 6.5)
    above, below = drawn.subplots(2, 1, height_ratios=(2, 3))
    for axes, methods, title in ((above, FOUR, "the four methods of Table 2"), (below, ARMS, "EXACT and its parts")):
        draw_critical_difference(axes, _scores(found, methods))
        axes.set_title(f"Mean rank over {len(distinct_values(found, 'set'))} sets: {title}", fontsize=9)
    return drawn


def _gains(found: Results) -> str:
    rows = []
    for name in distinct_values(found, "set"):
        share = _runs(found, [name]).test_share
        row = [name + (" *" if name in MOST_ROWS else ""), f"{_runs(found, [name]).test_rows:,}"]
        row.append(f"{_published(name, 'EXACT', 'Cross-entropy'):+.2f}")
        row.append(_on_the_papers_split("exact-tabular", name, "EXACT", "Cross-entropy"))
        for other in ("Cross-entropy", "Hinge", "Sklearn"):
            row.append(mean_with_interval(_differences(found, name, "EXACT", other), share))
        rows.append(row)
    heads = ["set", "test rows", "published", "the paper's split", "over cross-entropy", "over hinge", "over scikit-learn"]
    n_splits = len(values(found, "split", set=distinct_values(found, "set")[0], method="EXACT"))
    return (
        "## EXACT's gain in accuracy, in points\n\n*Published* and *the paper's split* (mean over seeds, `exact-tabular`) are "
        f"over cross-entropy, with the paper's hyper-parameters. The other columns are means over {n_splits} random splits, "
        "with 95 % intervals (Nadeau and Bengio), hyper-parameters chosen inside each training part.\n\n"
        f"{table(heads, rows)}\n\nWith a star: a random part of {max(MOST_ROWS.values()):,} rows."
    )


def _over_sets(found: Results) -> str:
    lines = []
    for other in ("Cross-entropy", "Hinge", "Sklearn"):
        gains = _by_set(found, "EXACT", other)
        counts = (sum(gain > 0.005 for gain in gains), sum(abs(gain) <= 0.005 for gain in gains))
        lines.append(
            f"- EXACT - {other}: {mean_with_interval(gains)} points, better on {counts[0]}, equal on {counts[1]} and "
            f"worse on {len(gains) - sum(counts)} of {len(gains)} sets. Wilcoxon's test: p = {p_text(wilcoxon(gains))}."
        )
    head = "## Over data sets\n\nA set is the unit: the mean over splits counts once. Intervals are over sets.\n\n"
    return head + "\n".join(lines) + f"\n\n{ranks_table(_scores(found, FOUR))}"


def _parts(found: Results) -> str:
    sets, rows = distinct_values(found, "set"), []
    for text, first, second in PARTS:
        gain = _published_mean(sets, first, second)
        by_set = _by_set(found, first, second)
        rows.append(
            [
                text,
                "" if gain is None else f"{gain:+.2f}",
                _on_the_papers_split("exact-ablation", None, first, second),
                mean_with_interval(by_set),
                f"{min(by_set):+.2f} … {max(by_set):+.2f}",
                p_text(wilcoxon(by_set)),
            ]
        )
    sigma = values(found, "sigma", method=PREDICTED)
    heads = ["part", "published", "the paper's split", "random splits", "by set", "Wilcoxon, p"]
    return (
        f"## What each part gains, in points\n\nMeans over {len(sets)} sets, with 95 % intervals over sets.\n\n"
        f"{table(heads, rows)}\n\nThe predicted sigma begins at 1, for scores of deviation 1. At the end its median over "
        f"training rows is {np.median(sigma):.3f}, from {min(sigma):.3f} to {max(sigma):.3f} over sets and splits (the least "
        "possible is 0.001).\n\n"
        f"{ranks_table(_scores(found, ARMS))}"
    )


def _accuracies(found: Results) -> str:
    methods = ("Sklearn", *ARMS)
    rows = [
        [name, *(f"{np.mean(values(found, 'test', set=name, method=method)):.2f}" for method in methods)]
        for name in distinct_values(found, "set")
    ]
    return f"## Accuracy on test, %, mean over splits\n\n{table(['set', *methods], rows)}"


def _scores(found: Results, methods: Iterable[str]) -> Scores:
    """Mean accuracy over splits by set and method, rounded as in the CSV file, so that equal scores have equal ranks."""
    return {
        name: {
            method: round(float(np.mean(np.round(values(found, "test", set=name, method=method), 4))), 3) for method in methods
        }
        for name in distinct_values(found, "set")
    }


def _differences(found: Results, name: str, first: str, second: str) -> list[float]:
    """By split."""
    return differences(*(values(found, "test", set=name, method=method) for method in (first, second)))


def _by_set(found: Results, first: str, second: str) -> list[float]:
    """The mean difference over splits, by set."""
    return [float(np.mean(_differences(found, name, first, second))) for name in distinct_values(found, "set")]


def _runs(found: Results, sets: list[str]) -> Runs:
    """Of the sets together: their rows are added."""
    train, test = (
        sum(int(values(found, part, set=name, method="EXACT")[0]) for name in sets) for part in ("train_rows", "test_rows")
    )
    return Runs(seeds=1, splits=len(values(found, "split", set=sets[0], method="EXACT")), test_rows=test, train_rows=train)


def _published(name: str, first: str, second: str) -> float | None:
    """The published difference of Table 2, or of Tables 4 to 6; None if they do not have both."""
    index = published.SETS.index(name)
    for known in (published.TEST, published.ABLATION):
        if first in known and second in known:
            return known[first][index] - known[second][index]
    return None


def _published_mean(sets: list[str], first: str, second: str) -> float | None:
    gains = [_published(name, first, second) for name in sets]
    return None if None in gains else float(np.mean(gains))  # type: ignore[arg-type]


@cache
def _committed(experiment: str) -> Results:
    """The committed results of another experiment, or an empty list."""
    file = RESULTS / f"{experiment}.csv"
    return read_results(get_experiment(experiment), file) if file.exists() else []


def _on_the_papers_split(experiment: str, name: str | None, first: str, second: str) -> str:
    """The mean difference over seeds on a set, or over all sets, from the committed results."""
    wanted = {} if name is None else {"set": name}
    scores = [values(_committed(experiment), "test", method=method, **wanted) for method in (first, second)]
    return f"{np.mean(scores[0]) - np.mean(scores[1]):+.2f}" if all(scores) else ""
