r"""At most so many answers of a class in a batch, and the best ones.

For values :math:`V_{ij}` of answer j to row i and caps :math:`B_j`, the answers solve

.. math:: \max \sum_i V_{i a_i} \quad\text{subject to}\quad |\{i: a_i = j\}| \le B_j

This is a transportation problem: its linear programme has whole numbers as solution. With one cap, the rows that gain most get
the class. With several, each class has a price :math:`\lambda_j \ge 0`, and the best answers are those of the largest
:math:`V_{ij} - \lambda_j`. Most rows have a clear answer at prices that are nearly right, so the programme is solved for the
others only, which gives better prices. The answers are optimal as soon as their value equals the bound of the dual,
:math:`\sum_i \max_j (V_{ij} - \lambda_j) + \sum_j \lambda_j B_j`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import eye_array, kron

from metricfit._printable import did_you_mean
from metricfit._typing import Floats, Ints

N_SAMPLE, N_UNCLEAR = 20_000, 300  # rows that set the first prices, and rows whose answer is not clear, at first
MOST_ROUNDS = 50  # of prices
GAP = 1e-7  # to the bound, of the largest value, for each row


@dataclass(frozen=True)
class Budget:
    """Caps by the index of a class: a number of rows (int), or a share of the rows of a batch (float)."""

    by_class: Mapping[int, int | float]

    @classmethod
    def read(cls, budget: Mapping[Any, Any], classes: Sequence[Any]) -> Self:
        """A budget such as ``{"fraud": 200}``, ``{"fraud": 0.02}`` or ``{"fraud": "2%"}``.

        >>> Budget.read({"fraud": "2%"}, ["fraud", "ok"]).caps(1000)
        array([20., inf])
        """
        if not isinstance(budget, Mapping) or not budget:
            raise ValueError(f"`budget` should be a dictionary such as {{'fraud': 200}} or {{'fraud': '2%'}}, got {budget!r}.")
        caps = dict[int, int | float]()
        for label, given in budget.items():
            if label not in classes:
                near = did_you_mean(label, map(str, classes))
                raise ValueError(f"`budget` should name classes of the rule, {list(classes)}, got {label!r}.{near}")
            if (cap := _read_cap(given)) is None:
                raise ValueError(
                    f"`budget` of {label!r} should be a number of rows, such as 200, or a share, such as 0.02 or '2%', got "
                    f"{given!r}."
                )
            caps[classes.index(label)] = cap
        return cls(dict(sorted(caps.items(), key=lambda item: isinstance(item[1], float))))  # numbers of rows first

    def caps(self, n_rows: int, n_classes: int = 2) -> Floats:
        """The most answers of each class to ``n_rows`` rows, (k,); infinite for classes without a cap."""
        found = np.full(n_classes, np.inf)
        for index, cap in self.by_class.items():
            found[index] = np.floor(cap * n_rows + 1e-9) if isinstance(cap, float) else cap
        if found.sum() < n_rows:
            raise ValueError(
                f"`budget` allows {found.sum():,.0f} answers to {n_rows:,} rows. Leave out the class that the others get."
            )
        return found

    def assign(self, values: Floats) -> Ints:
        """The best answers within the budget to rows with these values (n, k)."""
        return best_within(values, self.caps(*values.shape))

    def by_label(self, labels: Sequence[Any]) -> dict[Any, float]:
        """The budget as :meth:`read` takes it."""
        return {labels[index]: cap for index, cap in self.by_class.items()}

    def describe(self, labels: Sequence[Any]) -> str:
        return " and ".join(
            f"{labels[index]!r} for at most {f'{100.0 * cap:.4g}% of the' if isinstance(cap, float) else f'{cap:,}'} rows"
            for index, cap in self.by_class.items()
        )

    def to_plain(self) -> dict[str, Any]:
        kinds = {"counts": int, "shares": float}
        return {name: [item for item in self.by_class.items() if isinstance(item[1], kind)] for name, kind in kinds.items()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        counts = {int(index): int(count) for index, count in plain["counts"]}
        return cls(counts | {int(index): float(share) for index, share in plain["shares"]})


def _read_cap(given: Any) -> int | float | None:
    """A number of rows, or a share of them; None if it is neither."""
    is_percentage = isinstance(given, str) and given.strip().endswith("%")
    if isinstance(given, str):
        text = given.strip()
        try:
            number = float(text.removesuffix("%"))
            given = number / 100.0 if is_percentage else int(number) if "." not in text and number == int(number) else number
        except (ValueError, OverflowError):  # not a number, or an infinite one
            return None
    if isinstance(given, bool) or not isinstance(given, Real):
        return None
    if isinstance(given, Integral):
        return int(given) if int(given) >= 0 else None
    if 0.0 <= (share := float(given)) <= 1.0:
        return share
    return int(share) if share.is_integer() and share > 1.0 and not is_percentage else None


def best_within(values: Floats, caps: Floats) -> Ints:
    """The answers (n,) of the largest sum of values (n, k) with at most ``caps`` answers of each class.

    >>> best_within(np.array([[0.0, 3.0], [0.0, 1.0], [0.0, 2.0]]), np.array([np.inf, 2.0])).tolist()
    [1, 0, 1]
    """
    answers = values.argmax(1)
    if (np.bincount(answers, minlength=len(caps)) <= caps).all():
        return answers
    capped = np.flatnonzero(caps < len(values))
    return _with_one_cap(values, int(capped[0]), int(caps[capped[0]])) if len(capped) == 1 else _by_prices(values, caps)


def _with_one_cap(values: Floats, index: int, cap: int) -> Ints:
    """The rows that gain most by the class get it."""
    others = values.copy()
    others[:, index] = -np.inf
    answers = others.argmax(1)
    gain = values[:, index] - others.max(1)
    chosen = np.argsort(-gain, kind="stable")[:cap]
    answers[chosen[gain[chosen] > 0.0]] = index
    return answers


def _by_prices(values: Floats, caps: Floats) -> Ints:
    """For several caps: by prices, and a linear programme for the rows whose answer they leave open."""
    n_rows = len(values)
    unit = float(np.abs(values).max()) or 1.0
    scaled, finite = values / unit, np.isfinite(caps)
    some = np.linspace(0, n_rows - 1, min(n_rows, N_SAMPLE)).astype(np.int64)
    prices = _climb(scaled[some], np.ceil(caps * len(some) / n_rows), np.zeros(len(caps)))
    if n_rows > N_SAMPLE:
        _, unclear, left = _clear_answers(scaled, caps, prices, max(N_SAMPLE, n_rows // 10))
        if (left >= 0.0).all():
            prices = _climb(scaled[unclear], left, prices)
    n_unclear = N_UNCLEAR
    while True:
        answers, unclear, left = _clear_answers(scaled, caps, prices, n_unclear)
        if (left >= 0.0).all():
            answers[unclear], found = _programme(scaled[unclear], left)
            bound = (scaled - found).max(1).sum() + found[finite] @ caps[finite]
            if bound - scaled[np.arange(n_rows), answers].sum() <= GAP * n_rows or len(unclear) == n_rows:
                return answers
        n_unclear *= 4


def _climb(values: Floats, caps: Floats, prices: Floats) -> Floats:
    """Prices that nearly minimise the dual: one at a time is set to the gain of the last row that its cap allows."""
    prices = prices.copy()
    for _ in range(MOST_ROUNDS):
        before = prices.copy()
        for index in np.flatnonzero(caps < len(values)):
            others = values - prices
            others[:, index] = -np.inf
            gain = values[:, index] - others.max(1)
            rank = len(gain) - 1 - int(caps[index])  # of the best row that the cap leaves out
            prices[index] = max(float(np.partition(gain, rank)[rank]), 0.0)
        if np.abs(prices - before).max() < GAP:
            break
    return prices


def _clear_answers(values: Floats, caps: Floats, prices: Floats, n_unclear: int) -> tuple[Ints, Ints, Floats]:
    """The answers at these prices, the rows with the smallest margins, and what the other rows leave of the caps."""
    priced = values - prices
    answers, top = priced.argmax(1), np.partition(priced, -2, 1)
    margin = top[:, -1] - top[:, -2]
    limit = np.inf if n_unclear >= len(margin) else np.partition(margin, n_unclear)[n_unclear] + GAP
    is_unclear = margin <= limit
    return answers, np.flatnonzero(is_unclear), caps - np.bincount(answers[~is_unclear], minlength=len(caps))


def _programme(values: Floats, caps: Floats) -> tuple[Ints, Floats]:
    """The linear programme, and the prices of the classes. Rows with the same values are one variable for each class."""
    kinds, kind, supply = np.unique(values.round(12), axis=0, return_inverse=True, return_counts=True)
    (m, k), finite = kinds.shape, np.isfinite(caps)
    of_rows, of_classes = kron(eye_array(m), np.ones((1, k))).tocsr(), kron(np.ones((1, m)), eye_array(k)).tocsr()[finite]
    found = linprog(-kinds.ravel(), of_classes, caps[finite], of_rows, supply, method="highs-ds")
    if found.status != 0:
        raise ValueError(f"`budget` could not be kept: {found.message}")
    counts = found.x.reshape(m, k).round().astype(np.int64)
    answers = np.empty(len(values), np.int64)
    answers[np.argsort(kind.ravel(), kind="stable")] = np.repeat(np.tile(np.arange(k), m), counts.ravel())
    prices = np.zeros(k)
    prices[finite] = np.maximum(-found.ineqlin.marginals, 0.0)
    return answers, prices
