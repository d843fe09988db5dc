r"""Decisions that keep a constraint with a given confidence.

With probability :math:`1 - \alpha` over the draw of the rows, the constraint holds in the population that they came from.
The decisions along a :class:`Path` form a sequence, and each is tested exactly, because its hits are binomial. Some quantities
only grow along the path (recall, false positives, predicted rows): there all tests that reject are valid together. For the
others (precision, F1, cost) the sequence starts where the model's own probabilities expect most evidence, which needs no
labels. It goes on towards more predicted rows until a test does not reject. A bad start costs power, not validity.

Where that start lies may depend on the limit. So that "the best that can be promised" does not, the sequence begins with other
limits: 0.005, 0.01, ... up to the one in the constraint, each tested at its own start. The first that is not rejected ends it,
and the last before is the best that can be promised. All tests form one sequence whose order the labels do not influence, so
the answer as a whole is wrong with probability :math:`\alpha` at most.

Angelopoulos et al., "Learn then test", arXiv 2110.01052; Tong et al., "Neyman-Pearson classification algorithms", 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, betainc, betaincinv

from metricfit._typing import Floats, Ints
from metricfit.decisions._constraints import ClassConstraint, Constraint
from metricfit.decisions._hard import hard_confusion, row_blocks, sums_by_cell

_MOST_ENTRIES = 400_000  # of the matrices of all cuts that are compared
LIMITS = 200  # in steps of 1/200, what can be promised is found
MOST_STARTS = 2000  # cuts where tests may start


@dataclass(frozen=True)
class Path:
    """The decisions of all offsets of one class: cut j predicts the class for the first ``sizes[j]`` rows of ``order``."""

    order: Ints
    sizes: Ints
    shifts: Floats  # of the class at each cut
    rival: Ints  # the class that a row goes to before, (n,)

    @classmethod
    def of(cls, scores: Floats, moving: int, offsets: Floats | float = 0.0) -> Path:
        """The path of class ``moving`` for scores (n, k) and the offsets where it starts.

        >>> Path.of(np.array([[0.0, 2.0], [0.0, -1.0]]), 1).shifts.tolist()
        [-3.0, -0.5, 2.0]
        """
        margin, rival = np.empty(len(scores)), np.empty(len(scores), np.int64)
        for rows in row_blocks(scores):
            others = scores[rows] + offsets
            own = others[:, moving].copy()
            others[:, moving] = -np.inf
            margin[rows], rival[rows] = own - others.max(1), others.argmax(1)
        order = np.argsort(-margin, kind="stable")
        ranked = margin[order]
        last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # of rows with the same margin
        ends = np.concatenate([[ranked[0] + 2.0], ranked[last], [ranked[-1] - 2.0]])
        return cls(order, np.append(0, last + 1), -0.5 * (ends[:-1] + ends[1:]), rival)

    def two_by_two(self, is_class: Floats | NDArray[np.bool_], weight: Floats | float = 1.0) -> Floats:
        """Matrices (m, 2, 2) of the class, which is the second, against the others; ``is_class`` may be probabilities."""
        belongs = np.asarray(is_class, np.float64)
        others, own = self._sums(weight * (1.0 - belongs)), self._sums(weight * belongs)
        return np.stack([np.stack([one[-1] - one, one], -1) for one in (others, own)], -2)

    def _sums(self, values: NDArray[Any]) -> Floats:
        """Of the values of the rows that each cut predicts as the class."""
        return np.append(0.0, np.cumsum(values[self.order]))[self.sizes]

    def matrices(self, cuts: Ints, labels: Ints, n_classes: int, moving: int) -> Floats:
        """Matrices of these cuts, in increasing order, with all classes: (len(cuts), k, k)."""
        rank = np.empty(len(labels), np.int64)
        rank[self.order] = np.arange(len(labels))
        first = np.searchsorted(self.sizes[cuts], rank, side="right")  # cut that predicts the class for the row
        shape, ones = (len(cuts) + 1, n_classes, n_classes), np.ones(len(labels))
        cells = first * n_classes**2 + labels * n_classes
        change = (sums_by_cell(cells + moving, ones, shape) - sums_by_cell(cells + self.rival, ones, shape))[:-1]
        return hard_confusion(self.rival, labels, ones, n_classes) + np.cumsum(change, 0)

    def thin(self, cuts: Ints, n_classes: int) -> Ints:
        """At most so many cuts, evenly, that their matrices fit in memory."""
        most = max(_MOST_ENTRIES // n_classes**2, 100)
        return cuts if len(cuts) <= most else cuts[np.linspace(0, len(cuts) - 1, most).astype(np.int64)]


@dataclass(frozen=True)
class Promise:
    """The cuts that keep a constraint, all of them together with the confidence; if there are none, what can be promised.

    ``limit`` is the strictest limit that passed on the way to the one of the constraint, and ``cut`` keeps it.
    """

    cuts: NDArray[np.bool_]
    limit: float | None = None
    cut: int = 0


def promise(
    path: Path,
    is_class: NDArray[np.bool_],
    probability: Floats,
    one: ClassConstraint,
    alpha: float,
) -> Promise:
    """Test the cuts for a constraint about a class of the path's 2 x 2 matrices.

    ``probability`` is the model's own of the second class, (n,). It chooses where the test of each limit is made: where it
    expects most evidence.
    """
    share, matrices = one.constraint.share, path.two_by_two(is_class)
    passed = _p_values(matrices, one) <= alpha
    if share is None:
        side = 1.0 if one.constraint.wants_more else -1.0
        start = int((side * one.values(path.two_by_two(probability))).argmax())
        return Promise(_walk(passed, start, one.index), _mean_limit(matrices[[start]], one, alpha), start)
    hits, trials = share.counts(matrices, one.index)
    if share.is_monotone:
        bounds = share.value(_bounds(hits, trials, one.constraint.wants_more, alpha)) if not passed.any() else trials
        cut = int(bounds.argmax() if one.constraint.wants_more else bounds.argmin())
        return Promise(passed, _rounded(float(bounds[cut]), one.constraint.wants_more), cut)
    limits = _sequence(one.constraint)
    starts = _starts(path.two_by_two(probability), one, alpha, limits)
    tests = binomial_p_values(hits[starts], trials[starts], share.share(limits), one.constraint.wants_more)
    n_passed = int(np.append(tests <= alpha, False).argmin())
    if n_passed == len(limits):
        return Promise(_walk(passed, starts[-1], one.index))
    nothing = np.zeros(len(passed), bool)
    return Promise(nothing) if n_passed == 0 else Promise(nothing, float(limits[n_passed - 1]), int(starts[n_passed - 1]))


def _sequence(constraint: Constraint) -> Floats:
    """Limits from loose to strict, in steps that do not depend on that of the constraint, which is the last.

    >>> _sequence(Constraint("precision", ">=", 0.022)).tolist()
    [0.005, 0.01, 0.015, 0.02, 0.022]
    """
    grid, limit = np.arange(1, LIMITS) / LIMITS, constraint.limit
    return np.append(grid[grid < limit], limit) if constraint.wants_more else np.append(grid[grid > limit][::-1], limit)


def _walk(passed: NDArray[np.bool_], start: int, index: int = 1) -> NDArray[np.bool_]:
    """The cuts from the start to the last before one that does not pass, towards more rows of the class of this index.

    >>> _walk(np.array([True, True, True, False, True]), 1).tolist()
    [False, True, True, False, False]
    """
    if index == 0:
        return _walk(passed[::-1], len(passed) - 1 - start)[::-1]
    cuts, stop = np.arange(len(passed)), start + int(np.append(passed[start:], False).argmin())
    return (start <= cuts) & (cuts < stop)


def _starts(matrices: Floats, one: ClassConstraint, alpha: float, limits: Floats) -> Ints:
    """For each limit the cut where its test is made, by expected matrices.

    It is the cut of most evidence, in standard errors, with the trials that a test needs to reject. If the model expects
    evidence nowhere, it is the cut with the best bound, because the model may be wrong.
    """
    share, wants_more = one.constraint.share, one.constraint.wants_more
    side = 1.0 if wants_more else -1.0
    assert share is not None
    some = np.unique(np.linspace(0, len(matrices) - 1, MOST_STARTS).astype(np.int64))
    hits, trials = share.counts(matrices[some], one.index)
    expected = np.divide(hits, trials, out=np.full_like(trials, 0.5 - 0.5 * side), where=trials > 0.0)
    n = np.maximum(trials, 1.0)
    bounds = side * expected - 2.0 * np.sqrt(np.maximum(expected * (1.0 - expected), 0.25 / n) / n)
    found = []
    for limit in share.share(limits).tolist():
        evidence = side * (hits - limit * trials) / np.sqrt(np.maximum(trials, 1e-300))
        enough = trials >= _fewest_trials(limit, wants_more, alpha)
        if (evidence[enough] > 0.0).any():
            found.append(np.where(enough, evidence, 0.0).argmax())
        else:
            found.append(np.where(enough | ~enough.any(), bounds, -np.inf).argmax())
    return some[np.array(found)]


def _rounded(limit: float, wants_more: bool) -> float:
    """To three digits, on the safe side."""
    return math.floor(limit * 1000.0) / 1000.0 if wants_more else math.ceil(limit * 1000.0) / 1000.0


def fewest_rows(constraint: Constraint, alpha: float) -> int:
    """The trials that the best possible result needs: all of them hits, or none.

    >>> fewest_rows(Constraint("recall", ">=", 0.95), 0.1), fewest_rows(Constraint("fpr", "<=", 0.01), 0.1)
    (45, 230)
    """
    share = constraint.share
    return 1 if share is None else _fewest_trials(share.share(constraint.limit), constraint.wants_more, alpha)


def _fewest_trials(limit: float, wants_more: bool, alpha: float) -> int:
    chance = limit if wants_more else 1.0 - limit  # of one trial
    return 0 if chance == 0.0 else math.ceil(math.log(alpha) / math.log(chance))


def _bounds(hits: Floats, trials: Floats, is_lower: bool, alpha: float) -> Floats:
    """The exact bounds of shares on one side."""
    if is_lower:
        return np.where(hits > 0.0, betaincinv(np.maximum(hits, 1e-300), trials - hits + 1.0, alpha), 0.0)
    return np.where(hits < trials, betaincinv(hits + 1.0, np.maximum(trials - hits, 1e-300), 1.0 - alpha), 1.0)


def _p_values(matrices: Floats, one: ClassConstraint) -> Floats:
    """Of the hypothesis that the constraint does not hold, for every matrix."""
    share = one.constraint.share
    if share is None:
        return _mean_p_values(matrices, one)
    (hits, trials), limit = share.counts(matrices, one.index), share.share(one.constraint.limit)
    return binomial_p_values(hits, trials, limit, one.constraint.wants_more)


def binomial_p_values(hits: Floats, trials: Floats, limit: Floats | float, wants_more: bool) -> Floats:
    """The chance of so many hits or more (or fewer) if the share were the limit.

    >>> binomial_p_values(np.array([2.0]), np.array([2.0]), 0.5, True).tolist()
    [0.25]
    """
    if wants_more:
        return np.where(hits > 0, betainc(np.maximum(hits, 1.0), np.maximum(trials - hits, 0.0) + 1.0, limit), 1.0)
    misses = trials - hits
    return np.where(misses > 0, betainc(np.maximum(misses, 1.0), hits + 1.0, 1.0 - limit), 1.0)


def _mean_p_values(matrices: Floats, one: ClassConstraint) -> Floats:
    """For the mean cost of rows, by the bounds of Hoeffding and Bentkus (arXiv 2110.01052, Eq. 5)."""
    low, high = (-end for end in one.metric.bounds[::-1])
    n, limit = float(matrices[0].sum()), (one.constraint.limit - low) / ((high - low) or 1.0)
    mean = (one.values(matrices) - low) / ((high - low) or 1.0)
    if one.constraint.wants_more:
        mean, limit = 1.0 - mean, 1.0 - limit
    if limit <= 0.0 or limit >= 1.0:
        return np.full(len(matrices), float(limit <= 0.0))
    below = np.clip(mean, 1e-300, limit)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = below * np.log(below / limit) + (1.0 - below) * np.log((1.0 - below) / (1.0 - limit))
    hoeffding = np.exp(-n * np.nan_to_num(entropy))
    return np.minimum(np.minimum(hoeffding, math.e * bdtr(np.ceil(n * mean), int(n), limit)), 1.0)


def _mean_limit(matrix: Floats, one: ClassConstraint, alpha: float) -> float | None:
    """The strictest limit of the mean cost that a matrix (1, 2, 2) keeps with confidence; None if no limit does."""

    def is_kept(limit: float) -> bool:
        return bool(_mean_p_values(matrix, replace(one, constraint=replace(one.constraint, limit=limit)))[0] <= alpha)

    strict, loose = float(one.values(matrix)[0]), -one.metric.bounds[1 if one.constraint.wants_more else 0]
    for _ in range(50):
        middle = 0.5 * (strict + loose)
        strict, loose = (strict, middle) if is_kept(middle) else (middle, loose)
    limit = _rounded(loose, one.constraint.wants_more)
    return limit if is_kept(limit) else None


def promise_in_words(what: str, confidence: float, rows: str = "such rows") -> str:
    """State the promise and its limits.

    >>> promise_in_words("it is >= 0.9", 0.8)[:75]
    'With probability 0.8 over the draw of such rows it is >= 0.9 in the populat'
    """
    return (
        f"With probability {confidence:g} over the draw of {rows} {what} in the population that they came from. This says "
        "nothing about single batches or rows from another source."
    )
