"""Confusion matrices as heat maps: with numbers for few classes, as a picture for 26 or 100.

A cell's shade is its share of the true class, in seven steps, which the legend explains. Right answers and errors have two
hues. A picture has one path per shade, so that 100 classes need kilobytes and not megabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from metricfit._printable import shorten
from metricfit._typing import Floats, Ints

MAX_NUMBERS = 12  # classes whose matrix has numbers in its cells
LEVELS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75)  # shares between two shades
LEVEL_WORDS = ("below 1 %", "1 to 5 %", "5 to 10 %", "10 to 25 %", "25 to 50 %", "50 to 75 %", "75 % and more")
WIDTH = 440
MAX_DRAWN = 120  # classes of a picture: of more, those with the most errors
MAX_LABELS = 30  # along an axis of a picture
MAX_LETTERS = 12
MAX_TIPS = 500  # cells of a picture with a tooltip: the diagonal and the largest errors
MAX_CONFUSIONS = 10


@dataclass(frozen=True)
class Confusion:
    """A pair of true and predicted class that differ."""

    true: str
    predicted: str
    rows: int
    share: float  # of the true class


def shares_of(matrix: Floats) -> Floats:
    """Each cell as a share of its true class; 0 for a class without rows."""
    return matrix / matrix.sum(1, keepdims=True).clip(min=1.0)


def level_of(shares: Floats) -> Ints:
    """The shade of each cell, 1 to 7; 0 for an empty one.

    >>> level_of(np.array([0.0, 0.004, 0.01, 0.3, 1.0])).tolist()
    [0, 1, 2, 5, 7]
    """
    return np.where(shares > 0.0, np.digitize(shares, LEVELS) + 1, 0)


def cells(matrix: Floats, names: list[str]) -> list[tuple[str, list[dict[str, Any]]]]:
    """For each true class its cells: count, shade, and whether the answer is right."""
    shares, levels = shares_of(matrix), level_of(shares_of(matrix))
    return [
        (
            name,
            [
                {
                    "count": int(matrix[row, index]),
                    "level": int(levels[row, index]),
                    "hit": row == index,
                    "share": shares[row, index],
                }
                for index in range(len(names))
            ],
        )
        for row, name in enumerate(names)
    ]


def classes_to_draw(matrices: Sequence[Floats]) -> list[int]:
    """All classes in their order, or of very many those with the most errors in all matrices together.

    >>> classes_to_draw([np.eye(3)])
    [0, 1, 2]
    """
    total = np.sum(matrices, 0)
    errors = total.sum(0) + total.sum(1) - 2.0 * total.diagonal()
    return sorted(np.argsort(-errors, kind="stable")[:MAX_DRAWN].tolist())


def picture(matrix: Floats, names: list[str], title: str, drawn: Sequence[int]) -> Markup:
    """The classes ``drawn``, without numbers. Labels are thinned until they can be read."""
    shares, own = shares_of(matrix)[np.ix_(drawn, drawn)], matrix[np.ix_(drawn, drawn)]
    names, n_classes = [names[index] for index in drawn], len(drawn)
    short = [shorten(name, MAX_LETTERS) for name in names]
    longest = max(map(len, short))
    margin = 14 + 7 * longest
    side = WIDTH - margin - 6
    cell, every = side / n_classes, -(-n_classes // MAX_LABELS)
    parts = [Markup('<rect class="ground" x="{0}" y="{0}" width="{1:.1f}" height="{1:.1f}"/>').format(margin, side)]
    parts += _paths(level_of(shares), f"translate({margin} {margin}) scale({cell:.4f})")
    down = '<text class="tick end" x="{}" y="{:.1f}" dy=".35em">{}</text>'
    across = '<text class="tick" dy=".35em" transform="{}">{}</text>'
    for index in range(0, n_classes, every):
        middle = margin + cell * (index + 0.5)
        parts.append(Markup(down).format(margin - 5, middle, short[index]))
        parts.append(Markup(across).format(f"translate({middle:.1f} {margin - 5}) rotate(-90)", short[index]))
    parts += _tips(own, shares, names, margin, cell)
    pattern = '<svg class="map" viewBox="0 0 {0} {0}" role="img" aria-label="{1}"><title>{1}</title>{2}</svg>'
    return Markup(pattern).format(WIDTH, title, Markup("").join(parts))


def _paths(levels: Ints, transform: str) -> list[Markup]:
    """For each shade all its cells: those of right answers, and those of errors."""
    on_diagonal = np.eye(len(levels), dtype=bool)
    found = []
    for level in range(1, len(LEVELS) + 2):
        for kind, wanted in (("hit", on_diagonal), ("miss", ~on_diagonal)):
            path = "".join(f"M{column} {row}h1v1h-1z" for row, column in np.argwhere((levels == level) & wanted).tolist())
            if path:
                found.append(Markup('<path class="{} l{}" transform="{}" d="{}"/>').format(kind, level, transform, path))
    return found


def _tips(matrix: Floats, shares: Floats, names: list[str], margin: int, cell: float) -> list[Markup]:
    """Invisible squares with tooltips, for the diagonal and the largest errors."""
    tips = []
    order = np.argsort(-(matrix + np.diag(np.full(len(names), np.inf))), axis=None, kind="stable")[:MAX_TIPS]
    for row, column in zip(*np.unravel_index(order, matrix.shape), strict=True):
        if not matrix[row, column]:
            continue
        words = "right" if row == column else f"predicted {names[column]}"
        tip = f"true {names[row]}, {words}: {int(matrix[row, column]):,} rows, {shares[row, column]:.0%}"
        pattern = '<rect class="tip" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>'
        tips.append(Markup(pattern).format(margin + cell * column, margin + cell * row, cell, cell, tip))
    return tips


def frequent_confusions(matrix: Floats, names: list[str]) -> list[Confusion]:
    """The most frequent errors, largest first.

    >>> frequent_confusions(np.array([[8.0, 2.0], [0.0, 5.0]]), ["a", "b"])
    [Confusion(true='a', predicted='b', rows=2, share=0.2)]
    """
    shares, errors = shares_of(matrix), matrix - np.diag(matrix.diagonal())
    order = np.argsort(-errors, axis=None, kind="stable")[:MAX_CONFUSIONS]
    cells = [(int(row), int(column)) for row, column in zip(*np.unravel_index(order, matrix.shape), strict=True)]
    return [
        Confusion(names[row], names[column], int(errors[row, column]), float(shares[row, column]))
        for row, column in cells
        if errors[row, column] > 0
    ]
