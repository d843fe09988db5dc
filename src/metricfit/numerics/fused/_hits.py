"""The loss of hitting the label, from raw scores to a scalar and its gradient in one go.

For small batches the price of a loss is not arithmetic but the number of operators on the way. Here score normalisation,
margin, integral, link and mean are a few calls on plain arrays around :func:`metricfit.numerics.fused._log_win.log_win`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from metricfit.numerics.fused._lattice import is_finite
from metricfit.numerics.fused._options import ENTRY, FAST, FAST_ENTRY, INNER

LINEAR, LOG, LEAKY, POWER = range(4)


@njit(**ENTRY)
def used_labels(labels, n_classes, ignore_index, used):
    """Labels, -1 for rows that are ignored; returns how many are not, or -1 if a label is out of range."""
    count = 0
    for n in range(labels.shape[0]):
        label = labels[n]
        if label == ignore_index:
            used[n] = -1
        elif 0 <= label < n_classes:
            used[n] = label
            count += 1
        else:
            return -1
    return count


@njit(**ENTRY)
def all_finite(scores):
    for n in range(scores.shape[0]):
        if not is_finite(scores[n]):
            return False
    return True


@njit(**ENTRY)
def moments(scores, used, shift, lo, hi):
    """Number, sum and sum of squares of ``scores - shift`` over the rows that are used; NaN if any score is not finite."""
    count, total, squares = 0, 0.0, 0.0
    for n in range(lo, hi):
        row_total, row_squares = row_moments(scores[n], shift)
        if used[n] >= 0 or not row_squares < np.inf:
            count += scores.shape[1]
            total += row_total
            squares += row_squares
    return count, total, squares


@njit(**FAST)
def row_moments(row, shift):
    total, squares = 0.0, 0.0
    for i in range(row.shape[0]):
        distance = np.float64(row[i]) - shift
        total += distance
        squares += distance * distance
    return total, squares


@njit(**INNER)
def linked(log_hit, link, parameter):
    """A link of ``metricfit.links`` and its derivative, both as functions of the logarithm."""
    hit = math.exp(log_hit)
    if link == LINEAR:
        return 1.0 - hit, -hit
    if link == LOG:
        return -log_hit, -1.0
    if link == LEAKY:
        return 1.0 - hit - parameter * log_hit, -hit - parameter
    return -math.expm1(parameter * log_hit) / parameter, -math.exp(parameter * log_hit)


@njit(**ENTRY)
def link_rows(scores, used, link, parameter, factor, with_gradient, gradient, log_p, lo, hi):
    r"""From the gradient of log p to ``factor`` times that of the loss, in place.

    Returns the sum of the rows' losses and :math:`\sum s\,\partial/\partial s` of ``factor`` times it.
    """
    total, dot = 0.0, 0.0
    for n in range(lo, hi):
        loss, slope = linked(np.float64(log_p[n]), link, parameter)
        if used[n] >= 0:
            total += loss
        if with_gradient:
            dot += scale_row(gradient[n], scores[n], np.float32(slope * factor if used[n] >= 0 else 0.0))
    return total, dot


@njit(**FAST)
def scale_row(gradient, scores, factor):
    dot = np.float32(0.0)
    for i in range(scores.shape[0]):
        gradient[i] *= factor
        dot += gradient[i] * scores[i]
    return np.float64(dot)


@njit(**FAST_ENTRY)
def add_spread(gradient, scores, used, mean, factor, lo, hi):
    """What the scores do to the loss by way of their own standard deviation: ``factor`` times their distance from the mean."""
    for n in range(lo, hi):
        if used[n] >= 0:
            for i in range(scores.shape[1]):
                gradient[n, i] += factor * (scores[n, i] - mean)
