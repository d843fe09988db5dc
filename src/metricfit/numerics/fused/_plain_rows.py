"""Rows without a lattice: those that need no integral, and in float64 those that no other kernel covers."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.polynomial.legendre import leggauss

from metricfit.numerics.fused._compile import INNER
from metricfit.numerics.fused._lattice import (
    LOG_SQRT_2PI,
    REACH_RIGHT,
    SQRT_2,
    SQRT_2_OVER_PI,
    ZERO64,
    fill,
    has_nan,
    largest_of,
    left_end,
)

EXACT_ORDER = 40
EXACT_DROP = 28.0
LARGEST_GAP = 1e15  # as in ``metricfit.numerics._race``
UNIT_NODES, UNIT_WEIGHTS = leggauss(EXACT_ORDER)


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
