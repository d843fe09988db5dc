"""Adult in both readings beside the published rows, for the page of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reproductions._experiment import Results
from reproductions._markdown import mean_and_std, table
from reproductions._results import distinct_values, values
from reproductions.east_2024 import published
from reproductions.east_2024._table_3 import PUBLISHED, with_deviation
from reproductions.east_2024.tabular import LOSSES, OTHERS, SCORES, complete_seeds

TABLE_3 = {"macro_f1": "macro F1", "accuracy": "accuracy"}


def adult_section(found: Results) -> str:
    """Tables 1 and 3, with a column for each reading of adult that has a complete seed."""
    found = [(cell, numbers) for cell, numbers in complete_seeds(found) if str(cell["set"]).startswith("adult")]
    seeds = [f"{len(values(found, 'f1', set=name, method='CE'))} of `{name}`" for name in distinct_values(found, "set")]
    networks = {
        method: (published.TABLE_1["adult"][method], published.TABLE_1_DEVIATIONS["adult"][method]) for method in LOSSES
    }
    others = {method: (PUBLISHED[method][0]["adult"], PUBLISHED[method][1]["adult"]) for method in OTHERS}
    return "\n\n".join(
        [
            f"Means and deviations over seeds, {' and '.join(seeds)}, in percent:",
            _table("trained for", found, SCORES, networks),
            _table("Table 3", found, TABLE_3, others),
        ]
    )


def _table(
    title: str, found: Results, scores: Mapping[str, str], paper: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> str:
    """For each method and score the published mean and deviation, and ours in each reading."""
    readings = distinct_values(found, "set")
    rows = []
    for method, reported in paper.items():
        row = [method]
        for score, mean, deviation in zip(scores, *reported, strict=True):
            row.append(with_deviation(mean, deviation))
            row += [mean_and_std(values(found, score, set=name, method=method)) for name in readings]
        rows.append(row)
    heads = [head for score in scores.values() for head in (f"{score}, paper", *(f"`{name}`" for name in readings))]
    return table([title, *heads], rows)
