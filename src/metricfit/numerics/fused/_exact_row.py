"""One row by plain quadrature in float64, for rows that the table cannot carry."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.polynomial.legendre import leggauss

from metricfit.numerics.fused._lattice import LOG_SQRT_2PI, REACH_RIGHT, ZERO64, left_end
from metricfit.numerics.fused._normal import cdf_parts
from metricfit.numerics.fused._options import INNER

EXACT_ORDER = 40
EXACT_DROP = 28.0
UNIT_NODES, UNIT_WEIGHTS = leggauss(EXACT_ORDER)


@njit(**INNER)
def height(gaps, n_gaps, z):
    """log f up to a constant, its slope and its curvature (both with the sign turned that makes them positive or falling)."""
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

    All Newton sequences are monotone, so they stop when a step no longer moves, at the latest after a fixed number.
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
    least = 1e-3 + 2e-15 * abs(mode)  # the rounding of huge heights must not carry an end over the mode
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
    """A row outside the table: returns log p and its derivative by the scale, writes the one by the scores."""
    top = -1e300
    for i in range(row.shape[0]):
        if i != label:
            top = max(top, (np.float64(row[i]) - row[label]) / scale)
    top = min(top, 1e15)
    low = left_end(max(top, -1e15)) - REACH_RIGHT - 2.0
    n_gaps = ZERO64
    for i in range(row.shape[0]):
        gap = min((np.float64(row[i]) - row[label]) / scale, 1e15)
        gap = max(gap, -margin / scale)
        if i != label and gap > low:
            gaps[n_gaps] = gap
            n_gaps += 1
    log_p = exact_row(gaps, n_gaps, nodes, weights)
    by_scale = 0.0
    if with_gradient:
        total = 0.0
        for i in range(row.shape[0]):
            gap = min((np.float64(row[i]) - row[label]) / scale, 1e15)
            clipped = gap <= -margin / scale
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
