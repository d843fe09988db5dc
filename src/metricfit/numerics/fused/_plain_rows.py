r"""Rows without bins: those that need no integral, those of up to ``FEW`` classes, and those outside all tables.

Sorting few classes into bins does not pay. Each looks up the polynomials of :math:`\log\Phi(z - g)` and r for its own gap.
The table has four rows, shifted against each other by a quarter of the node spacing, so a gap is at most 1/32 from one of them
and four terms are exact to 1e-9. With so few classes, one node spacing resolves log f everywhere: it turns by at most
``FEW / 16`` from node to node, see ``is_resolved`` in ``_lattice``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray, njit
from numpy.polynomial.legendre import leggauss
from scipy.special import erfcx, log_ndtr

from metricfit.numerics.fused._compile import FAST, INNER
from metricfit.numerics.fused._job import LEFT_OVER, pointer_to, row_arrays
from metricfit.numerics.fused._lattice import (
    DROP,
    LOG_SQRT_2PI,
    REACH,
    REACH_RIGHT,
    SQRT_2,
    SQRT_2_OVER_PI,
    X_MIN,
    ZERO64,
    exponentials,
    fill,
    has_nan,
    largest_of,
    left_end,
    whole_vectors,
)

EXACT_ORDER = 40
EXACT_DROP = 28.0
LARGEST_GAP = 1e15  # as in ``metricfit.numerics._race``
UNIT_NODES, UNIT_WEIGHTS = leggauss(EXACT_ORDER)

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
def cdf_parts(x):
    r""":math:`\log\Phi(x)` and :math:`r(x) = \varphi(x)/\Phi(x)`, in float64."""
    if x < -12.0:  # continued fraction of the Mills ratio: sixteen levels are exact to rounding here
        fraction = 0.0
        for level in range(16, 0, -1):
            fraction = level / (fraction - x)
        r = fraction - x
        return -0.5 * x * x - LOG_SQRT_2PI - math.log(r), r
    density = math.exp(-0.5 * x * x - LOG_SQRT_2PI)
    if x < 0.0:
        below = 0.5 * math.erfc(-x / SQRT_2)
        return math.log(below), density / below
    above = 0.5 * math.erfc(x / SQRT_2)
    return math.log1p(-above), density / (1.0 - above)


@njit(**INNER)
def log_win_ahead(row, label, scale, margin, with_gradient, out):
    """log p of a label so far ahead that two others never pass it together: the pairwise probabilities add up."""
    lost, by_scale, total = 0.0, 0.0, 0.0
    for i in range(row.shape[0]):
        slope = 0.0
        raw = np.float64(row[i] - row[label]) / scale
        gap = max(raw, -margin / scale)
        if i != label and gap > -26.0:  # e**-169 is below float32
            lost += 0.5 * math.erfc(-0.5 * gap)
            if with_gradient:
                slope = math.exp(-0.25 * gap * gap) * (0.5 * SQRT_2_OVER_PI / SQRT_2)
                by_scale += slope * gap
                slope = 0.0 if raw < -margin / scale else slope / scale
                total += slope
        if with_gradient:
            out[i] = -slope
    if with_gradient:
        out[label] = total
    return math.log1p(-lost), by_scale / scale


@njit(**INNER)
def finish_easy_row(n, row, label, sigma, margin, ignored, with_gradient, log_p, by_scale, out):
    """Finish a row that needs no integral: returns whether it did, and the largest gap between another class and the label."""
    n_classes = row.shape[0]
    if label == ignored:
        log_p[n] = 0.0
        if with_gradient:
            fill(out, ZERO64, n_classes, np.float32(0.0))
        return True, 0.0
    top = largest_of(row, ZERO64, label, np.float32(-np.inf))
    top = largest_of(row, label + 1, n_classes, top)
    top = np.float64(top - row[label])
    if has_nan(row) or not sigma > 0.0 or not top < np.inf:
        log_p[n] = np.nan
        if with_gradient:
            by_scale[n] = np.nan
            fill(out, ZERO64, n_classes, np.float32(np.nan))
        return True, 0.0
    top = min(max(top / sigma, -margin / sigma), LARGEST_GAP)
    if top < -9.0 - 0.5 * math.log(n_classes):
        log_p[n], slope = log_win_ahead(row, label, sigma, margin, with_gradient, out)
        if with_gradient:
            by_scale[n] = slope
        return True, top
    return False, top


@njit(**INNER)
def log_win_two(gap):
    """Two classes: log Phi(-gap / sqrt 2), and minus its derivative by the gap."""
    log_p, r = cdf_parts(-gap / SQRT_2)
    return log_p, r / SQRT_2


@njit(**INNER)
def range_of_nodes(gaps, n_gaps, top, n_classes):
    r"""The range where log f is within ``DROP`` of its maximum, or where the gradient of a label far ahead comes from.

    The mode solves :math:`z = \sum_i r(z - g_i)`. With :math:`x = g - z`, :math:`(3x + \sqrt{x^2 + 8})/4 \le r \le
    (x + \sqrt{x^2 + 4})/2`; Newton's steps from the left on the lower bound stay left of the mode, and since the
    curvature of log f is at most -1, the mode is to the right of any point by at most the slope there.
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
def nodes_within_drop(logs, count, largest):
    """Index of the first node within ``DROP`` of the largest value, and number of such nodes, in whole vectors."""
    first, last = ZERO64, count - 1
    while logs[first] < largest - DROP:
        first += 1
    while logs[last] < largest - DROP:
        last -= 1
    kept = whole_vectors(last - first + 1)
    return min(first, count - kept), kept


