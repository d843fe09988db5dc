"""What a gain means in rows and in costs: of 1,000 cases, how many more are right, found or falsely alarmed.

The functions of matrices take confusion matrices (k, k), whose rows are true classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metricfit._typing import Floats
from metricfit.comparison import CHANCE, UNKNOWN, Comparison, Difference, Result, p_in_words
from metricfit.metrics import Cost
from metricfit.report._figures import confusion
from metricfit.report._words import MetricWords

BASES = (1_000, 10_000, 100_000, 1_000_000)
FEWEST = 5  # cases of the rarest class that should be among the cases spoken of
MOST_CLASSES = 4  # whose changes are listed


@dataclass(frozen=True)
class Change:
    """A count per base of one contender and of the one that it is compared with; ``good`` is the sign of an improvement."""

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
        if abs(self.difference) < 0.05:
            return "same"
        return "better" if self.difference * self.good > 0.0 else "worse"


@dataclass(frozen=True)
class Step:
    """The contender instead of another one."""

    other: Result
    significance: str  # whether the difference in the metric may be chance, in words
    changes: list[Change]
    classes: list[tuple[Change, float]]  # the largest changes, each with the size of the class
    saving: float | None = None  # per base, for costs


@dataclass(frozen=True)
class Gain:
    """What a contender gains per ``base`` cases, scaled from the held-out rows of the first repeat."""

    result: Result
    base: int
    n_rows: int
    positive: str | None
    steps: list[Step]  # against the reference, and against a constant answer
    costs: list[tuple[Result, float]]  # per base; empty without costs


def gain(comparison: Comparison) -> Gain:
    """The main contender compared with the reference and with a constant answer, except with itself."""
    result, positive = comparison.main, comparison.positive_index
    constant = comparison.results.get(comparison.constant_name)
    base = base_of(np.bincount(comparison.labels, minlength=len(comparison.classes)).tolist())
    others = [(comparison.reference, result.difference)]
    if constant is not None:
        others.append((constant, result.above_constant))
    names, after = [str(label) for label in comparison.classes], confusion(comparison, result)
    costs = -comparison.measure.gains.numpy() if isinstance(comparison.measure, Cost) else None
    steps = []
    for other, difference in others:
        if other is result:
            continue
        before = confusion(comparison, other)
        changes = [] if positive is None else positive_changes(before, after, positive, base)
        classes = class_changes(before, after, names, base) if positive is None else []
        saving = None if costs is None else total_cost(before, costs, base) - total_cost(after, costs, base)
        right = [rows_right(before, after, base)]
        steps.append(Step(other, _significance(difference, comparison), [*changes, *right], classes, saving))
    shown = [] if costs is None else [result, *(step.other for step in steps)]
    return Gain(
        result,
        base,
        len(comparison.labels),
        None if positive is None else names[positive],
        steps,
        [] if costs is None else [(one, total_cost(confusion(comparison, one), costs, base)) for one in shown],
    )


def _significance(difference: Difference, comparison: Comparison) -> str:
    if difference.evidence == UNKNOWN:
        return "There are too few scores to say whether this is chance."
    what = f"The {MetricWords.of(comparison).difference}"
    after = f" (p {p_in_words(difference.p_holm)} after Holm)" if difference.is_tested else ""
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


def positive_changes(before: Floats, after: Floats, positive: int, base: int) -> list[Change]:
    """Two classes: positives found, and false alarms.

    >>> before = np.array([[80.0, 10.0], [6.0, 4.0]])
    >>> after = np.array([[78.0, 12.0], [3.0, 7.0]])
    >>> [(change.what, round(change.before), round(change.after)) for change in positive_changes(before, after, 1, 1000)]
    [('found', 40, 70), ('false alarms', 100, 120)]
    """
    scaled = per_base(before, base), per_base(after, base)
    negative = 1 - positive
    found = [float(matrix[positive, positive]) for matrix in scaled]
    alarms = [float(matrix[negative, positive]) for matrix in scaled]
    return [Change("found", found[0], found[1]), Change("false alarms", alarms[0], alarms[1], good=-1)]


def rows_right(before: Floats, after: Floats, base: int) -> Change:
    """Rows on the diagonal.

    >>> rows_right(np.eye(2), np.ones((2, 2)), 1000)
    Change(what='right', before=1000.0, after=500.0, good=1)
    """
    return Change("right", float(np.trace(per_base(before, base))), float(np.trace(per_base(after, base))))


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
