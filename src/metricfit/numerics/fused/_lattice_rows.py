"""Rows on the lattice of ``_lattice``: probability of the label among many classes, and of every class, with derivatives."""

from __future__ import annotations

import math

import numpy as np
from numba import carray, njit

from metricfit.numerics.fused._compile import FAST, INNER
from metricfit.numerics.fused._job import LEFT_OVER, pointer_to, row_arrays
from metricfit.numerics.fused._lattice import (
    DROP,
    GAIN_DROP,
    LEVELS,
    LOG_SQRT_2PI,
    MAX_BINS,
    MAX_NODES,
    REACH,
    REACH_RIGHT,
    TABLE,
    TERMS,
    TERMS64,
    WIDTH,
    ZERO64,
    add_log_cdf,
    add_powers,
    bracket,
    clear,
    expand_ratio,
    exponentials,
    fill,
    has_nan,
    is_resolved,
    largest_of,
    left_end,
    level_end,
    level_origin,
    occupied_slots,
    polynomial_at,
    power_sums,
    to_lattice,
    total_slopes,
    whole_vectors,
    write_slopes,
)
from metricfit.numerics.fused._plain_rows import finish_easy_row


@njit(**FAST)
def half_squares(first, spacing, n_nodes, out):
    for q in range(n_nodes):
        z = (first + q) * spacing
        out[q] = -0.5 * z * z


@njit(**INNER)
def place_nodes(log_cdf, sums, bins, n_bins, first_bin, top, n_classes, logs):
    r"""Nodes on the coarsest lattice that resolves f, and log f there.

    log f is concave, so the nodes near its maximum on one lattice bracket the nodes near it on the next finer one. Returns
    the level (-1 if none is fine enough), the lattice point of ``logs[0]``, the nodes' range in it and the largest log f.
    """
    # To the right of where all Phi together are above 1/e, f falls like the normal density.
    turn = max(0.0, top + math.sqrt(2.0 * math.log(n_classes)))
    right = math.sqrt(turn * turn + 2.0 * (DROP + 1.0))
    first = int(math.floor(left_end(top) / WIDTH))
    n_nodes = whole_vectors(int(math.ceil(right / WIDTH)) - first + 1)
    for level in range(LEVELS):
        if n_nodes > MAX_NODES:
            break
        spacing = WIDTH / (1 << level)
        half_squares(first, spacing, n_nodes, logs)
        origin = level_origin(level, first, first_bin)
        add_log_cdf(log_cdf, sums, bins, n_bins, origin, level_end(level), 1 << level, n_nodes, logs)
        largest, start, last = bracket(logs, n_nodes, DROP)
        if top < 0.0:  # see ``left_end``
            gain_start = int(math.floor((0.5 * top - 3.5) / spacing)) - first
            while start > 0 and start > gain_start and logs[start] > largest - GAIN_DROP:
                start -= 1
        if is_resolved(logs, max(start, 1), min(last, n_nodes - 2), largest, top):
            return level, first, start, last + 1, largest
        start, last = max(start - 1, 0), min(last + 1, n_nodes - 1)
        first = 2 * (first + start)
        n_nodes = whole_vectors(2 * (last - start) + 1)
    return -1, first, 0, 0, 0.0


@njit(**FAST)
def write_gradient(coefficients, slots, deltas, row, origin, least, factor, out):
    """-R times ``factor`` for classes not clipped by the margin; returns the sums of these R and of all R times distance."""
    total, moment = 0.0, 0.0
    for i in range(slots.shape[0]):
        slope, distance = polynomial_at(coefficients, slots[i], deltas[i]), row[i] - origin
        free = slope if distance >= least else np.float32(0.0)
        out[i] = -free * factor
        total += np.float64(free)
        moment += np.float64(slope * max(distance, least))
    return total, moment


