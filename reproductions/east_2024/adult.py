"""Adult in both readings beside the published rows, for the page of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reproductions._experiment import Results
from reproductions._markdown import mean_and_std, table
from reproductions._results import values
from reproductions.east_2024 import published
from reproductions.east_2024._table_3 import PUBLISHED, with_deviation
from reproductions.east_2024.tabular import LOSSES, OTHERS, SCORES, complete_seeds

READINGS = ("adult-btg", "adult")


def adult_section(found: Results) -> str:
    """Tables 1 and 3, with a column per reading, which is empty as long as the reading has no complete seed."""
    found = complete_seeds(found)
    seeds = [f"{len(values(found, 'f1', set=name, method='CE'))} of `{name}`" for name in READINGS]
    table_1 = [
        [
            method,
            *_cells(found, method, SCORES, published.TABLE_1["adult"][method], published.TABLE_1_DEVIATIONS["adult"][method]),
        ]
        for method in LOSSES
    ]
    table_3 = [
        [method, *_cells(found, method, ("macro_f1", "accuracy"), *(one["adult"] for one in PUBLISHED[method]))]
        for method in OTHERS
    ]
    return "\n\n".join(
        [
            f"Means and deviations over seeds, {' and '.join(seeds)}, in percent:",
            table(["trained for", *_heads(SCORES.values())], table_1),
            table(["Table 3", *_heads(("macro F1", "accuracy"))], table_3),
        ]
    )


def _heads(scores: Iterable[str]) -> list[str]:
    return [head for score in scores for head in (f"{score}, paper", *(f"`{name}`" for name in READINGS))]


def _cells(
    found: Results, method: str, scores: Iterable[str], means: Sequence[float], deviations: Sequence[float]
) -> list[str]:
    """For each score the published value and ours in both readings."""
    cells = []
    for score, mean, deviation in zip(scores, means, deviations, strict=True):
        cells.append(with_deviation(mean, deviation))
        for name in READINGS:
            ours = values(found, score, set=name, method=method)
            cells.append(mean_and_std(ours) if ours else "")
    return cells
