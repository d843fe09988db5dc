"""Rows that need no integral: ignored ones, a label far ahead, and what is not a number."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from metricfit.numerics.fused._lattice import SQRT_2, SQRT_2_OVER_PI, ZERO64, fill, has_nan, largest_of
from metricfit.numerics.fused._options import INNER


@njit(**INNER)
def log_win_ahead(row, label, scale, margin, with_gradient, out):
    """A label so far ahead that no two others are ever in the race together: the pairwise probabilities add up."""
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
                slope = 0.0 if raw <= -margin / scale else slope / scale
                total += slope
        if with_gradient:
            out[i] = -slope
    if with_gradient:
        out[label] = total
    return math.log1p(-lost), by_scale / scale


@njit(**INNER)
def easy_row(n, row, label, sigma, margin, ignored, with_gradient, log_p, by_scale, out):
    """Whether the row could be finished here, and if not the largest gap between another class and the label."""
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
    top = max(top / sigma, -margin / sigma)
    if top < -9.0 - 0.5 * math.log(n_classes):
        log_p[n], slope = log_win_ahead(row, label, sigma, margin, with_gradient, out)
        if with_gradient:
            by_scale[n] = slope
        return True, top
    return False, top