@njit(**INNER)
def log_win(job, lo, hi):
    r"""log p, and with a gradient its derivatives by the scores and by the scale, of the rows marked by ``LEFT_OVER``.

    Returns the number of rows outside the table; they stay marked.
    """
    scores, labels, scale, log_p, by_scores, by_scale = row_arrays(job)
    log_cdf = carray(pointer_to(job.log_cdf), TABLE, np.float64)
    ratio = carray(pointer_to(job.ratio), TABLE, np.float32)
    margin, ignored, with_gradient = job.margin, job.ignore_index, job.with_gradient != 0
    n_classes = scores.shape[1]
    slots, deltas = np.empty(n_classes, np.int32), np.empty(n_classes, np.float32)
    sums, n_bins = np.zeros(2 * MAX_BINS * TERMS), ZERO64
    coefficients = np.zeros(MAX_BINS * TERMS, np.float32)  # slot 0 stays zero
    bins = np.empty(MAX_BINS, np.int64)
    logs, weights, weights32 = np.empty(MAX_NODES), np.empty(MAX_NODES), np.empty(MAX_NODES, np.float32)
    left_over = 0
    for n in range(lo, hi):
        if log_p[n] != LEFT_OVER:
            continue
        row, label, sigma = scores[n], labels[n], np.float64(scale[n * job.scale_step])
        out = by_scores[n] if with_gradient else by_scores[0]
        done, top = finish_easy_row(n, row, label, sigma, margin, ignored, with_gradient, log_p, by_scale, out)
        if done:
            continue
        level = -1
        if top < REACH:
            first_bin = int(math.floor((left_end(top) - REACH_RIGHT) / WIDTH))
            n_slots = int(math.floor(top / WIDTH + 0.5)) - first_bin + 3
            per_bin = np.float32(1.0 / (WIDTH * sigma))
            floor = max(-margin / (sigma * WIDTH), -1e9)
            to_lattice(row, row[label], per_bin, floor, first_bin, slots, deltas)
            slots[label], deltas[label] = 0, 0.0
            clear(sums, bins, n_bins)
            power_sums(slots, deltas, sums)
            n_bins = occupied_slots(sums, n_slots, bins)
            level, first, start, stop, largest = place_nodes(log_cdf, sums, bins, n_bins, first_bin, top, n_classes, logs)
        if level < 0:
            left_over += 1
            continue
        n_nodes = stop - start
        total = exponentials(logs, np.uint64(start), largest, np.uint64(n_nodes), weights)
        value = largest + math.log(total * WIDTH / (1 << level)) - LOG_SQRT_2PI
        log_p[n] = min(value, 0.0)
        if with_gradient:
            for q in range(n_nodes):
                weights32[q] = weights[q] / total
            n_nodes = whole_vectors(n_nodes)
            fill(weights32, stop - start, n_nodes, np.float32(0.0))
            origin = level_origin(level, first + start, first_bin)
            expand_ratio(ratio, weights32, bins, n_bins, origin, level_end(level), 1 << level, n_nodes, coefficients)
            least = np.float32(max(-margin, -3.4e38))
            total, moment = write_gradient(coefficients, slots, deltas, row, row[label], least, np.float32(1.0 / sigma), out)
            out[label] = total / sigma
            by_scale[n] = moment / (sigma * sigma)
    return left_over


