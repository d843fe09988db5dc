"""The label's probability to come out largest, with its derivatives, row by row."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from metricfit.numerics.fused._exact_row import cdf_parts, exact_row
from metricfit.numerics.fused._lattice import (
    DROP,
    FEW,
    GAIN_DROP,
    LEVELS,
    LOG_SQRT_2PI,
    MAX_BINS,
    MAX_NODES,
    REACH,
    REACH_RIGHT,
    SQRT_2,
    SQRT_2_OVER_PI,
    TERMS,
    WIDTH,
    ZERO64,
    add_log_cdf,
    bracket,
    clear,
    expand_ratio,
    exponentials,
    few_power_sums,
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
from metricfit.numerics.fused._options import ENTRY, FAST, INNER


@njit(**INNER)
def left_end(top):
    r"""A point left of every node, for the largest gap ``top``.

    Curvature at most -1 and a mode above max(0, top / 2) bound where log f is within ``DROP`` of its maximum. For a label
    far ahead, what its nearest rival gains lies around top / 2 with deviation sqrt(1/2), and that gradient must be right too.
    """
    return min(max(0.0, 0.5 * top) - math.sqrt(2.0 * DROP), 0.5 * top - 3.5)


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


@njit(**INNER)
def log_win_exact(row, label, scale, margin, with_gradient, gaps, nodes, weights, unit_nodes, unit_weights, out):
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
    log_p = exact_row(gaps, n_gaps, unit_nodes, unit_weights, nodes, weights)
    by_scale = 0.0
    if with_gradient:
        total = 0.0
        for i in range(row.shape[0]):
            gap = min((np.float64(row[i]) - row[label]) / scale, 1e15)
            clipped = gap <= -margin / scale
            gap = max(gap, -margin / scale)
            slope = 0.0
            if i != label and gap > low:
                for q in range(unit_nodes.shape[0]):
                    slope += weights[q] * cdf_parts(nodes[q] - gap)[1]
                by_scale += slope * gap
            slope = 0.0 if clipped else slope / scale
            total += slope
            out[i] = -slope
        out[label] = total
    return log_p, by_scale / scale


@njit(**INNER)
def log_win_two(gap, scale):
    """Two classes: log Phi(-gap / sqrt 2), and its derivative by the gap times the scale."""
    log_p, r = cdf_parts(-gap / SQRT_2)
    return log_p, -r / SQRT_2


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
def drop_clipped(row, label, least, out):
    """No gradient for classes beaten by the margin or more; returns what is left in all."""
    total = 0.0
    for i in range(row.shape[0]):
        if row[i] - row[label] <= least:
            out[i] = 0.0
        total -= out[i]
    return total


@njit(**ENTRY)
def log_win(
    scores, labels, scale, margin, with_gradient, log_p, by_scores, by_scale, log_cdf, ratio, unit_nodes, unit_weights, lo, hi
):
    r"""log p, and with a gradient its derivatives by the scores and by the scale, for rows ``lo`` to ``hi``."""
    n_classes = scores.shape[1]
    slots, deltas = np.empty(n_classes, np.int32), np.empty(n_classes, np.float32)
    sums = np.empty(2 * MAX_BINS * TERMS)
    coefficients = np.zeros(MAX_BINS * TERMS, np.float32)  # slot 0 stays zero
    bins = np.empty(MAX_BINS, np.int64)
    logs, weights, weights32 = np.empty(MAX_NODES), np.empty(MAX_NODES), np.empty(MAX_NODES, np.float32)
    gaps = np.empty(0)  # only rows outside the table need it
    ahead = -9.0 - 0.5 * math.log(n_classes)
    for n in range(lo, hi):
        row, label, sigma = scores[n], max(labels[n], ZERO64), np.float64(scale[n])  # -1 marks a row whose result is not used
        out = by_scores[n] if with_gradient else by_scores[0]
        top = largest_of(row, ZERO64, label, np.float32(-np.inf))
        top = largest_of(row, label + 1, n_classes, top)
        top = np.float64(top - row[label])
        if has_nan(row) or not sigma > 0.0 or not top < np.inf:
            log_p[n] = np.nan
            if with_gradient:
                by_scale[n] = np.nan
                fill(out, ZERO64, n_classes, np.float32(np.nan))
            continue
        clipped = -margin / sigma
        top = max(top / sigma, clipped)
        if n_classes == 2:
            value, slope = log_win_two(top, sigma)
            log_p[n] = value
            if with_gradient:
                by_scale[n] = -slope * top / sigma if slope != 0.0 else 0.0
                slope = 0.0 if top <= clipped else slope / sigma
                out[label] = -slope
                out[1 - label] = slope
            continue
        if top < ahead:
            log_p[n], slope = log_win_ahead(row, label, sigma, margin, with_gradient, out)
            if with_gradient:
                by_scale[n] = slope
            continue
        level = -1
        if top < REACH:
            first_bin = int(math.floor((left_end(top) - REACH_RIGHT) / WIDTH))
            n_slots = int(math.floor(top / WIDTH + 0.5)) - first_bin + 3
            per_bin = np.float32(1.0 / (WIDTH * sigma))
            floor = max(clipped / WIDTH, -1e9)
            to_lattice(row, row[label], per_bin, floor, first_bin, slots, deltas)
            slots[label], deltas[label] = 0, 0.0
            if n_classes <= FEW:
                n_bins = few_power_sums(slots, deltas, sums, bins)
            else:
                clear(sums, n_slots)
                power_sums(slots, deltas, sums)
                n_bins = occupied_slots(sums, n_slots, bins)
            level, first, start, stop, largest = place_nodes(log_cdf, sums, bins, n_bins, first_bin, top, n_classes, logs)
        if level < 0:
            if gaps.shape[0] == 0:
                gaps = np.empty(n_classes)
            log_p[n], slope = log_win_exact(
                row, label, sigma, margin, with_gradient, gaps, logs, weights, unit_nodes, unit_weights, out
            )
            if with_gradient:
                by_scale[n] = slope
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
            write_slopes(coefficients, slots, deltas, np.float32(-1.0 / sigma), out)
            total, moment = total_slopes(coefficients, sums, bins, n_bins, first_bin)
            if margin < np.inf:
                total = drop_clipped(row, label, np.float32(-margin), out) * sigma
            out[label] = total / sigma
            by_scale[n] = moment / sigma
