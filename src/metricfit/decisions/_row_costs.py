"""Costs of answers that differ from row to row, and what they add up to: money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from metricfit._typing import Floats, Ints
from metricfit.decisions._intervals import Interval, Judgement, Z
from metricfit.decisions._rows import sums_by_draw
from metricfit.metrics import Cost


@dataclass(frozen=True)
class RowCosts:
    """The cost of answer j for class c: ``matrix[c, j]``, or ``columns[c, j]`` (n,) where it depends on the row."""

    matrix: Floats  # (k, k); zero where there is a column
    columns: Mapping[tuple[int, int], Floats]

    @classmethod
    def read(cls, cost: Cost, classes: list[Any], costs: Any, n_rows: int) -> Self:
        """The costs of ``n_rows`` rows, whose columns are in ``costs``: a data frame, or a dictionary of arrays."""
        entries, found = cost.entries(classes), cost_columns(cost, costs, n_rows)
        columns = {
            (true, answer): found[entry]
            for true, row in enumerate(entries)
            for answer, entry in enumerate(row)
            if isinstance(entry, str)
        }
        numbers = [[0.0 if isinstance(entry, str) else entry for entry in row] for row in entries]
        return cls(np.array(numbers), columns)

    def take(self, index: Ints | NDArray[np.bool_]) -> RowCosts:
        return RowCosts(self.matrix, {cell: column[index] for cell, column in self.columns.items()})

    def expected(self, probability: Floats) -> Floats:
        """The expected cost of every answer, (n, k).

        >>> RowCosts(np.array([[0.0, 5.0], [0.0, 0.0]]), {(1, 0): np.array([10.0, 90.0])}).expected(np.full((2, 2), 0.5))
        array([[ 5. ,  2.5],
               [45. ,  2.5]])
        """
        found = probability @ self.matrix
        for (true, answer), column in self.columns.items():
            found[:, answer] += probability[:, true] * column
        return found

    def benefit_and_harm(self, probability: Floats, default: int) -> tuple[Floats, Floats]:
        """What every answer is expected to save against the answer ``default``, and what it costs more: both (n, k)."""
        benefit, harm = np.zeros((2, *probability.shape))
        for true, answer in np.ndindex(self.matrix.shape):
            saved = probability[:, true] * (self._cell(true, default) - self._cell(true, answer))
            benefit[:, answer] += np.maximum(saved, 0.0)
            harm[:, answer] -= np.minimum(saved, 0.0)
        return benefit, harm

    def paid(self, labels: Ints, answers: Ints, of_none: float | None = None) -> Floats:
        """The cost of these answers, (n,); ``of_none`` is that of no answer, -1."""
        found = self.matrix[labels, answers]
        if of_none is not None:
            found[answers < 0] = of_none
        for (true, answer), column in self.columns.items():
            here = (labels == true) & (answers == answer)
            found[here] = column[here]
        return found

    def _cell(self, true: int, answer: int) -> Any:
        return self.columns.get((true, answer), self.matrix[true, answer])


def has_row_costs(metric: Any) -> TypeGuard[Cost]:
    """Whether a metric names columns of costs, which differ from row to row."""
    return isinstance(metric, Cost) and bool(metric.columns)


def check_costs(metric: Any, costs: Any) -> None:
    """Raise a ValueError for costs that the metric does not name."""
    if costs is not None and not has_row_costs(metric):
        raise ValueError("`costs` is for the columns that a metric `Cost` names, and this metric names none.")


def cost_columns(cost: Any, costs: Any, n_rows: int) -> dict[str, Floats]:
    """The columns that a metric names, from a data frame or a dictionary, or else the arrays that it was made of."""
    check_costs(cost, costs)
    if not has_row_costs(cost):
        return {}
    if costs is None and set(cost.columns) <= set(cost.arrays):
        costs = cost.arrays
    if costs is None:
        raise ValueError(f"`costs` should have the column {cost.columns[0]!r} of the costs: pass a data frame with it.")
    return {name: _column(costs, name, n_rows) for name in cost.columns}


def _column(costs: Any, name: str, n_rows: int) -> Floats:
    try:
        found = np.asarray(costs[name], np.float64)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        known = getattr(costs, "columns", getattr(costs, "column_names", costs.keys() if isinstance(costs, Mapping) else ()))
        has = f"it has {', '.join(map(repr, list(known)[:5]))}" if len(known) else f"got {type(costs).__name__}"
        raise ValueError(f"`costs` should have a column {name!r} of numbers: pass a data frame with it; {has}.") from error
    if found.shape != (n_rows,):
        raise ValueError(f"`costs` should have {n_rows:,} rows like the scores, got {found.shape} in {name!r}.")
    if wrong := int((~np.isfinite(found)).sum()):
        raise ValueError(f"`costs` should have a finite number in every row of {name!r}, got {wrong:,} that are not.")
    return found


@dataclass(frozen=True)
class Saving:
    """What a rule saves against another way to answer the same rows, with its 95 % interval."""

    against: str
    total: float
    interval: Interval


@dataclass(frozen=True)
class Money:
    """What the answers to some rows cost, and what they save against simple ways to answer.

    The intervals are of the differences, row by row: a row is one draw, and so is a group.
    """

    total: float
    n_rows: float  # the sum of their weights
    interval: Interval
    savings: tuple[Saving, ...]

    @property
    def per_1000(self) -> float:
        return 1000.0 * self.total / self.n_rows

    @classmethod
    def of(cls, paid: Floats, others: Mapping[str, Floats], weight: Floats, groups: Ints | None = None) -> Self:
        """From the cost of each row, and what it costs by other ways to answer.

        >>> found = Money.of(np.array([1.0, 3.0]), {"always 'ok'": np.array([5.0, 4.0])}, np.ones(2))
        >>> found.total, found.per_1000, found.savings[0].total
        (4.0, 2000.0, 5.0)
        """
        savings = (
            Saving(name, float(weight @ (other - paid)), _interval(weight * (other - paid), groups))
            for name, other in others.items()
        )
        return cls(float(weight @ paid), float(weight.sum()), _interval(weight * paid, groups), tuple(savings))

    def judgement(self, is_cross_fitted: bool) -> Judgement:
        """The metric is minus the mean cost of a row, and the gain is over the first of the others."""
        (low, high), saved, n = self.interval, self.savings[0], self.n_rows
        gain = saved.interval[0] / n, saved.interval[1] / n
        return Judgement(-self.total / n, (-high / n, -low / n), -(self.total + saved.total) / n, gain, is_cross_fitted)

    def sentences(self, where: str) -> list[str]:
        lines = [
            f"The predictions cost {self.total:,.2f} ({_ends(self.interval)}) {where}, {self.per_1000:,.2f} per 1,000 rows."
        ]
        return lines + [
            f"That saves {one.total:,.2f} ({_ends(one.interval)}) compared with {one.against}, "
            f"{1000.0 * one.total / self.n_rows:,.2f} per 1,000 rows."
            for one in self.savings
        ]

    def to_plain(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "n_rows": self.n_rows,
            "interval": list(self.interval),
            "savings": [[one.against, one.total, list(one.interval)] for one in self.savings],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        savings = tuple(Saving(against, total, (low, high)) for against, total, (low, high) in plain["savings"])
        return cls(plain["total"], plain["n_rows"], tuple(plain["interval"]), savings)


def _interval(amounts: Floats, groups: Ints | None) -> Interval:
    """Of the sum of independent amounts, one for each row or group."""
    draws = sums_by_draw(amounts, groups)
    total, half = float(amounts.sum()), Z * float(np.sqrt(len(draws)) * draws.std(ddof=min(1, len(draws) - 1)))
    return total - half, total + half


def _ends(interval: Interval) -> str:
    return f"{interval[0]:,.2f} … {interval[1]:,.2f}"