@njit(**FAST)
def weighted_power_sums(slots, deltas, weights, offset, bins, n_bins, sums):
    """As ``power_sums``, each class times its weight minus an offset, for the occupied bins."""
    half = np.uint64(sums.shape[0] // 2)
    for j in range(n_bins):
        for i in range(bins[j] * TERMS, bins[j] * TERMS + TERMS):
            sums[i] = 0.0
            sums[i + sums.shape[0] // 2] = 0.0
    for i in range(slots.shape[0]):
        at = np.uint64(slots[i]) * TERMS64 + np.uint64(i & 1) * half
        add_powers(sums, at, np.float64(deltas[i]), np.float64(weights[i] - offset))
    for j in range(n_bins):
        for i in range(bins[j] * TERMS, bins[j] * TERMS + TERMS):
            sums[i] += sums[i + sums.shape[0] // 2]


@njit(**INNER)
def place_maximum(log_cdf, ratio, sums, bins, n_bins, first_bin, n_classes, logs, rates, densities):
    r"""Nodes over the range of the largest score: :math:`\log G` in ``logs`` and :math:`\sum_j r_j` in ``rates``.

    As ``place_nodes``, for the density :math:`G \sum_j r_j` of the largest, the best score being at 0.
    """
    first = int(math.floor(-math.sqrt(2.0 * DROP) / WIDTH))
    n_nodes = whole_vectors(int(math.ceil(math.sqrt(2.0 * (DROP + math.log(n_classes))) / WIDTH)) - first + 1)
    level = ZERO64
    while True:
        origin = level_origin(level, first, first_bin)
        fill(logs, ZERO64, n_nodes, 0.0)
        fill(rates, ZERO64, n_nodes, 0.0)
        add_log_cdf(log_cdf, sums, bins, n_bins, origin, level_end(level), 1 << level, n_nodes, logs)
        add_log_cdf(ratio, sums, bins, n_bins, origin, level_end(level), 1 << level, n_nodes, rates)
        for q in range(n_nodes):
            densities[q] = logs[q] + math.log(max(rates[q], 1e-30))
        largest, start, last = bracket(densities, n_nodes, DROP)
        finished = level == LEVELS - 1 or is_resolved(densities, max(start, 1), min(last, n_nodes - 2), largest, 0.0)
        if finished:
            return level, first, start, last + 1
        start, last = max(start - 1, 0), min(last + 1, n_nodes - 1)
        first = 2 * (first + start)
        n_nodes = whole_vectors(2 * (last - start) + 1)
        level += 1


@njit(**INNER)
def index_of(row, value):
    for i in range(row.shape[0]):
        if row[i] == value:
            return i
    return 0


@njit(**FAST)
def write_differences(coefficients, others, slots, deltas, incoming, offset, first_bin, sigma, out):
    r""":math:`c_k R_1(s_k) - R_2(s_k)`, over the scale, for every class; returns the derivative by the scale."""
    moment, factor = 0.0, np.float32(1.0 / sigma)
    for i in range(slots.shape[0]):
        slope = (incoming[i] - offset) * polynomial_at(coefficients, slots[i], deltas[i])
        slope -= polynomial_at(others, slots[i], deltas[i])
        slope *= factor
        out[i] = slope
        moment -= slope * (np.float32(slots[i] + (first_bin - 1)) + deltas[i])
    return moment * WIDTH


@njit(**INNER)
def win_all(incoming, scores, scale, with_gradient, out, by_scale, log_cdf, ratio, lo, hi):
    """Probability of every class (n, k); or, with a gradient, that of ``sum(incoming * probability)`` by scores and scale."""
    n_classes = scores.shape[1]
    slots, deltas = np.empty(n_classes, np.int32), np.empty(n_classes, np.float32)
    sums, weighted, n_bins = np.zeros(2 * MAX_BINS * TERMS), np.empty(2 * MAX_BINS * TERMS), ZERO64
    coefficients, others = np.zeros(MAX_BINS * TERMS, np.float32), np.zeros(MAX_BINS * TERMS, np.float32)  # slot 0: zero
    bins = np.empty(MAX_BINS, np.int64)
    logs, rates, work = np.empty(MAX_NODES), np.empty(MAX_NODES), np.empty(MAX_NODES)
    weights32 = np.empty(MAX_NODES, np.float32)
    first_bin = int(math.floor((-math.sqrt(2.0 * DROP) - REACH_RIGHT) / WIDTH))
    n_slots = 3 - first_bin
    for n in range(lo, hi):
        row, sigma = scores[n], np.float64(scale[n])
        best = largest_of(row, ZERO64, n_classes, np.float32(-np.inf))
        if has_nan(row) or not sigma > 0.0 or not best < np.inf:
            fill(out[n], ZERO64, n_classes, np.float32(np.nan))
            if with_gradient:
                by_scale[n] = np.nan
            continue
        to_lattice(row, best, np.float32(1.0 / (WIDTH * sigma)), -1e9, first_bin, slots, deltas)
        clear(sums, bins, n_bins)
        power_sums(slots, deltas, sums)
        n_bins = occupied_slots(sums, n_slots, bins)
        level, first, start, stop = place_maximum(log_cdf, ratio, sums, bins, n_bins, first_bin, n_classes, logs, rates, work)
        n_nodes, spacing = stop - start, WIDTH / (1 << level)
        padded = whole_vectors(n_nodes)
        origin, end = level_origin(level, first + start, first_bin), level_end(level)
        exponentials(logs, np.uint64(start), 0.0, np.uint64(n_nodes), work)  # G
        for q in range(n_nodes):
            weights32[q] = spacing * work[q] * (rates[start + q] if with_gradient else 1.0)
        fill(weights32, n_nodes, padded, np.float32(0.0))
        expand_ratio(ratio, weights32, bins, n_bins, origin, end, 1 << level, padded, coefficients)
        if not with_gradient:
            total = total_slopes(coefficients, sums, bins, n_bins)
            write_slopes(coefficients, slots, deltas, np.float32(1.0 / total), out[n])
            continue
        # Only differences of the incoming coefficients matter. Relative to that of the best class, a small gradient keeps
        # its digits when the race is nearly decided.
        offset = incoming[n, index_of(row, best)]
        weighted_power_sums(slots, deltas, incoming[n], offset, bins, n_bins, weighted)
        fill(logs, ZERO64, padded, 0.0)
        add_log_cdf(ratio, weighted, bins, n_bins, origin, end, 1 << level, padded, logs)  # sum of c_j r_j
        for q in range(n_nodes):
            weights32[q] = spacing * work[q] * logs[q]
        expand_ratio(ratio, weights32, bins, n_bins, origin, end, 1 << level, padded, others)
        by_scale[n] = write_differences(coefficients, others, slots, deltas, incoming[n], offset, first_bin, sigma, out[n])
