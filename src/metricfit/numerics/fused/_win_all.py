"""Every class's probability to come out largest, and its derivative, row by row."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from metricfit.numerics.fused._lattice import (
    DROP,
    LEVELS,
    MAX_BINS,
    MAX_NODES,
    REACH_RIGHT,
    TERMS,
    TERMS64,
    WIDTH,
    ZERO64,
    add_log_cdf,
    add_powers,
    at_class,
    bracket,
    clear,
    expand_ratio,
    exponentials,
    fill,
    has_nan,
    is_resolved,
    largest_of,
    level_end,
    level_origin,
    occupied_slots,
    power_sums,
    to_lattice,
    total_slopes,
    whole_vectors,
    write_slopes,
)
from metricfit.numerics.fused._options import FAST, INNER


@njit(**FAST)
def weighted_power_sums(slots, deltas, weights, offset, bins, n_bins, sums):
    """As ``power_sums``, each class times its weight less an offset, for the bins that are occupied."""
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
    r"""Nodes over the bulk of the largest score: :math:`\log G` in ``logs`` and :math:`\sum_j r_j` in ``rates``.

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
        slope = (incoming[i] - offset) * at_class(coefficients, slots[i], deltas[i])
        slope -= at_class(others, slots[i], deltas[i])
        slope *= factor
        out[i] = slope
        moment -= slope * (np.float32(slots[i] + (first_bin - 1)) + deltas[i])
    return moment * WIDTH


@njit(**INNER)
def win_all(incoming, scores, scale, with_gradient, out, by_scale, log_cdf, ratio, lo, hi):
    """Probability of every class (n, k); or, with a gradient, that of ``sum(incoming * probability)`` by scores and scale."""
    n_classes = scores.shape[1]
    slots, deltas = np.empty(n_classes, np.int32), np.empty(n_classes, np.float32)
    sums, weighted = np.empty(2 * MAX_BINS * TERMS), np.empty(2 * MAX_BINS * TERMS)
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
        clear(sums, n_slots)
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
            total, _ = total_slopes(coefficients, sums, bins, n_bins, first_bin)
            write_slopes(coefficients, slots, deltas, np.float32(1.0 / total), out[n])
            continue
        # Only differences of the incoming coefficients matter. Taken from that of the best class, they leave a small
        # gradient of a race that is all but decided with its digits.
        offset = incoming[n, index_of(row, best)]
        weighted_power_sums(slots, deltas, incoming[n], offset, bins, n_bins, weighted)
        fill(logs, ZERO64, padded, 0.0)
        add_log_cdf(ratio, weighted, bins, n_bins, origin, end, 1 << level, padded, logs)  # sum of c_j r_j
        for q in range(n_nodes):
            weights32[q] = spacing * work[q] * logs[q]
        expand_ratio(ratio, weights32, bins, n_bins, origin, end, 1 << level, padded, others)
        by_scale[n] = write_differences(coefficients, others, slots, deltas, incoming[n], offset, first_bin, sigma, out[n])
