"""A beta for one class: EAST, which trains for it, beside cross-entropy with offsets that were tuned for the same F-beta."""

from __future__ import annotations

from collections.abc import Sequence

from reproductions._claims import mean_with_interval
from reproductions._experiment import Results
from reproductions._markdown import mean_and_std, table
from reproductions._results import differences, values


def f_beta(precision: float, recall: float, beta: float) -> float:
    """F-beta from precision and recall, 0 if both are.

    >>> f_beta(50.0, 100.0, 1.0), f_beta(50.0, 100.0, 2.0), f_beta(0.0, 0.0, 1.0)
    (66.66666666666667, 83.33333333333333, 0.0)
    """
    below = beta**2 * precision + recall
    return (1.0 + beta**2) * precision * recall / below if below else 0.0


def macro_f_beta(found: Results, method: str, aim: str, n_classes: int) -> list[float]:
    """What the method aims at: macro F1 with the F1 of one class replaced by its F-beta."""
    name, beta = aim.split()
    return [
        macro + (f_beta(precision, recall, float(beta)) - f_beta(precision, recall, 1.0)) / n_classes
        for macro, precision, recall in zip(
            *(values(found, score, method=method) for score in ("macro_f1", f"precision_{name}", f"recall_{name}")),
            strict=True,
        )
    ]


def against_offsets(found: Results, prefix: str, aims: Sequence[str], n_classes: int) -> str:
    """A table of both methods for each aim; nothing if offsets were not run."""
    rows, gains = [], []
    for aim in aims:
        offsets, name = prefix + aim, aim.split()[0]
        if not values(found, "macro_f1", method=offsets) or not values(found, "macro_f1", method=aim):
            continue
        row = [aim]
        for score in (f"precision_{name}", f"recall_{name}", "macro_f1"):
            row += [mean_and_std(values(found, score, method=method)) for method in (aim, offsets)]
        rows.append(row)
        by_score = [
            differences(values(found, score, method=aim), values(found, score, method=offsets))
            for score in (f"precision_{name}", f"recall_{name}", "macro_f1")
        ]
        aimed = differences(*(macro_f_beta(found, method, aim, n_classes) for method in (aim, offsets)))
        gains.append([aim, *(mean_with_interval(one) for one in (aimed, *by_score))])
    if not rows:
        return ""
    titles = ("precision of the class", "recall of the class", "macro F1")
    heads = ["class and beta", *(head for title in titles for head in (f"{title}: EAST", "CE + offsets"))]
    gain_heads = ["class and beta", "macro F-beta, which both aim at", *titles]
    return (
        f"## EAST and offsets for the same F-beta; test, %\n\n{table(heads, rows)}\n\n"
        f"## EAST over CE + offsets, in points\n\nWith 95 % intervals over seeds.\n\n{table(gain_heads, gains)}"
    )
