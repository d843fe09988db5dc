"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right.

    >>> print(table(["set", "ours"], [["car", "96.67"]]))
    | set | ours |
    |---|---:|
    | car | 96.67 |
    """
    lines = [list(heads), ["---", *["---:"] * (len(heads) - 1)], *map(list, rows)]
    return "\n".join(
        "|" + "|".join(line) + "|" if place == 1 else f"| {' | '.join(line)} |" for place, line in enumerate(lines)
    )


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over seeds, as the papers give them.

    >>> spread([1.0, 3.0])
    '2.00 ± 1.00'
    """
    return f"{np.mean(values):.2f} ± {np.std(values):.2f}"
