"""Markdown tables and their cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metricfit.comparison._statistics import Estimate


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is left-aligned, the others are right-aligned.

    >>> print(table(["set", "ours"], [["car", "96.67"]]))
    | set | ours |
    |---|---:|
    | car | 96.67 |
    """
    lines = [list(heads), ["---", *["---:"] * (len(heads) - 1)], *map(list, rows)]
    return "\n".join(
        "|" + "|".join(line) + "|" if index == 1 else f"| {' | '.join(line)} |" for index, line in enumerate(lines)
    )


def mean_and_std(values: Sequence[float]) -> str:
    """Mean and standard deviation over seeds as text, as in the papers.

    >>> mean_and_std([1.0, 3.0])
    '2.00 ± 1.00'
    """
    return f"{np.mean(values):.2f} ± {np.std(values):.2f}"


def with_interval(found: Estimate) -> str:
    """Mean and 95 % interval as text, if there is an interval.

    >>> with_interval(Estimate(1.0, 0.5, 1.5, 0.01))
    '+1.00 (+0.50 … +1.50)'
    """
    return f"{found.mean:+.2f}" + (f" ({found.low:+.2f} … {found.high:+.2f})" if found.known else "")


def listed(names: Sequence[str]) -> str:
    """
    >>> listed(["car", "wine"]), listed([])
    ('car; wine', 'none')
    """
    return "; ".join(names) or "none"


def but(every: Sequence[str], some: Sequence[str]) -> str:
    """The names that are not among ``some``, in brackets.

    >>> but(["car", "wine"], ["car"]), but(["car"], ["car"])
    (' (not wine)', '')
    """
    others = [name for name in every if name not in some]
    return f" (not {', '.join(others)})" if others else ""


NEAR = 0.5  # points
LEGEND = f"= agrees with the paper: within {NEAR} points, or twice the deviation over our seeds. ↑ ↓ does not."


def with_agreement(published: float, values: Sequence[float], near: float = NEAR, deviation: float = 0.0) -> str:
    """Mean and standard deviation as text, with a sign for agreement with the published value.

    ``deviation`` is the published one over seeds; it is added to ours as independent.

    >>> with_agreement(96.67, [96.60, 96.74]), with_agreement(87.42, [84.7, 84.7])
    ('96.67 ± 0.07 =', '84.70 ± 0.00 ↓')
    >>> with_agreement(77.22, [76.5, 76.5]), with_agreement(77.22, [76.5, 76.5], deviation=0.45)
    ('76.50 ± 0.00 ↓', '76.50 ± 0.00 =')
    """
    off = float(np.mean(values)) - published
    agrees = abs(off) <= max(near, 2.0 * float(np.hypot(np.std(values), deviation)))
    return f"{mean_and_std(values)} {'=' if agrees else '↑' if off > 0 else '↓'}"