@njit(**INNER)
def place_in_table(x):
    """Column of the table for the first node, and the remaining distance to its x."""
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
def normalize(weights, total, n_nodes, out):
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
        done, top = finish_easy_row(n, row, label, sigma, margin, ignored, with_gradient, log_p, by_scale, out)
        if done:
            continue
        clipped, per_sigma = -margin / sigma, 1.0 / sigma
        if n_classes == 2:
            log_p[n], slope = log_win_two(top)
            if with_gradient:
                by_scale[n] = slope * top * per_sigma
                slope = 0.0 if row[1 - label] - row[label] < -margin else slope * per_sigma
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
            first, count = nodes_within_drop(logs, count, largest)
            n_nodes = np.uint64(count)
        total = exponentials(logs, np.uint64(first), largest, n_nodes, weights)
        log_p[n] = min(largest + math.log(total * SPACING) - LOG_SQRT_2PI, 0.0)
        if with_gradient:
            normalize(weights, total, n_nodes, weights32)
            moment, others = 0.0, 0.0
            for i in range(n_gaps):
                slope = 0.0
                if columns[i] >= 0:
                    slope = weighted_ratio(ratio, np.uint64(columns[i] + first), np.float32(deltas[i]), weights32, n_nodes)
                    slope *= per_sigma
                moment += slope * gaps[i]
                if row[places[i]] - row[label] < -margin:
                    slope = 0.0
                others += slope
                out[places[i]] = -slope
            out[label] = others
            by_scale[n] = moment
    return left_over


@njit(**INNER)
def height(gaps, n_gaps, z):
    """log f up to a constant, its slope, and minus its curvature."""
    value, slope, curvature = -0.5 * z * z, -z, 1.0
    for i in range(n_gaps):
        x = z - gaps[i]
        log_cdf, r = cdf_parts(x)
        value += log_cdf
        slope += r
        curvature += 1.0 if x < -100.0 else min(max(r * (x + r), 0.0), 1.0)
    return value, slope, curvature


@njit(**INNER)
def exact_row(gaps, n_gaps, nodes, weights):
    """Mode, drop points, Gauss-Legendre, as in ``metricfit.numerics._race``: fills nodes and weights, returns log p.

    All Newton sequences are monotone, so they stop when a step is small, at the latest after a fixed number.
    """
    top = 0.0
    for i in range(n_gaps):
        top = max(top, gaps[i])
    mode = 0.5 * top
    for _ in range(12):
        _, slope, curvature = height(gaps, n_gaps, mode)
        mode += slope / curvature
        if slope < 1e-3 * curvature:
            break
    peak, _, _ = height(gaps, n_gaps, mode)
    least = 1e-3 + 2e-15 * abs(mode)  # the rounding of huge heights must not move an end past the mode
    left, right = mode, mode
    for side in range(2):
        inward = 1.0 if side == 0 else -1.0
        point = mode - inward * math.sqrt(2.0 * EXACT_DROP)
        for _ in range(12):
            value, slope, _ = height(gaps, n_gaps, point)
            step = max(peak - EXACT_DROP - value, 0.0) / max(abs(slope), 1.0)
            point += inward * step
            if step < 1e-2:
                break
        point = inward * min(inward * point, inward * mode - least)
        if side == 0:
            left = point
        else:
            right = point
    order = EXACT_ORDER
    for q in range(order):
        nodes[q] = 0.5 * (left + right) + 0.5 * (right - left) * UNIT_NODES[q]
        weights[q], _, _ = height(gaps, n_gaps, nodes[q])
    largest = weights[0]
    for q in range(1, order):
        largest = max(largest, weights[q])
    total = 0.0
    for q in range(order):
        weights[q] = 0.5 * (right - left) * UNIT_WEIGHTS[q] * math.exp(weights[q] - largest)
        total += weights[q]
    for q in range(order):
        weights[q] /= total
    return largest + math.log(total) - LOG_SQRT_2PI


@njit(**INNER)
def log_win_exact(row, label, scale, margin, with_gradient, gaps, nodes, weights, out):
    """log p of a row outside the table, and its derivative by the scale; writes the derivative by the scores."""
    top = -1e300
    for i in range(row.shape[0]):
        if i != label:
            top = max(top, (np.float64(row[i]) - row[label]) / scale)
    top = min(top, LARGEST_GAP)
    low = left_end(max(top, -LARGEST_GAP)) - REACH_RIGHT - 2.0
    n_gaps = ZERO64
    for i in range(row.shape[0]):
        gap = min((np.float64(row[i]) - row[label]) / scale, LARGEST_GAP)
        gap = max(gap, -margin / scale)
        if i != label and gap > low:
            gaps[n_gaps] = gap
            n_gaps += 1
    log_p = exact_row(gaps, n_gaps, nodes, weights)
    by_scale = 0.0
    if with_gradient:
        total = 0.0
        for i in range(row.shape[0]):
            gap = min((np.float64(row[i]) - row[label]) / scale, LARGEST_GAP)
            clipped = gap < -margin / scale
            gap = max(gap, -margin / scale)
            slope = 0.0
            if i != label and gap > low:
                for q in range(EXACT_ORDER):
                    slope += weights[q] * cdf_parts(nodes[q] - gap)[1]
                by_scale += slope * gap
            slope = 0.0 if clipped else slope / scale
            total += slope
            out[i] = -slope
        out[label] = total
    return log_p, by_scale / scale
