"""One offset per class, so that ``argmax(scores + offsets)`` does best on a metric: thresholds for any number of classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from metricfit._typing import Floats, Ints
from metricfit.decisions._calibration import fit_temperature
from metricfit.decisions._guard import Guard
from metricfit.decisions._hard import counts_values, hard_confusion, largest_class, metric_values, row_blocks, sums_by_cell
from metricfit.decisions._smoothed import NormalOfTwo, softmax_of_any
from metricfit.metrics import CountsMetric, Metric, needs_counts_only

NORMAL_WIDTH, SOFTMAX_WIDTH = 0.4, 0.3  # of the noise on calibrated scores; softmax for more than two classes
_MOST_ENTRIES = 400_000  # of the matrices or counts of all candidates together
_LEAST_CANDIDATES = 64
_MOST_ROUNDS = 10
_MANY_ENTRIES, _FEW_STEPS = 1_000_000, 50  # of a table whose offsets are searched in fewer steps
_ROUNDING = 1e-12  # of a sum of weights
_CLEARLY = 2.0  # standard errors of a difference


def fit_smooth_offsets(
    scores: Floats, labels: Ints, metric: Metric, weight: Floats, temperature: float | None = None
) -> Floats:
    r"""Offsets that maximise the metric under noise: :math:`\max_o M(C_\sigma(S + o))` by L-BFGS.

    Noise of this width has been found to help for calibrated scores (the docs say on which data); other scores are brought to
    that scale by their temperature, which is fitted if it is not given. If the decisions are then clearly worse than without
    offsets, the best offsets for the metric itself are taken: precision under noise is best where a class is hardly
    predicted, and then no row is.
    """
    is_large = scores.size > _MANY_ENTRIES and scores.shape[1] > 2
    rounds = 1 if is_large else _MOST_ROUNDS  # the climb under noise follows
    start = np.zeros(scores.shape[1]) if metric.counts_hits else fit_offsets(scores, labels, metric, weight, rounds=rounds)
    temperature = fit_temperature(scores, labels, weight) if temperature is None else temperature
    found = _climb_under_noise(scores, labels, metric, weight, start, temperature)
    return start if are_clearly_worse(found, scores, labels, metric, weight) else found


def are_clearly_worse(offsets: Floats, scores: Floats, labels: Ints, metric: Metric, weight: Floats) -> bool:
    """Whether these rows are decided worse with the offsets than without, by more than two standard errors."""
    guard = Guard(labels, weight, scores.shape[1], metric)
    plain, decided = scores.argmax(1), largest_class(scores, offsets)
    loss = guard.value(plain) - guard.value(decided)
    return loss > 0.0 and loss > _CLEARLY * guard.difference_error(plain, decided)


def _climb_under_noise(
    scores: Floats, labels: Ints, metric: Metric, weight: Floats, start: Floats, temperature: float
) -> Floats:
    """The maximum under noise that L-BFGS finds from the start."""
    n_classes = scores.shape[1]
    if n_classes == 2:
        noisy, difference = NormalOfTwo(metric, labels, weight, NORMAL_WIDTH * temperature), scores[:, 1] - scores[:, 0]

        def by_gap(gap: Floats) -> tuple[float, Floats]:
            value, slopes = noisy(difference + gap[0])
            return value, slopes.sum(keepdims=True)

        gap = minimize(by_gap, start[1:] - start[:1], jac=True, method="L-BFGS-B").x[0]
        return np.array([-0.5 * gap, 0.5 * gap])
    noisy_of_all = softmax_of_any(metric, labels, weight, n_classes, SOFTMAX_WIDTH * temperature)

    def by_offsets(offsets: Floats) -> tuple[float, Floats]:
        value, slopes = noisy_of_all(scores + offsets)
        return value, slopes.sum(0)

    steps = {"maxiter": _FEW_STEPS} if scores.size > _MANY_ENTRIES else {}
    offsets = minimize(by_offsets, start, jac=True, method="L-BFGS-B", options=steps).x
    return offsets - offsets.mean()


def fit_offsets(
    scores: Floats,
    labels: Ints,
    metric: Metric,
    weight: Floats,
    start: Floats | None = None,
    rounds: int = _MOST_ROUNDS,
    moving: Iterable[int] | None = None,
) -> Floats:
    """The best offsets for the metric itself, from a given start; no checks. Only classes in ``moving`` move, if given."""
    n_classes = scores.shape[1]
    offsets = np.zeros(n_classes) if start is None else start.copy()
    moving = [1] if n_classes == 2 else list(range(n_classes) if moving is None else moving)
    rows, value = _Rows(scores, labels, weight, offsets), -np.inf
    for _ in range(rounds):
        before = value
        for label in moving:
            offset, value = _best_offset(rows, metric, label)
            rows.move(label, offset)
        if n_classes == 2 or not value > before + 1e-12:
            break
    return offsets - offsets.mean()


def cross_fit_offsets(
    scores: Floats, labels: Ints, metric: Metric, weight: Floats, parts: Sequence[Ints], fit: Any = fit_offsets
) -> list[Floats]:
    """For every part of the rows the offsets that ``fit`` finds on the other rows; a single part gets those of all rows."""
    offsets = []
    for part in parts:
        others = np.delete(np.arange(len(labels)), part) if len(parts) > 1 else part
        offsets.append(fit(scores[others], labels[others], metric, weight[others]))
    return offsets


class _Rows:
    """Rows with the two best classes of each, kept up to date while offsets move: a move looks at few rows again."""

    def __init__(self, scores: Floats, labels: Ints, weight: Floats, offsets: Floats) -> None:
        self.scores, self.labels, self.weight, self.offsets = scores, labels, weight, offsets
        self.shifted = scores + offsets
        self.index = np.arange(len(labels))
        self.best, self.second = _two_best(self.shifted)

    @property
    def n_classes(self) -> int:
        return self.scores.shape[1]

    def rival_of(self, label: int) -> Ints:
        """The best of the other classes, (n,)."""
        return np.where(self.best == label, self.second, self.best)

    def move(self, label: int, offset: float) -> None:
        if offset == self.offsets[label]:
            return
        self.offsets[label] = offset
        self.shifted[:, label] = self.scores[:, label] + offset
        reached = self.shifted[:, label] >= self.shifted[self.index, self.second]
        stale = np.flatnonzero(reached | (self.best == label) | (self.second == label))
        self.best[stale], self.second[stale] = _two_best(self.shifted[stale])


def _two_best(shifted: Floats) -> tuple[Ints, Ints]:
    """The best and the second class of each row; of equal ones the first."""
    best, second = shifted.argmax(1), np.empty(len(shifted), np.int64)
    for rows in row_blocks(shifted):
        others = shifted[rows].copy()
        np.put_along_axis(others, best[rows, None], -np.inf, 1)
        second[rows] = others.argmax(1)
    return best, second


def _best_offset(rows: _Rows, metric: Metric, moving: int) -> tuple[float, float]:
    """The best offset of one class while the others stay, as near as possible to where it is, and the metric it gives."""
    rival = rows.rival_of(moving)
    # a row goes to the class once its offset is above this
    threshold = rows.shifted[rows.index, rival] - rows.scores[:, moving]
    steps, group = np.unique(threshold, return_inverse=True)
    ends = _group_ends(len(steps), metric, rows.n_classes, int(np.searchsorted(steps, rows.offsets[moving])))
    candidate = np.searchsorted(ends, np.arange(len(steps)), side="right") + 1  # of every step
    moves = moving, rival, candidate[group], len(ends) + 1
    values = _by_counts(rows, metric, *moves) if needs_counts_only(metric) else _by_matrix(rows, metric, *moves)
    values, here = np.nan_to_num(values, nan=-np.inf), rows.offsets[moving]
    best = np.flatnonzero(values >= values.max() - 1e-12)
    # candidate g gives the rows of the first g groups to the class: its offset lies between the last threshold of these and
    # the first of the next
    below = np.append(-np.inf, steps[ends - 1])[best]
    above = np.concatenate([steps[:1], steps[ends[:-1]], [np.inf]])[best]
    if ((below < here) & (here < above)).any():
        return here, float(values.max())
    offsets = 0.5 * (np.maximum(below, steps[0] - 2.0) + np.minimum(above, steps[-1] + 2.0))
    return float(offsets[np.abs(offsets - here).argmin()]), float(values.max())


def _by_matrix(rows: _Rows, metric: Metric, moving: int, rival: Ints, group: Ints, n_cuts: int) -> Floats:
    """The metric for every candidate, from its matrix; row i goes from its rival to the class with candidate ``group[i]``."""
    n_classes = rows.n_classes
    shape = (n_cuts, n_classes, n_classes)
    cells = group * n_classes**2 + rows.labels * n_classes
    change = sums_by_cell(cells + moving, rows.weight, shape) - sums_by_cell(cells + rival, rows.weight, shape)
    change[0] = hard_confusion(rival, rows.labels, rows.weight, n_classes)
    return metric_values(metric, _running_sums(change, rows))


def _by_counts(rows: _Rows, metric: CountsMetric, moving: int, rival: Ints, group: Ints, n_cuts: int) -> Floats:
    """The same from hits and predictions per class, which take 2k numbers instead of k x k."""
    n_classes, labels, weight = rows.n_classes, rows.labels, rows.weight
    shape, cells = (n_cuts, n_classes), group * n_classes
    own, lost = np.flatnonzero(labels == moving), np.flatnonzero(labels == rival)
    predicted = sums_by_cell(cells + moving, weight, shape) - sums_by_cell(cells + rival, weight, shape)
    hits = sums_by_cell(cells[own] + moving, weight[own], shape) - sums_by_cell(cells[lost] + rival[lost], weight[lost], shape)
    predicted[0] = sums_by_cell(rival, weight, (n_classes,))
    hits[0] = sums_by_cell(rival[lost], weight[lost], (n_classes,))
    support = sums_by_cell(labels, weight, (n_classes,))
    return counts_values(metric, _running_sums(hits, rows), support, _running_sums(predicted, rows))


def _running_sums(change: Floats, rows: _Rows) -> Floats:
    """Sums over the candidates so far; what rounding leaves of a class that lost all its rows is none."""
    sums = np.cumsum(change, 0)
    sums[np.abs(sums) < _ROUNDING * rows.weight.sum()] = 0.0
    return sums


def _group_ends(n_steps: int, metric: Metric, n_classes: int, here: int) -> Ints:
    """How many steps the class has after each group, so that the matrices or counts of all candidates fit in memory.

    One of many classes has few rows, so its first groups are the smallest. The steps that it has ``here`` are the end of one:
    the best candidate is then never worse.
    """
    most = max(_MOST_ENTRIES // (n_classes * (2 if needs_counts_only(metric) else n_classes)), _LEAST_CANDIDATES)
    if n_steps <= most:
        return np.arange(1, n_steps + 1)
    stride = -(-n_steps // most)
    even = np.append(np.arange(stride, n_steps, stride), n_steps)
    return even if n_classes == 2 else np.unique([*np.geomspace(1, n_steps, most).astype(np.int64), max(here, 1)])
