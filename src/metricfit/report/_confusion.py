"""Confusion matrices (k, k), whose rows are true classes: what a gain means in rows and in costs, and heat maps.

Of 1,000 cases, how many more are right, found or falsely alarmed? A heat map has numbers for few classes and is a picture for
26 or 100. A cell's shade is its share of the true class, in seven steps, which the legend explains. Right answers and errors
have two hues. A picture has one path per shade, so that 100 classes need kilobytes and not megabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from metricfit._printable import shorten
from metricfit._typing import Floats, Ints
from metricfit.comparison import CHANCE, UNKNOWN, Comparison, Difference, p_in_words
from metricfit.metrics import Cost

BASES = (1_000, 10_000, 100_000, 1_000_000)
FEWEST = 5  # cases of the rarest class that should be among the cases spoken of
MOST_CLASSES = 4  # whose changes are listed
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
class Change:
    """A count per base of one contender and of the one that it is compared with; ``what`` is counted, in words.

    ``good`` is the sign of an improvement, or 0 if a change is neither good nor bad.
    """

    what: str
    before: float
    after: float
    good: int = 1

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def more(self) -> str:
        """The direction in words, as the page rounds it."""
        return "as many" if abs(self.difference) < 0.05 else "more" if self.difference > 0.0 else "fewer"

    @property
    def kind(self) -> str:
        if abs(self.difference) < 0.05 or not self.good:
            return "same"
        return "better" if self.difference * self.good > 0.0 else "worse"


def gain(comparison: Comparison) -> dict[str, Any]:
    """The main contender instead of the reference and of a constant answer, per ``base`` of the held-out rows."""
    result, positive = comparison.main, comparison.positive_index
    base = base_of(np.bincount(comparison.labels, minlength=len(comparison.classes)).tolist())
    others = [(comparison.reference, result.difference), (comparison.constant, result.above_constant)]
    names, after = [str(label) for label in comparison.classes], comparison.confusion(result)
    costs = -comparison.measure.gains.numpy() if isinstance(comparison.measure, Cost) else None
    steps = list[dict[str, Any]]()
    for other, difference in others:
        if other is result:
            continue
        before = comparison.confusion(other)
        changes = [] if positive is None else positive_changes(before, after, positive, base, of_class(names[positive]))
        family = "the reference" if other is comparison.reference else "a constant answer"
        steps.append(
            {
                "other": other,
                "significance": _significance(difference, family, comparison),
                "changes": [*changes, rows_right(before, after, base)],
                "classes": class_changes(before, after, names, base) if positive is None else [],
                "saving": None if costs is None else total_cost(before, costs, base) - total_cost(after, costs, base),
            }
        )
    shown = [result, *(step["other"] for step in steps)]
    return {
        "result": result,
        "base": base,
        "n_rows": len(comparison.labels),
        "steps": steps,
        "costs": [] if costs is None else [(one, total_cost(comparison.confusion(one), costs, base)) for one in shown],
    }


def _significance(difference: Difference, family: str, comparison: Comparison) -> str:
    """Whether the difference may be chance. Its p-value is corrected for all comparisons with the same contender."""
    if difference.evidence == UNKNOWN:
        return "There are too few scores to say whether this is chance."
    what = f"The {comparison.metric_words.difference}"
    holm = "" if difference.p_holm == difference.p else f" after Holm, for all comparisons with {family}"
    after = f" (p {p_in_words(difference.p_holm)}{holm})" if difference.is_tested else ""
    if difference.evidence == CHANCE:
        return f"{what} may be chance{after}, and so may these numbers."
    return f"{what} is significant{after}."


def base_of(counts: Sequence[float]) -> int:
    """1,000 cases; more if fewer than five of these would be of the rarest class that occurs.

    >>> base_of([500.0, 500.0]), base_of([9990.0, 10.0])
    (1000, 10000)
    """
    present = [count for count in counts if count > 0]
    share = min(present) / sum(present) if len(present) == 2 else 1.0
    return next((base for base in BASES if base * share >= FEWEST), BASES[-1])


def per_base(matrix: Floats, base: int) -> Floats:
    """The matrix scaled to a sum of ``base``; zeros for no rows."""
    total = matrix.sum()
    return matrix * (base / total) if total else np.zeros_like(matrix)


def of_class(name: str) -> tuple[str, str]:
    """What :func:`positive_changes` counts, in words."""
    return f"cases of “{name}” found", f"false alarms: others flagged as “{name}”"


def positive_changes(before: Floats, after: Floats, positive: int, base: int, what: tuple[str, str]) -> list[Change]:
    """Two classes: positives found, and false alarms.

    >>> before = np.array([[80.0, 10.0], [6.0, 4.0]])
    >>> after = np.array([[78.0, 12.0], [3.0, 7.0]])
    >>> [(round(one.before), round(one.after)) for one in positive_changes(before, after, 1, 1000, of_class("yes"))]
    [(40, 70), (100, 120)]
    """
    scaled = per_base(before, base), per_base(after, base)
    negative = 1 - positive
    found = [float(matrix[positive, positive]) for matrix in scaled]
    alarms = [float(matrix[negative, positive]) for matrix in scaled]
    return [Change(what[0], found[0], found[1]), Change(what[1], alarms[0], alarms[1], good=-1)]


def rows_right(before: Floats, after: Floats, base: int) -> Change:
    """Rows on the diagonal.

    >>> rows_right(np.eye(2), np.ones((2, 2)), 1000)
    Change(what='rows right', before=1000.0, after=500.0, good=1)
    """
    return Change("rows right", float(np.trace(per_base(before, base))), float(np.trace(per_base(after, base))))


def class_changes(before: Floats, after: Floats, names: Sequence[str], base: int) -> list[tuple[Change, float]]:
    """The classes whose number of right rows changes most, largest first, each with its number of rows per base.

    >>> before, after = np.diag([30.0, 40.0, 30.0]), np.array([[30.0, 0, 0], [10, 30, 0], [0, 0, 30]])
    >>> [(change.what, change.difference, size) for change, size in class_changes(before, after, "abc", 1000)]
    [('b', -100.0, 400.0)]
    """
    scaled = per_base(before, base), per_base(after, base)
    hits = [matrix.diagonal() for matrix in scaled]
    order = np.argsort(-np.abs(hits[1] - hits[0]), kind="stable")[:MOST_CLASSES]
    found = [
        (Change(names[index], float(hits[0][index]), float(hits[1][index])), float(scaled[0][index].sum())) for index in order
    ]
    return [(change, size) for change, size in found if change.kind != "same"]


def total_cost(matrix: Floats, costs: Floats, base: int) -> float:
    """The cost of ``base`` cases.

    >>> total_cost(np.array([[3.0, 1.0], [2.0, 2.0]]), np.array([[0.0, 1.0], [5.0, 0.0]]), 1000)  # (1 * 1 + 2 * 5) / 8 each
    1375.0
    """
    return float((per_base(matrix, base) * costs).sum())


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
    """For each true class its cells: count, shade, and whether the answer is right; more columns are not answers."""
    shares, levels = shares_of(matrix), level_of(shares_of(matrix))
    return [
        (
            name,
            [
                {
                    "count": int(matrix[row, index]),
                    "level": int(levels[row, index]),
                    "kind": _kind(row, index, len(names)),
                    "share": shares[row, index],
                }
                for index in range(matrix.shape[1])
            ],
        )
        for row, name in enumerate(names)
    ]


def _kind(row: int, column: int, n_classes: int) -> str:
    return "none" if column >= n_classes else "hit" if row == column else "miss"


def classes_to_draw(matrices: Sequence[Floats]) -> list[int]:
    """All classes in their order, or of very many those with the most errors in all matrices together.

    >>> classes_to_draw([np.eye(3)])
    [0, 1, 2]
    """
    total = np.sum(matrices, 0)
    errors = total.sum(0) + total.sum(1) - 2.0 * total.diagonal()
    return sorted(np.argsort(-errors, kind="stable")[:MAX_DRAWN].tolist())


def picture(matrix: Floats, names: list[str], title: str, drawn: Sequence[int]) -> Markup:
    """The classes ``drawn``, without numbers. Labels are thinned until they can be read.

    The matrix may have a column more than classes, which is drawn without a label.
    """
    columns = [*drawn, *range(len(matrix), matrix.shape[1])]
    shares, own = shares_of(matrix)[np.ix_(drawn, columns)], matrix[np.ix_(drawn, columns)]
    names, n_classes = [names[index] for index in columns], len(drawn)
    short = [shorten(name, MAX_LETTERS) for name in names[:n_classes]]
    longest = max(map(len, short))
    margin = 14 + 7 * longest
    side = WIDTH - margin - 6
    cell, every = side / len(columns), -(-n_classes // MAX_LABELS)
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
    """For each shade all its cells: those of right answers, of errors, and of no answer."""
    kinds = np.full(levels.shape, "miss")
    np.fill_diagonal(kinds, "hit")
    kinds[:, len(levels) :] = "none"
    found = []
    for level in range(1, len(LEVELS) + 2):
        for kind in ("hit", "miss", "none"):
            wanted = (levels == level) & (kinds == kind)
            path = "".join(f"M{column} {row}h1v1h-1z" for row, column in np.argwhere(wanted).tolist())
            if path:
                found.append(Markup('<path class="{} l{}" transform="{}" d="{}"/>').format(kind, level, transform, path))
    return found


def _tips(matrix: Floats, shares: Floats, names: list[str], margin: int, cell: float) -> list[Markup]:
    """Invisible squares with tooltips, for the diagonal and the largest errors."""
    tips = []
    first = matrix.astype(np.float64)
    np.fill_diagonal(first, np.inf)
    order = np.argsort(-first, axis=None, kind="stable")[:MAX_TIPS]
    for row, column in zip(*np.unravel_index(order, matrix.shape), strict=True):
        if not matrix[row, column]:
            continue
        words = "right" if row == column else f"predicted {names[column]}"
        tip = f"true {names[row]}, {words}: {int(matrix[row, column]):,} rows, {shares[row, column]:.0%}"
        pattern = '<rect class="tip" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>'
        tips.append(Markup(pattern).format(margin + cell * column, margin + cell * row, cell, cell, tip))
    return tips


def frequent_confusions(matrix: Floats, names: list[str]) -> list[dict[str, Any]]:
    """The most frequent errors, largest first.

    >>> frequent_confusions(np.array([[8.0, 2.0], [0.0, 5.0]]), ["a", "b"])
    [{'true': 'a', 'predicted': 'b', 'rows': 2, 'share': 0.2}]
    """
    shares, errors = shares_of(matrix), matrix[:, : len(matrix)] * ~np.eye(len(matrix), dtype=bool)
    order = np.argsort(-errors, axis=None, kind="stable")[:MAX_CONFUSIONS]
    cells = [(int(row), int(column)) for row, column in zip(*np.unravel_index(order, errors.shape), strict=True)]
    return [
        {"true": names[row], "predicted": names[column], "rows": int(errors[row, column]), "share": float(shares[row, column])}
        for row, column in cells
        if errors[row, column] > 0
    ]
