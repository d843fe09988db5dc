r"""Decisions that keep a constraint with a given confidence.

With probability :math:`1 - \alpha` over the draw of the rows, the constraint holds in the population that they came from.
The decisions along a :class:`Path` form a sequence, and each is tested exactly, because its hits are binomial. Some quantities
only grow along the path (recall, false positives, predicted rows): there all tests that reject are valid together. For the
others (precision, F1, cost) the sequence starts where the model's own probabilities expect most evidence, which needs no
labels. It goes on towards more predicted rows until a test does not reject. A bad start costs power, not validity.

If the first test does not reject, the bound at the start is what can be promised instead. It lies on the wrong side of the
limit, and it fails together with the first test or not at all, so that the answer as a whole is wrong with probability
:math:`\alpha` at most.

Angelopoulos et al., "Learn then test", arXiv 2110.01052; Tong et al., "Neyman-Pearson classification algorithms", 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, betainc, betaincinv

from metricfit._typing import Floats, Ints
from metricfit.decisions._constraints import ClassConstraint, Constraint
from metricfit.decisions._hard import hard_confusion, sums_by_cell

_MOST_ENTRIES = 400_000  # of the matrices of all cuts that are compared


@dataclass(frozen=True)
class Path:
    """The decisions of all offsets of one class: cut j predicts the class for the first ``sizes[j]`` rows of ``order``."""

    order: Ints
    sizes: Ints
    shifts: Floats  # of the class at each cut
    rival: Ints  # the class that a row goes to before, (n,)

    @classmethod
    def of(cls, scores: Floats, moving: int) -> Path:
        """The path of class ``moving`` for scores (n, k), offsets included.

        >>> Path.of(np.array([[0.0, 2.0], [0.0, -1.0]]), 1).shifts.tolist()
        [-3.0, -0.5, 2.0]
        """
        others = scores.copy()
        others[:, moving] = -np.inf
        margin = scores[:, moving] - others.max(1)
        order = np.argsort(-margin, kind="stable")
        ranked = margin[order]
        last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # of rows with the same margin
        ends = np.concatenate([[ranked[0] + 2.0], ranked[last], [ranked[-1] - 2.0]])
        return cls(order, np.append(0, last + 1), -0.5 * (ends[:-1] + ends[1:]), others.argmax(1))

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


def promised_cuts(
    path: Path, is_class: NDArray[np.bool_], probability: Floats, one: ClassConstraint, alpha: float
) -> NDArray[np.bool_]:
    """Which cuts keep the constraint, with probability ``1 - alpha`` all of them together.

    The constraint is about a class of the path's 2 x 2 matrices, and ``probability`` is the model's own of the second, (n,).
    """
    share = one.constraint.share
    passed = _p_values(path.two_by_two(is_class), one) <= alpha
    if share is not None and share.is_monotone:
        return passed
    start = _start(path.two_by_two(probability), one, alpha)
    return _walk(passed, start) if one.index == 1 else _walk(passed[::-1], len(passed) - 1 - start)[::-1]


def _walk(passed: NDArray[np.bool_], start: int) -> NDArray[np.bool_]:
    """The cuts from the start to the last before one that does not pass.

    >>> _walk(np.array([True, True, True, False, True]), 1).tolist()
    [False, True, True, False, False]
    """
    index, stop = np.arange(len(passed)), start + int(np.append(passed[start:], False).argmin())
    return (start <= index) & (index < stop)


def _start(matrices: Floats, one: ClassConstraint, alpha: float) -> int:
    """The cut of most evidence for the constraint, in standard errors, by expected matrices.

    It has the trials that a test needs to reject. If the model expects evidence nowhere, it is the cut with the best bound
    that it expects: the model may be wrong.
    """
    share, side = one.constraint.share, 1.0 if one.constraint.wants_more else -1.0
    if share is None:
        return int((side * one.values(matrices)).argmax())
    hits, trials = share.counts(matrices, one.index)
    evidence = side * (hits - share.share(one.constraint.limit) * trials) / np.sqrt(np.maximum(trials, 1e-300))
    enough = trials >= fewest_rows(one.constraint, alpha)
    if not share.is_monotone and (evidence[enough] > 0.0).any():
        return int(np.where(enough, evidence, 0.0).argmax())
    expected = np.divide(hits, trials, out=np.full_like(trials, 0.5 - 0.5 * side), where=trials > 0.0)
    n = np.maximum(trials, 1.0)
    spread = np.sqrt(np.maximum(expected * (1.0 - expected), 0.25 / n) / n)
    return int(np.where(enough | ~enough.any(), side * expected - 2.0 * spread, -np.inf).argmax())


def best_promise(
    path: Path, is_class: NDArray[np.bool_], probability: Floats, one: ClassConstraint, alpha: float
) -> tuple[int, float]:
    """Where no cut keeps the constraint: the first that was tested, and the limit that it keeps, to three digits."""
    share = one.constraint.share
    assert share is not None
    cut = _start(path.two_by_two(probability), one, alpha)
    found, of = (float(counts[cut]) for counts in share.counts(path.two_by_two(is_class), one.index))
    bound = float(share.value(np.asarray(_bound(found, of, one.constraint.wants_more, alpha))))
    return cut, math.floor(bound * 1000.0) / 1000.0 if one.constraint.wants_more else math.ceil(bound * 1000.0) / 1000.0


def fewest_rows(constraint: Constraint, alpha: float) -> int:
    """The trials that the best possible result needs: all of them hits, or none.

    >>> fewest_rows(Constraint("recall", ">=", 0.95), 0.1), fewest_rows(Constraint("fpr", "<=", 0.01), 0.1)
    (45, 230)
    """
    share = constraint.share
    if share is None:
        return 1
    limit = share.share(constraint.limit)
    chance = limit if constraint.wants_more else 1.0 - limit  # of one trial
    return 0 if chance == 0.0 else math.ceil(math.log(alpha) / math.log(chance))


def _bound(hits: float, trials: float, is_lower: bool, alpha: float) -> float:
    """The exact bound of a share on one side."""
    if trials <= 0.0:
        return 0.0 if is_lower else 1.0
    if is_lower:
        return float(betaincinv(hits, trials - hits + 1.0, alpha)) if hits > 0.0 else 0.0
    return float(betaincinv(hits + 1.0, trials - hits, 1.0 - alpha)) if hits < trials else 1.0


def _p_values(matrices: Floats, one: ClassConstraint) -> Floats:
    """Of the hypothesis that the constraint does not hold, for every matrix."""
    share = one.constraint.share
    if share is None:
        return _mean_p_values(matrices, one)
    (hits, trials), limit = share.counts(matrices, one.index), share.share(one.constraint.limit)
    return binomial_p_values(hits, trials, limit, one.constraint.wants_more)


def binomial_p_values(hits: Floats, trials: Floats, limit: float, wants_more: bool) -> Floats:
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
