"""Table 3: a random forest and CCS on the binary sets, published and ours."""

from __future__ import annotations

from collections.abc import Iterable

from reproductions._experiment import Results
from reproductions._markdown import mean_and_std, table
from reproductions._results import distinct_values, values
from reproductions.east_2024 import published
from reproductions.east_2024._sets import paper_name

PUBLISHED = {
    "random forest": (published.FOREST, published.FOREST_DEVIATIONS),
    "CCS": (published.CCS, published.CCS_DEVIATIONS),
}


def table_3(found: Results, methods: Iterable[str]) -> str:
    """A row per method and set; the published F1 is macro."""
    rows = []
    for name in distinct_values(found, "set"):
        for method in methods:
            reported = ["", ""]
            if method in PUBLISHED:
                pairs = zip(*(one[paper_name(name)] for one in PUBLISHED[method]), strict=True)
                reported = [with_deviation(mean, deviation) for mean, deviation in pairs]
            ours = [mean_and_std(values(found, score, set=name, method=method)) for score in ("macro_f1", "f1", "accuracy")]
            rows.append([f"{method}, {name}", reported[0], *ours[:2], reported[1], ours[2]])
    heads = ["method", "macro F1, paper", "macro F1, ours", "F1 of the positive class, ours", "accuracy, paper", "ours"]
    return f"## Random forest and CCS (Table 3): test, %\n\n{table(heads, rows)}"


def with_deviation(mean: float, deviation: float) -> str:
    """A published mean and deviation, in percent.

    >>> with_deviation(0.739, 0.01)
    '73.9 ± 1'
    """
    return f"{100.0 * mean:.1f} ± {100.0 * deviation:.0f}"
