"""Tables of the ten splits: published beside ours, what EAST gains, ranks, and the other baselines."""

from __future__ import annotations

from collections.abc import Sequence

from reproductions._claims import Claim, Runs, claim, mean_with_interval
from reproductions._experiment import Results
from reproductions._markdown import mean_and_std, table
from reproductions._ranks import average_ranks
from reproductions._results import differences, distinct_values, values
from reproductions.east_2024 import published
from reproductions.east_2024._baselines import BASELINES
from reproductions.east_2024._protocol import AIMS, GAINS, courses
from reproductions.east_2024._table_3 import table_3, with_deviation
from reproductions.east_2024.tabular import LOSSES, SCORES

THRESHOLD = "CE + threshold"
METHODS = (*LOSSES, THRESHOLD, *BASELINES)


def summary(found: Results) -> str:
    names = distinct_values(found, "set")
    parts = [*(_of_set(found, name) for name in names), _gains(found), _ranks(found), table_3(found, BASELINES), _cuts(found)]
    return "\n\n".join(parts) + "\n"


def scores_of_method(found: Results, name: str, method: str, score: str) -> list[float]:
    """One score per split; a threshold is another column of cross-entropy's cells."""
    if method == THRESHOLD:
        method, score = "CE", f"{score}_tuned"
    return values(found, score, set=name, method=method)


def runs_of(found: Results, name: str) -> Runs:
    """Training rows are those that weights are fitted to.

    With the validation rows, which stop, choose and tune, intervals would be 8 % narrower for ten splits.
    """
    splits = len(values(found, "f1", set=name, method="CE"))
    rows = [int(values(found, key, set=name, method="CE")[0]) for key in ("test_rows", "train_rows")]
    return Runs(seeds=1, splits=splits, test_rows=rows[0], train_rows=rows[1])


def _gain(found: Results, name: str, score: str, method: str, other: str, own: str | None = None) -> str:
    return mean_with_interval(_differences(found, name, score, method, other, own), runs_of(found, name).test_share)


def _differences(found: Results, name: str, score: str, method: str, other: str, own: str | None = None) -> list[float]:
    """The method's score, or another one of its ``own``, minus the score of the other method, for each split."""
    return differences(scores_of_method(found, name, method, own or score), scores_of_method(found, name, other, score))


def _of_set(found: Results, name: str) -> str:
    rows = []
    for method in METHODS:
        row = [method]
        means, deviations = published.TABLE_1[name].get(method), published.TABLE_1_DEVIATIONS[name].get(method)
        for score in SCORES:
            reported = "" if means is None else with_deviation(getattr(means, score), getattr(deviations, score))
            row += [reported, mean_and_std(scores_of_method(found, name, method, score))]
        rows.append(row)
    heads = ["method", *(head for title in SCORES.values() for head in (f"{title}, paper", "ours"))]
    return f"## {name}: test, %, mean and deviation over splits\n\n{table(heads, rows)}"


def _gains(found: Results) -> str:
    rows = []
    for name in distinct_values(found, "set"):
        paper = published.TABLE_1[name]
        for method, score in AIMS.items():
            reported = round(100.0 * (getattr(paper[method], score) - getattr(paper["CE"], score)), 1)
            rows.append(
                [
                    f"{name}, {SCORES[score]}",
                    method,
                    f"{reported:+.1f}",
                    _gain(found, name, score, method, "CE"),
                    _gain(found, name, score, method, THRESHOLD),
                    _gain(found, name, score, method, THRESHOLD, f"{score}_tuned"),
                    _gain(found, name, score, THRESHOLD, "CE"),
                ]
            )
    heads = [
        "set and metric",
        "loss",
        "over CE, paper",
        "over CE, ours",
        "over CE + threshold",
        "with a threshold, over CE + threshold",
        "CE + threshold over CE",
    ]
    text = "With 95 % intervals of Nadeau and Bengio, which account for overlapping splits."
    return f"## What EAST gains in the metric that it trains for, in points\n\n{text}\n\n{table(heads, rows)}"


def _ranks(found: Results) -> str:
    """Mean ranks over the splits of all sets, without a test, because splits overlap and there are two sets."""
    ranks = {score: average_ranks(_by_split(found, score)) for score in SCORES}
    rows = [[method, *(f"{ranks[score][method]:.1f}" for score in SCORES)] for method in METHODS]
    n_splits = len(_by_split(found, "f1"))
    text = f"Means over {n_splits} splits of all sets; 1 is best of {len(METHODS)}. Splits overlap, so they are not tested."
    return f"## Mean ranks\n\n{text}\n\n{table(['method', *SCORES.values()], rows)}"


def _by_split(found: Results, score: str) -> dict[str, dict[str, float]]:
    every: dict[str, dict[str, float]] = {}
    for name in distinct_values(found, "set"):
        for method in METHODS:
            for split, value in enumerate(scores_of_method(found, name, method, score)):
                every.setdefault(f"{name} {split}", {})[method] = value
    return every


def _cuts(found: Results) -> str:
    """How the runs ended, and what the searches chose."""
    chosen = [numbers for _, numbers in found if "rate" in numbers]
    texts = []
    for option in ("batch", "rate", "dropout"):
        counts = {value: sum(one[option] == value for one in chosen) for value in sorted({one[option] for one in chosen})}
        texts.append(f"{option}: " + ", ".join(f"{value:g} ({count})" for value, count in counts.items()))
    return f"{courses(found)}\n\nWhat the searches chose, with the number of runs. {'; '.join(texts)}."


def claims(found: Results) -> list[Claim]:
    """What EAST gains over cross-entropy and Dice, and two comparisons of Table 3 that have the same score on both sides."""
    made = []
    for name in distinct_values(found, "set"):
        paper, runs, group = published.TABLE_1[name], runs_of(found, name), f"east-splits, {name}"
        n_splits = f"{runs.splits} splits"
        for method, other, score in GAINS:
            reported = getattr(paper[method], score) - getattr(paper[other], score)
            off = _differences(found, name, score, method, other)
            made.append(_claim(f"{method} over {other}, {SCORES[score]}, {name}, {n_splits}", reported, off, runs, group))
        reported = published.FOREST[name][0] - published.CCS[name][0]
        off = _differences(found, name, "macro_f1", "random forest", "CCS")
        made.append(_claim(f"random forest over CCS, macro F1, {name}, {n_splits}", reported, off, runs, group))
        reported = published.FOREST[name][1] - paper["F1*"].accuracy
        off = _differences(found, name, "accuracy", "random forest", "F1*")
        made.append(_claim(f"random forest over F1*, accuracy, {name}, {n_splits}", reported, off, runs, group))
    return made


def _claim(text: str, reported: float, off: Sequence[float], runs: Runs, group: str) -> Claim:
    return claim(text, round(100.0 * reported, 1), off, runs, group=group)
