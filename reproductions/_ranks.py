"""Tests over data sets: several methods on several sets, one number each (Demšar, JMLR 7, 2006).

A data set is the unit. A method's rank on a set is 1 if it is best there; equal scores share their ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from reproductions._markdown import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scores = dict[str, dict[str, float]]  # by data set, by method; larger is better

LEVEL = 0.05


def average_ranks(scores: Scores) -> dict[str, float]:
    """The mean rank of each method over the sets.

    >>> average_ranks({"car": {"EXACT": 95.0, "hinge": 92.0}, "wine": {"EXACT": 97.0, "hinge": 97.0}})
    {'EXACT': 1.25, 'hinge': 1.75}
    """
    methods = _methods(scores)
    ranks = stats.rankdata(-_matrix(scores), axis=1).mean(0)
    return dict(zip(methods, ranks.tolist(), strict=True))


def friedman(scores: Scores) -> float:
    """The p-value that all methods have the same rank; 1 if all scores are equal."""
    matrix = _matrix(scores)
    if matrix.shape[1] < 3 or (matrix == matrix[:, :1]).all():
        return 1.0
    return float(stats.friedmanchisquare(*matrix.T).pvalue)


def critical_difference(n_methods: int, n_sets: int) -> float:
    r"""Nemenyi's difference of two mean ranks that is significant at 5 %.

    .. math:: \mathrm{CD} = q \sqrt{\frac{k (k + 1)}{6 N}}

    with k methods, N sets and q the studentised range over :math:`\sqrt 2`. Demšar's example has 4 methods and 14 sets:

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    q = stats.studentized_range.ppf(1.0 - LEVEL, n_methods, math.inf) / math.sqrt(2.0)
    return float(q * math.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def wilcoxon(differences: Sequence[float]) -> float:
    """The p-value of Wilcoxon's signed-rank test over sets, two-sided; 1 if all differences are zero.

    >>> wilcoxon([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])       # 2 of the 64 orders of signs
    0.03125
    """
    return 1.0 if not np.any(differences) else float(stats.wilcoxon(differences).pvalue)


def ranks_table(scores: Scores) -> str:
    """Mean score and mean rank of each method as Markdown, the best first, and Friedman's test."""
    ranks, means = average_ranks(scores), dict(zip(_methods(scores), _matrix(scores).mean(0), strict=True))
    rows = [[method, f"{means[method]:.2f}", f"{ranks[method]:.2f}"] for method in sorted(ranks, key=lambda one: ranks[one])]
    return (
        f"{table(['method', 'mean', 'mean rank'], rows)}\n\n{len(scores)} sets. Friedman's test: p = {friedman(scores):.3g}. "
        f"Two mean ranks differ at 5 % if they are {critical_difference(len(ranks), len(scores)):.2f} apart (Nemenyi)."
    )


def groups(ranks: dict[str, float], width: float) -> list[list[str]]:
    """The longest runs of methods whose mean ranks lie within ``width``; a run has two methods at least.

    >>> groups({"a": 1.0, "b": 1.5, "c": 2.5, "d": 4.0}, 1.2)
    [['a', 'b'], ['b', 'c']]
    """
    order, found, end = sorted(ranks, key=lambda one: ranks[one]), [], 0
    for start in range(len(order)):
        reach = max(index for index in range(start, len(order)) if ranks[order[index]] - ranks[order[start]] <= width)
        if reach > max(start, end):
            found.append(order[start : reach + 1])
            end = reach
    return found


def draw_critical_difference(axes: Axes, scores: Scores) -> None:
    """Demšar's diagram: methods at their mean ranks, the best at the left; bars join those that do not differ."""
    ranks = average_ranks(scores)
    order, width = sorted(ranks, key=lambda one: ranks[one]), critical_difference(len(ranks), len(scores))
    joined, n_left = groups(ranks, width), (len(order) + 1) // 2
    first_text = 0.9 + 0.25 * len(joined)
    axes.plot([1, len(order)], [0, 0], color="black", linewidth=1)
    for tick in range(1, len(order) + 1):
        axes.plot([tick, tick], [0, -0.12], color="black", linewidth=1)
        axes.text(tick, -0.2, str(tick), ha="center", va="bottom", fontsize=8)
    for index, method in enumerate(order):
        is_left = index < n_left
        height = first_text + 0.45 * (index if is_left else len(order) - 1 - index)
        end = 0.7 if is_left else len(order) + 0.3
        axes.plot([ranks[method], ranks[method], end], [0, height, height], color="0.4", linewidth=0.8)
        text = f"{method} ({ranks[method]:.2f})"
        axes.text(end + (-0.05 if is_left else 0.05), height, text, ha="right" if is_left else "left", va="center", fontsize=8)
    for index, methods in enumerate(joined):
        height = 0.35 + 0.25 * index
        axes.plot([ranks[methods[0]] - 0.04, ranks[methods[-1]] + 0.04], [height, height], color="black", linewidth=3)
    axes.plot([1, 1 + width], [-0.75, -0.75], color="black", linewidth=1.5)
    axes.text(1 + width / 2, -0.8, f"critical difference {width:.2f}", ha="center", va="bottom", fontsize=7)
    axes.set_ylim(first_text + 0.45 * n_left, -1.2)
    axes.set_xlim(-0.12 * len(order) - 0.6, 1.12 * len(order) + 1.6)
    axes.axis("off")


def _methods(scores: Scores) -> list[str]:
    """The methods, which have to be the same on all sets."""
    methods = list(next(iter(scores.values())))
    for name, by_method in scores.items():
        if set(by_method) != set(methods):
            raise ValueError(f"`scores` should have the same methods on all sets, got {list(by_method)} on {name!r}.")
    return methods


def _matrix(scores: Scores) -> np.ndarray:
    """(sets, methods)."""
    return np.array([[by_method[method] for method in _methods(scores)] for by_method in scores.values()])
