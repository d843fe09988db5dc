r"""The label's probability for up to ``FEW`` classes: the same integral as in ``_lattice``, without its bins.

Few classes are not worth sorting into bins. Each finds the polynomials of :math:`\log\Phi(z - g)` and r there for its own gap:
the table has four rows, shifted against each other by a quarter of the node spacing, so a gap is never further than 1/32 from
one of them and four terms are exact to 1e-9. With so few classes log f turns slowly enough for one node spacing to resolve it
everywhere, see ``is_resolved`` in ``_lattice``: it turns by at most ``FEW / 16`` from node to node.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray, njit
from scipy.special import erfcx, log_ndtr

from metricfit.numerics.fused._easy_row import easy_row
from metricfit.numerics.fused._job import LEFT_OVER, pointer_to, row_arrays
from metricfit.numerics.fused._lattice import (
    DROP,
    LOG_SQRT_2PI,
    REACH,
    SQRT_2,
    SQRT_2_OVER_PI,
    X_MIN,
    ZERO64,
    exponentials,
    largest_of,
    left_end,
    whole_vectors,
)
from metricfit.numerics.fused._normal import cdf_parts
from metricfit.numerics.fused._options import FAST, INNER

FEW = 16
SPACING = 0.25  # of the nodes
SHIFTS = 4  # rows of the table
FINE = SPACING / SHIFTS
COLUMNS = int((40.0 - X_MIN) / SPACING)
BEYOND = 8.5  # log Phi(8.5) is -1e-17
MAX_FEW_NODES = 96
NEAR = -2.0
FEW_TERMS = 4
FEW_TABLE = (FEW_TERMS * SHIFTS * COLUMNS,)
ONE, TWO, THREE = (np.uint64(m * SHIFTS * COLUMNS) for m in range(1, FEW_TERMS))


def _tables() -> tuple[np.ndarray, np.ndarray]:
    r"""Coefficients in :math:`\delta^m` of :math:`\log\Phi(x + \delta)` (float64) and r there (float32), by m, shift and x."""
    reach, n_samples = 0.5 * FINE, 12
    delta = reach * np.cos((np.arange(n_samples) + 0.5) * np.pi / n_samples)
    fit = np.linalg.pinv(np.vander(delta / reach, FEW_TERMS, increasing=True)) / reach ** np.arange(FEW_TERMS)[:, None]
    x = X_MIN + FINE * np.arange(SHIFTS)[:, None] + SPACING * np.arange(COLUMNS)
    samples = x[..., None] + delta
    log_cdf = np.moveaxis(log_ndtr(samples) @ fit.T, -1, 0)
    ratio = np.moveaxis((SQRT_2_OVER_PI / erfcx(-samples / SQRT_2)) @ fit.T, -1, 0)
    ratio[:, np.abs(ratio).max(0) < 1e-32] = 0.0  # no denormals
    return np.ascontiguousarray(log_cdf).ravel(), np.ascontiguousarray(ratio, np.float32).ravel()


FEW_LOG_CDF, FEW_RATIO = _tables()


@njit(**INNER)
def log_win_two(gap):
    """Two classes: log Phi(-gap / sqrt 2), and how it falls with the gap."""
    log_p, r = cdf_parts(-gap / SQRT_2)
    return log_p, r / SQRT_2


@njit(**INNER)
def range_of_nodes(gaps, n_gaps, top, n_classes):
    r"""From where to where log f is within ``DROP`` of its maximum, and the gradient of a label far ahead comes from.

    The mode solves :math:`z = \sum_i r(z - g_i)`. With :math:`x = g - z`, :math:`(3x + \sqrt{x^2 + 8})/4 \le r \le
    (x + \sqrt{x^2 + 4})/2`; Newton's steps from the left on the lower bound stay left of the mode, and since log f curves by
    at least 1 the mode is no further to the right of any point than the slope there.
    """
    left = left_end(top)
    turn = max(0.0, top + math.sqrt(2.0 * math.log(n_classes)))
    right = math.sqrt(turn * turn + 2.0 * (DROP + 1.0))
    if top > 4.0:  # else these two are narrow enough
        mode = 0.5 * top
        for _ in range(4):
            slope, curvature, most = -mode, 1.0, -mode
            for i in range(n_gaps):
                x = gaps[i] - mode
                root = math.sqrt(x * x + 8.0)
                bound = 0.25 * (3.0 * x + root)
                if bound > 0.0:
                    slope += bound
                    curvature += 0.25 * (3.0 + x / root)
                most += 0.5 * (x + math.sqrt(x * x + 4.0))
            if slope < 0.05:
                break
            mode += slope / curvature
        half = math.sqrt(2.0 * DROP)
        left = max(left, mode - half)
        right = min(right, mode + max(most, 0.0) + half)
    return left, right


@njit(**FAST)
def half_squares(left, n_nodes, out):
    for q in range(n_nodes):
        z = left + SPACING * q
        out[q] = -0.5 * z * z


@njit(**INNER)
def within_drop(logs, count, largest):
    """First and number of the nodes that come within ``DROP`` of the largest value, in whole vectors."""
    first, last = ZERO64, count - 1
    while logs[first] < largest - DROP:
        first += 1
    while logs[last] < largest - DROP:
        last -= 1
    kept = whole_vectors(last - first + 1)
    return min(first, count - kept), kept


@njit(**INNER)
def place_in_table(x):
    """Column for the first node, and the distance that is left to its x."""
    place = int((x - X_MIN) * (1.0 / FINE) + 0.5)
    return (place % SHIFTS) * COLUMNS + place // SHIFTS, x - X_MIN - FINE * place


@njit(**FAST)
def add_one_log_cdf(table, column, delta, n_nodes, out):
    for q in range(n_nodes):
        c = column + q
        out[q] += table[c] + delta * (table[c + ONE] + delta * (table[c + TWO] + delta * table[c + THREE]))


@njit(**FAST)
def weighted_ratio(table, column, delta, weights, n_nodes):
    total = np.float32(0.0)
    for q in range(n_nodes):
        c = column + q
        total += weights[q] * (table[c] + delta * (table[c + ONE] + delta * (table[c + TWO] + delta * table[c + THREE])))
    return total


@njit(**FAST)
def normalized(weights, total, n_nodes, out):
    for q in range(n_nodes):
        out[q] = weights[q] / total


@njit(**INNER)
def log_win_few(job, lo, hi):
    """As ``log_win``."""
    scores, labels, scale, log_p, by_scores, by_scale = row_arrays(job)
    log_cdf = carray(pointer_to(job.log_cdf), FEW_TABLE, np.float64)
    ratio = carray(pointer_to(job.ratio), FEW_TABLE, np.float32)
    margin, ignored, with_gradient = job.margin, job.ignore_index, job.with_gradient != 0
    n_classes, left_over = scores.shape[1], 0
    gaps, deltas, columns, places = np.empty(FEW), np.empty(FEW), np.empty(FEW, np.int64), np.empty(FEW, np.int64)
    logs, weights, weights32 = np.empty(MAX_FEW_NODES), np.empty(MAX_FEW_NODES), np.empty(MAX_FEW_NODES, np.float32)
    for n in range(lo, hi):
        row, label, sigma = scores[n], labels[n], np.float64(scale[n * job.scale_step])
        out = by_scores[n] if with_gradient else by_scores[0]
        done, top = easy_row(n, row, label, sigma, margin, ignored, with_gradient, log_p, by_scale, out)
        if done:
            continue
        clipped, per_sigma = -margin / sigma, 1.0 / sigma
        if n_classes == 2:
            log_p[n], slope = log_win_two(top)
            if with_gradient:
                by_scale[n] = slope * top * per_sigma
                slope = 0.0 if top <= clipped else slope * per_sigma
                out[label], out[1 - label] = slope, -slope
            continue
        n_gaps, count = ZERO64, ZERO64
        if top < REACH:
            for i in range(n_classes):
                gap = max(np.float64(row[i] - row[label]) * per_sigma, clipped)
                if i != label:
                    gaps[n_gaps], places[n_gaps] = gap, i
                    n_gaps += 1
            left, right = range_of_nodes(gaps, n_gaps, top, n_classes)
            count = whole_vectors(int((right - left) / SPACING) + 2)
        if count == 0 or count > MAX_FEW_NODES:
            log_p[n] = LEFT_OVER
            left_over += 1
            continue
        n_nodes = np.uint64(count)
        half_squares(left, n_nodes, logs)
        for i in range(n_gaps):
            columns[i] = -1
            if left - gaps[i] < BEYOND:
                columns[i], deltas[i] = place_in_table(left - gaps[i])
                add_one_log_cdf(log_cdf, np.uint64(columns[i]), deltas[i], n_nodes, logs)
        largest = largest_of(logs, ZERO64, count, logs[0])
        first = ZERO64
        if top > NEAR:  # the gradient of a label far ahead comes from where f itself is small
            first, count = within_drop(logs, count, largest)
            n_nodes = np.uint64(count)
        total = exponentials(logs, np.uint64(first), largest, n_nodes, weights)
        log_p[n] = min(largest + math.log(total * SPACING) - LOG_SQRT_2PI, 0.0)
        if with_gradient:
            normalized(weights, total, n_nodes, weights32)
            moment, others = 0.0, 0.0
            for i in range(n_gaps):
                slope = 0.0
                if columns[i] >= 0:
                    slope = weighted_ratio(ratio, np.uint64(columns[i] + first), np.float32(deltas[i]), weights32, n_nodes)
                    slope *= per_sigma
                moment += slope * gaps[i]
                if gaps[i] <= clipped:
                    slope = 0.0
                others += slope
                out[places[i]] = -slope
            out[label] = others
            by_scale[n] = moment
    return left_over
