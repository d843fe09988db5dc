"""The loss of hitting the label, from raw scores to a scalar and its gradient in one go.

For small batches the price of a loss is not arithmetic but the number of operators on the way. Here score normalisation,
margin, integral, link and mean are a few calls on plain arrays around :func:`metricfit.numerics.fused._log_win.log_win`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from metricfit.numerics.fused._job import LEAKY, LEFT_OVER, LINEAR, LOG, NO_LINK, row_arrays
from metricfit.numerics.fused._options import FAST, INNER


@njit(**INNER)
def count(scores, labels, ignored, lo, hi, totals):
    """Rows that are used, sum and sum of squares of ``scores - shift`` in them, labels that are no class, and that shift.

    The sums are not finite if any score is not, also one in a row that is ignored.
    """
    n_classes, shift = scores.shape[1], np.float64(scores[0, 0])
    if lo == 0:
        totals[4] = shift
    for n in range(lo, hi):
        used = labels[n] != ignored
        total, squares = row_moments(scores[n], shift)
        if used or not squares < np.inf:
            totals[1] += total
            totals[2] += squares
        if used:
            totals[0] += 1.0
            totals[3] += not 0 <= labels[n] < n_classes


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


@njit(**INNER)
def link_row(job, row, log_hit, gradient, totals):
    r"""From the gradient of log p to ``factor`` times that of the loss, in place.

    Adds to the totals the row's loss and :math:`\sum s\,\partial/\partial s` of ``factor`` times it.
    """
    loss, slope = linked(np.float64(log_hit), job.link, job.link_parameter)
    totals[0] += loss
    if job.with_gradient:
        totals[1] += scale_row(gradient, row, np.float32(slope * job.factor))


@njit(**INNER)
def link_rows(job, lo, hi, totals):
    """``link_row`` for all rows that are used and finished."""
    scores, labels, _, log_p, gradient, _ = row_arrays(job)
    if job.link != NO_LINK:
        for n in range(lo, hi):
            if labels[n] != job.ignore_index and log_p[n] != LEFT_OVER:
                link_row(job, scores[n], log_p[n], gradient[n], totals)


@njit(**FAST)
def scale_row(gradient, scores, factor):
    dot = np.float32(0.0)
    for i in range(scores.shape[0]):
        gradient[i] *= factor
        dot += gradient[i] * scores[i]
    return np.float64(dot)


@njit(**FAST)
def add_spread(gradient, scores, labels, ignored, mean, factor, lo, hi):
    """What the scores do to the loss by way of their own standard deviation: ``factor`` times their distance from the mean."""
    for n in range(lo, hi):
        if labels[n] != ignored:
            for i in range(scores.shape[1]):
                gradient[n, i] += factor * (scores[n, i] - mean)
