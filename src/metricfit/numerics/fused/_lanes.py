r"""The label's probability among few classes: the integral of :mod:`metricfit.numerics._race` for a block of rows at a time.

The rows of a block are the lanes of the processor's vectors. So every row has its own nodes, and nothing branches: with
:math:`x_- = \min(x, 0)` and :math:`x_+ = \max(x, 0)`, :math:`\Phi(x)\,e^{x_-^2/2}` and r come from the Mills ratio and
:math:`e^{-x_+^2/2}`, two polynomials. The product over the classes needs no logarithm, because for gaps below ``REACH`` no
factor is small.

The ends of the nodes are those of ``_race`` after two steps. Equally spaced nodes (the trapezoid rule) then suffice, as its
error falls exponentially for a bell. Up to ``FEW`` classes, log p is accurate to 1e-6 and its gradient to 1e-5 of its largest
entry (``tests/numerics/test_fused.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import erfcx

from metricfit.numerics.fused._compile import FAST, INNER
from metricfit.numerics.fused._job import row_arrays
from metricfit.numerics.fused._lattice import LOG_SQRT_2PI, ZERO64, largest_of
from metricfit.numerics.fused._plain_rows import finish_easy_row

FEW = 24
LANES = 128  # rows of a block, at most
NODES = 24
DROP = 16.0  # nodes cover where log f is within this of its maximum: e**-16 is 1e-7
REACH = 9.0  # largest gap
STEPS = 2
F = np.float32
INV_SQRT_2PI = F(1.0 / math.sqrt(2.0 * math.pi))
PER_LOG2 = F(-0.5 / math.log(2.0))


def _mills(t: np.ndarray) -> np.ndarray:
    r""":math:`(u + 4)\,\Phi(-u)/\varphi(u)/\sqrt{2\pi}` as a function of t = (u - 4)/(u + 4), as in ``_normal_parts``."""
    u = 4.0 * (1.0 + t) / (1.0 - t)
    return (u + 4.0) * 0.5 * erfcx(u / math.sqrt(2.0))


def _polynomial(function: Callable[[np.ndarray], np.ndarray], degree: int, reach: float) -> list[np.float32]:
    """Its coefficients, for arguments from ``-reach`` to ``reach``."""
    return [F(c) for c in Chebyshev.interpolate(function, degree, [-reach, reach]).convert(kind=Polynomial).coef]


M0, M1, M2, M3, M4, M5, M6, M7, M8, M9 = _polynomial(_mills, 9, 1.0)
E0, E1, E2, E3, E4, E5, E6 = _polynomial(np.exp2, 6, 0.5)


@intrinsic
def float_of_bits(typing_context, bits):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def bits_of_float(typing_context, number):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@njit(**FAST, inline="always")
def bell(square):
    """:math:`e^{-s/2}` for s from 0 to 170."""
    y = square * PER_LOG2
    whole = np.floor(y + F(0.5))
    y -= whole
    p = E0 + y * (E1 + y * (E2 + y * (E3 + y * (E4 + y * (E5 + y * E6)))))
    return p * float_of_bits((np.int32(whole) + np.int32(127)) << np.int32(23))


@njit(**FAST, inline="always")
def scaled_cdf(x):
    r""":math:`\Phi(x)\,e^{x_-^2/2}` and :math:`e^{-x_+^2/2}`; their quotient is :math:`\sqrt{2\pi}\,r(x)`."""
    right = min(max(x, F(0.0)), F(12.0))
    density = bell(right * right)
    shrink = F(1.0) / (abs(x) + F(4.0))
    t = F(1.0) - F(8.0) * shrink
    mills = M0 + t * (M1 + t * (M2 + t * (M3 + t * (M4 + t * (M5 + t * (M6 + t * (M7 + t * (M8 + t * M9))))))))
    tail = mills * shrink * density
    scaled = tail if x < F(0.0) else F(1.0) - tail
    return scaled, density


@njit(**FAST)
def shape_at(gaps, n_gaps, z, pull, bend, product, squares):
    r"""Fill in :math:`\sum_i r`, :math:`-\sum_i r'` and the parts of log f at one point of each lane, see ``add_node``."""
    for lane in range(LANES):
        pull[lane] = bend[lane] = F(0.0)
        product[lane], squares[lane] = F(1.0), z[lane] * z[lane]
    for i in range(n_gaps):
        for lane in range(LANES):
            x = z[lane] - gaps[i, lane]
            scaled, density = scaled_cdf(x)
            r, below = density * INV_SQRT_2PI / scaled, min(x, F(0.0))
            pull[lane] += r
            bend[lane] += r * (x + r)
            product[lane] *= scaled
            squares[lane] += below * below


@njit(**FAST)
def place_nodes(gaps, n_gaps, top, z, pull, bend, product, squares, left, spacing):
    r"""As ``_race._mode_and_reach``, with a bound of the logarithm instead of the logarithm. ``squares`` are those at z.

    To the right of z, :math:`\log f \le -z^2/2`, a second bound.
    """
    for lane in range(LANES):
        z[lane] = max(F(0.5) * top[lane], F(0.05))
    for step in range(STEPS):
        shape_at(gaps, n_gaps, z, pull, bend, product, squares)
        if step < STEPS - 1:
            for lane in range(LANES):
                at, r, b = z[lane], max(pull[lane], F(1e-30)), bend[lane]
                newton = (r - at) / (F(1.0) + b)
                surplus = max(F(2.0) * (r - at) / (r + at), F(0.0))
                fall = b / r + F(1.0) / at
                z[lane] += max(max(newton, F(0.0)), F(2.0) * surplus / (fall + math.sqrt(fall * fall + F(2.0) * surplus)))
    for lane in range(LANES):
        slope, curvature = pull[lane] - z[lane], F(1.0) + bend[lane]
        start = z[lane] - (math.sqrt(slope * slope + F(2.0 * DROP) * curvature) - slope) / curvature
        end = z[lane] + slope + math.sqrt(slope * slope + F(2.0 * DROP))
        log2 = F((bits_of_float(product[lane]) >> np.int32(23)) - np.int32(127))  # rounded down
        end = min(end, math.sqrt(squares[lane] - F(2.0 * math.log(2.0)) * log2 + F(2.0 * DROP)))
        if top[lane] < F(-4.0):  # the gradient of a label far ahead comes from around top / 2, where f is small
            start = min(start, F(0.5) * top[lane] - F(3.5))
        left[lane] = start
        spacing[lane] = (end - start) * F(1.0 / (NODES - 1))


@njit(**FAST)
def add_node(gaps, n_pairs, z, reference, with_gradient, squares, product, before, both, first, second, total, slopes):
    r"""Add f to ``total`` and :math:`\sqrt{2\pi} f r` of every class to ``slopes``, at one point of each lane.

    f is relative to :math:`e^{-\mathrm{reference}/2}`. f r is the product without the class, which the products before and
    after its pair of classes give without a division, times the density.
    """
    for lane in range(LANES):
        product[lane], squares[lane] = F(1.0), z[lane] * z[lane] - reference[lane]
    for j in range(n_pairs):
        for lane in range(LANES):
            x, y = z[lane] - gaps[2 * j, lane], z[lane] - gaps[2 * j + 1, lane]
            scaled_x, density_x = scaled_cdf(x)
            scaled_y, density_y = scaled_cdf(y)
            scaled = scaled_x * scaled_y
            before[j, lane], both[j, lane] = product[lane], scaled
            first[j, lane], second[j, lane] = density_x * scaled_y, scaled_x * density_y
            product[lane] *= scaled
            x, y = min(x, F(0.0)), min(y, F(0.0))
            squares[lane] += x * x + y * y
    for lane in range(LANES):
        squares[lane] = bell(min(max(squares[lane], F(-170.0)), F(170.0)))
        total[lane] += product[lane] * squares[lane]
    if with_gradient:
        for i in range(n_pairs):
            j = n_pairs - 1 - i
            for lane in range(LANES):
                others = squares[lane] * before[j, lane]
                slopes[2 * j, lane] += others * first[j, lane]
                slopes[2 * j + 1, lane] += others * second[j, lane]
                squares[lane] *= both[j, lane]


@njit(**FAST)
def differences(row, own, out):
    """Fill in ``row - own``; returns 0, or NaN if one of them is not finite."""
    check = F(0.0)
    for i in range(row.shape[0]):
        out[i] = row[i] - own
        check += out[i] * F(0.0)
    return check


@njit(**FAST)
def standardise(raw, n_gaps, per_sigma, least, gaps):
    for i in range(n_gaps):
        for lane in range(LANES):
            gap = raw[i, lane] * per_sigma[lane]
            gaps[i, lane] = gap if gap > least[lane] else least[lane]
    if n_gaps % 2:  # pairs: the last one's other class never wins
        for lane in range(LANES):
            gaps[n_gaps, lane] = F(-1e4)


@njit(**FAST)
def clear(slopes, n_slopes, total):
    for lane in range(LANES):
        total[lane] = F(0.0)
    for i in range(n_slopes):
        for lane in range(LANES):
            slopes[i, lane] = F(0.0)


@njit(**FAST)
def finish_slopes(slopes, raw, gaps, n_gaps, per_sigma, margin, total, moment):
    """Derivatives by the scores, and by the scale, from the sums over nodes that ``add_node`` leaves."""
    for lane in range(LANES):
        per_sigma[lane] *= INV_SQRT_2PI / total[lane]
        total[lane] = moment[lane] = F(0.0)
    for i in range(n_gaps):
        for lane in range(LANES):
            slope = slopes[i, lane] * per_sigma[lane]
            moment[lane] += slope * gaps[i, lane]
            slope = slope if raw[i, lane] >= -margin else F(0.0)
            total[lane] += slope
            slopes[i, lane] = -slope


@njit(**INNER)
def lanes():
    return np.zeros(LANES, np.float32)


@njit(**INNER)
def blocks(n):
    return np.zeros((n, LANES), np.float32)


@njit(**INNER)
def log_win_in_lanes(job, lo, hi):
    """As ``_lattice_rows.log_win``, for rows ``lo`` to ``hi``; rows beyond ``REACH`` are left over."""
    scores, labels, scale, log_p, by_scores, by_scale = row_arrays(job)
    margin, ignored, with_gradient = job.margin, job.ignore_index, job.with_gradient != 0
    n_classes = scores.shape[1]
    n_gaps, n_pairs, least_top = n_classes - 1, n_classes // 2, -9.0 - 0.5 * math.log(n_classes)
    differing, rows = np.empty(FEW, np.float32), np.empty(LANES, np.int64)
    raw, gaps, slopes = blocks(FEW), blocks(FEW), blocks(FEW)
    before, both, first, second = blocks(FEW // 2), blocks(FEW // 2), blocks(FEW // 2), blocks(FEW // 2)
    top, per_sigma, least, left, spacing, z = lanes(), lanes(), lanes(), lanes(), lanes(), lanes()
    total, reference, squares, product, pull, bend = lanes(), lanes(), lanes(), lanes(), lanes(), lanes()
    n_rows, left_over = 0, 0
    for n in range(lo, hi):
        row, label, sigma, ready = scores[n], labels[n], np.float64(scale[n * job.scale_step]), False
        if label != ignored:
            check = differences(row, row[label], differing)
            differing[label] = differing[n_gaps]
            largest = max(np.float64(largest_of(differing, ZERO64, n_gaps, F(-np.inf))), -margin) / sigma
            ready = check == F(0.0) and sigma > 0.0 and least_top <= largest and largest <= REACH
        if ready:
            for i in range(n_gaps):
                raw[i, n_rows] = differing[i]
            rows[n_rows], top[n_rows], per_sigma[n_rows], least[n_rows] = n, largest, 1.0 / sigma, max(-margin / sigma, -1e15)
            n_rows += 1
        else:
            out = by_scores[n] if with_gradient else by_scores[0]
            done, _ = finish_easy_row(n, row, label, sigma, margin, ignored, with_gradient, log_p, by_scale, out)
            left_over += not done
        if n_rows == 0 or (n_rows < LANES and n < hi - 1):
            continue
        standardise(raw, n_gaps, per_sigma, least, gaps)
        place_nodes(gaps, n_gaps, top, z, pull, bend, product, reference, left, spacing)
        clear(slopes, 2 * n_pairs, total)
        for q in range(NODES):
            for lane in range(LANES):
                z[lane] = left[lane] + F(q) * spacing[lane]
            add_node(gaps, n_pairs, z, reference, with_gradient, squares, product, before, both, first, second, total, slopes)
        for lane in range(n_rows):
            value = math.log(np.float64(total[lane] * spacing[lane])) - 0.5 * reference[lane] - LOG_SQRT_2PI
            log_p[rows[lane]] = min(value, 0.0)
        if with_gradient:
            finish_slopes(slopes, raw, gaps, n_gaps, per_sigma, F(min(margin, 3e38)), total, bend)
            for lane in range(n_rows):
                n_out = rows[lane]
                out, label = by_scores[n_out], labels[n_out]
                for i in range(n_gaps):
                    out[i] = slopes[i, lane]
                out[n_gaps] = out[label]  # see ``differing``; n_gaps may be the label
                out[label] = total[lane]
                by_scale[n_out] = bend[lane]
        n_rows = 0
    return left_over
