"""The kernels: functions of the address of a ``Job``, each compiled by ``_compile.compile_kernel`` when it is first needed.

For small batches the cost of a loss is not arithmetic but the number of operators. So the kernels compute the whole loss
and its gradient from raw scores: score normalisation, the label's probability, link and mean.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray, njit

from metricfit.numerics.fused._compile import FAST, INNER
from metricfit.numerics.fused._job import (
    COUNT,
    LEAKY,
    LEFT_OVER,
    LINEAR,
    LOG,
    NO_LINK,
    own_rows,
    own_totals,
    pointer_to,
    row_arrays,
)
from metricfit.numerics.fused._lanes import FEW, log_win_in_lanes
from metricfit.numerics.fused._lattice import TABLE, fill
from metricfit.numerics.fused._lattice_rows import log_win, win_all
from metricfit.numerics.fused._plain_rows import EXACT_ORDER, log_win_exact

CHUNK = 2048  # rows whose gradients stay in the cache until their link


def stages(pointer):
    """The steps of the loss that concern the whole batch, before and after the rows."""
    job = carray(pointer, 1)[0]
    lo, hi, part = own_rows(job)
    scores, labels, _, _, by_scores, _ = row_arrays(job)
    if job.stage == COUNT:
        count(scores, labels, job.ignore_index, lo, hi, own_totals(job, part))
    else:
        add_spread(by_scores, scores, labels, job.ignore_index, job.shift, job.pull, lo, hi)


def label(pointer):
    """The label's probability, and its loss."""
    job = carray(pointer, 1)[0]
    lo, hi, part = own_rows(job)
    log_p, totals = row_arrays(job)[3], own_totals(job, part)
    for start in range(lo, hi, CHUNK):
        stop = min(start + CHUNK, hi)
        fill(log_p, start, stop, LEFT_OVER)
        left_over = stop - start
        if job.n_classes <= FEW:
            left_over = log_win_in_lanes(job, start, stop)
        if left_over:
            left_over = log_win(job, start, stop)
        totals[2] += left_over
        link_rows(job, start, stop, totals)


def label_exact(pointer):
    """The rows that ``label`` leaves over."""
    job = carray(pointer, 1)[0]
    lo, hi, part = own_rows(job)
    scores, labels, scale, log_p, by_scores, by_scale = row_arrays(job)
    totals, with_gradient = own_totals(job, part), job.with_gradient != 0
    gaps, nodes, weights = np.empty(job.n_classes), np.empty(EXACT_ORDER), np.empty(EXACT_ORDER)
    for n in range(lo, hi):
        if log_p[n] == LEFT_OVER:
            row, sigma, out = scores[n], np.float64(scale[n * job.scale_step]), by_scores[n]
            log_p[n], slope = log_win_exact(row, labels[n], sigma, job.margin, with_gradient, gaps, nodes, weights, out)
            if with_gradient:
                by_scale[n] = slope
            if job.link != NO_LINK:
                link_row(job, row, log_p[n], out, totals)


def all_classes(pointer):
    """Every class's probability, or its derivative."""
    job = carray(pointer, 1)[0]
    lo, hi, _ = own_rows(job)
    scores, _, scale, _, by_scores, by_scale = row_arrays(job)
    incoming = carray(pointer_to(job.incoming), scores.shape, np.float32)
    log_cdf = carray(pointer_to(job.log_cdf), TABLE, np.float64)
    ratio = carray(pointer_to(job.ratio), TABLE, np.float32)
    win_all(incoming, scores, scale, job.with_gradient != 0, by_scores, by_scale, log_cdf, ratio, lo, hi)


ALL = (stages, label, label_exact, all_classes)


@njit(**INNER)
def count(scores, labels, ignored, lo, hi, totals):
    """Number of used rows, sum and sum of squares of their ``scores - shift``, number of invalid labels, and the shift.

    The sums are not finite if any score is not, also in an ignored row.
    """
    first = 0  # the shift is a used score: far from it the sums would have no digits
    while first < scores.shape[0] - 1 and labels[first] == ignored:
        first += 1
    n_classes, shift = scores.shape[1], np.float64(scores[first, 0])
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
def link_and_slope(log_hit, link, parameter):
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
    loss, slope = link_and_slope(np.float64(log_hit), job.link, job.link_parameter)
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
    """Add the gradient through the standard deviation of the scores: ``factor`` times their distance from the mean."""
    for n in range(lo, hi):
        if labels[n] != ignored:
            for i in range(scores.shape[1]):
                gradient[n, i] += factor * (scores[n, i] - mean)
