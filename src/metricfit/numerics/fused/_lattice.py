r"""Fused CPU kernels for the race of normals: float32 in and out, one row at a time, no allocation per row.

A row needs :math:`\log f(z) = -z^2/2 + \sum_i \log\Phi(z - g_i)` at some nodes z, and afterwards, for every class, the same
smooth function :math:`R(g) = \int f(z)\, r(z - g)\,dz / \int f` at its own gap g. Both are convolutions with a fixed kernel
(:math:`\log\Phi`, and its derivative r), so no special function is evaluated:

* Classes fall into bins of width 1/2. In a bin around c, with :math:`g = c + \delta/2` and :math:`|\delta| \le 1/2`,
  :math:`\log\Phi(z - g)` is a polynomial of degree 7 in :math:`\delta` to 1e-9, so a bin of any number of classes is replaced
  by its eight power sums :math:`\sum_i \delta_i^m`.
* Nodes lie on the lattice of the bins (trapezoid rule: its error falls exponentially for a smooth bell like f), so the
  polynomials for all z - c come from one table, computed once.

Cost: about a dozen cycles per class, and nodes x occupied bins x 8 multiply-adds per row. A row outside the table
(gaps beyond ``REACH``, or an f too narrow for the finest lattice) goes to ``exact_row``: plain float64 quadrature.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from scipy.special import erfcx, log_ndtr

from metricfit.numerics.fused._compile import FAST, INNER

TERMS = 8  # power sums per bin; the polynomials have degree 7
WIDTH = 0.5  # of a bin
LEVELS = 6  # node spacing WIDTH / 2**level
X_MIN, X_MAX = -80.0, 24.0  # range of z - g in the table
N_WHOLE, ZERO = int((X_MAX - X_MIN) / WIDTH), int(-X_MIN / WIDTH)  # columns of the coarsest level, and where x = 0 is
PITCH = N_WHOLE * (2**LEVELS - 1) + 64 * LEVELS  # columns of all levels, one after another
TABLE = (TERMS * PITCH,)

DROP = 17.0  # nodes cover where log f is within this of its maximum: e**-17 is 4e-8
REACH_RIGHT = 6.5  # -log Phi(6.5) = 4e-11: a class that far behind every node is negligible
REACH = 2.0 * (-X_MIN - 8.0)  # largest gap: nodes start at gap/2 - 5.83, so z - g stays above X_MIN
MAX_TURN = 15.0  # of the 2 pi**2 = 19.7 in ``is_resolved``; chosen by measurement
DIGITS = 15.0  # e**-15 is 3e-7
GAIN_DROP = 45.0  # beyond this f does not affect even the gradient of a label far ahead
MAX_NODES = 512
MAX_BINS = int((REACH + 40.0) / WIDTH)
LEAST_WEIGHT = -64.0  # log of the smallest weight that is not zero

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
SQRT_2 = math.sqrt(2.0)
SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)

U1, U2, U3, U4, U5, U6, U7 = (np.uint64(m) for m in range(1, TERMS))
P1, P2, P3, P4, P5, P6, P7 = (np.uint64(m * PITCH) for m in range(1, TERMS))
TERMS64 = np.uint64(TERMS)
ZERO64 = np.int64(0)  # a literal 0 has its own type and would compile its callees twice


def _level_start(level: int) -> int:
    """Column of the table where a level starts; its entry at x sits ``(x - X_MIN) / spacing`` further on."""
    return N_WHOLE * (2**level - 1) + 64 * level


def _tables() -> tuple[np.ndarray, np.ndarray]:
    r"""Coefficients in :math:`\delta^m` of :math:`\log\Phi(x - \delta/2)` (float64) and of r there (float32), by m and x.

    Chebyshev interpolation in :math:`\delta` over the bin. Flat, so that the distance between terms is a constant that the
    compiler knows.
    """
    n_samples = 20
    angles = (np.arange(n_samples) + 0.5) * np.pi / n_samples
    delta = 0.5 * np.cos(angles)
    to_chebyshev = 2.0 / n_samples * np.cos(np.outer(np.arange(TERMS), angles))
    to_chebyshev[0] *= 0.5
    to_powers = np.zeros((TERMS, TERMS))
    for j in range(TERMS):
        powers = np.polynomial.chebyshev.cheb2poly(np.eye(TERMS)[j])
        to_powers[: len(powers), j] = powers * 2.0 ** np.arange(len(powers))  # in delta, not in 2 delta
    fit = to_powers @ to_chebyshev

    finest = WIDTH / 2 ** (LEVELS - 1)
    x = X_MIN + finest * np.arange(int((X_MAX - X_MIN) / finest))
    samples = x[:, None] - WIDTH * delta
    log_cdf = fit @ log_ndtr(samples).T
    ratio = fit @ (SQRT_2_OVER_PI / erfcx(-samples / SQRT_2)).T
    ratio[:, np.abs(ratio).max(0) < 1e-32] = 0.0  # no denormals
    log_cdf_table, ratio_table = np.zeros((TERMS, PITCH)), np.zeros((TERMS, PITCH), np.float32)
    for level in range(LEVELS):
        stride = 2 ** (LEVELS - 1 - level)
        start, count = _level_start(level), len(x) // stride
        log_cdf_table[:, start : start + count] = log_cdf[:, ::stride]
        ratio_table[:, start : start + count] = ratio[:, ::stride]
    return log_cdf_table.ravel(), ratio_table.ravel()


LOG_CDF, RATIO = _tables()


@njit(**FAST)
def is_finite(row):
    total = np.float32(0.0)
    for i in range(row.shape[0]):
        total += row[i] * np.float32(0.0)
    return total == np.float32(0.0)


@njit(**INNER)
def has_nan(row):
    if is_finite(row):
        return False
    for i in range(row.shape[0]):
        if row[i] != row[i]:
            return True
    return False


@njit(**{**INNER, "fastmath": {"nnan", "nsz", "reassoc"}})
def largest_of(row, start, stop, largest):
    for i in range(start, stop):
        largest = max(largest, row[i])
    return largest


@njit(**FAST)
def to_lattice(row, origin, per_bin, floor, first_bin, slots, deltas):
    """Bin of every class, and its position there. Slot 0 holds the classes below the first bin, which are ignored."""
    below = np.float32(first_bin - 1)
    least = max(below, np.float32(floor))
    half = np.float32(0.5)
    for i in range(row.shape[0]):
        place = (row[i] - origin) * per_bin
        place = place if place > least else least
        slot = np.int32(place - below + half)
        slots[i] = slot
        deltas[i] = place - (np.float32(slot) + below)


@intrinsic
def add_powers(typing_context, sums, at, delta, weight):
    """``sums[at + m] += weight * delta**m`` for m = 0 to 7 as two vector additions, which the compiler does not find."""

    def generate(context, builder, signature, arguments):
        _, at, delta, weight = arguments
        four = ir.VectorType(ir.DoubleType(), 4)
        ones = ir.Constant(four, [1.0] * 4)

        def select_lanes(value, lanes):
            spread = builder.insert_element(ir.Constant(four, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(ones, spread, ir.Constant(ir.VectorType(ir.IntType(32), 4), lanes))

        square = builder.fmul(delta, delta)
        low = builder.fmul(select_lanes(delta, [0, 4, 0, 4]), select_lanes(square, [0, 0, 4, 4]))
        low = builder.fmul(low, select_lanes(weight, [4] * 4))
        high = builder.fmul(low, select_lanes(builder.fmul(square, square), [4] * 4))
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        for offset, powers in ((0, low), (4, high)):
            index = builder.add(at, ir.Constant(at.type, offset))
            place = builder.bitcast(builder.gep(data, [index]), four.as_pointer())
            builder.store(builder.fadd(builder.load(place, align=8), powers), place, align=8)
        return context.get_dummy_value()

    return types.void(sums, at, delta, weight), generate


@njit(**FAST)
def power_sums(slots, deltas, sums):
    """Add the powers 0 to 7 of delta to the class's bin. Two copies of the bins avoid waiting for the last class."""
    half = np.uint64(sums.shape[0] // 2)
    for i in range(slots.shape[0]):
        add_powers(sums, np.uint64(slots[i]) * TERMS64 + np.uint64(i & 1) * half, np.float64(deltas[i]), 1.0)


@njit(**INNER)
def occupied_slots(sums, n_slots, bins):
    """Merge the two copies and list the slots that hold classes."""
    half = sums.shape[0] // 2
    n_bins = 0
    for slot in range(1, n_slots):
        at = slot * TERMS
        if sums[at] + sums[half + at] > 0.0:
            for m in range(TERMS):
                sums[at + m] += sums[half + at + m]
            bins[n_bins] = slot
            n_bins += 1
    return n_bins


@njit(**INNER)
def fill(array, start, stop, value):
    """``array[start:stop] = value`` as a loop, which numba compiles faster."""
    for i in range(start, stop):
        array[i] = value


@njit(**INNER)
def clear(sums, bins, n_bins):
    """Zeros in the slots that the last row has filled, slot 0 and the occupied ones: a tenth of all."""
    half = sums.shape[0] // 2
    for j in range(-1, n_bins):
        at = bins[j] * TERMS if j >= 0 else ZERO64
        for i in range(at, at + TERMS):
            sums[i] = 0.0
            sums[half + i] = 0.0


@njit(**INNER, inline="always")
def whole_vectors(count):
    """Round up to whole vectors, because a remainder runs one by one. The table has zeros between its levels."""
    return (count + 7) // 8 * 8


@njit(**FAST)
def add_log_cdf(table, sums, bins, n_bins, origin, end, per_bin, n_nodes, out):
    r"""Add :math:`\sum_i \log\Phi(z_q - g_i)` to ``out``; the first node lies at column ``origin`` for slot 0.

    Unsigned indices here and below: for signed ones numba allows counting from the end, and the loop does not vectorise.
    """
    for j in range(n_bins):
        at = np.uint64(bins[j] * TERMS)
        column = origin - bins[j] * per_bin
        m0, m1, m2, m3 = sums[at], sums[at + U1], sums[at + U2], sums[at + U3]
        m4, m5, m6, m7 = sums[at + U4], sums[at + U5], sums[at + U6], sums[at + U7]
        for q in range(np.uint64(max(0, min(n_nodes, whole_vectors(end - column))))):  # beyond the table log Phi is zero
            c = np.uint64(column) + q
            low = m0 * table[c] + m1 * table[c + P1] + m2 * table[c + P2] + m3 * table[c + P3]
            high = m4 * table[c + P4] + m5 * table[c + P5] + m6 * table[c + P6] + m7 * table[c + P7]
            out[q] += low + high


@njit(**FAST)
def expand_ratio(table, weights, bins, n_bins, origin, end, per_bin, n_nodes, out):
    r"""Coefficients in :math:`\delta` of :math:`\sum_q w_q\, r(z_q - g)` for every occupied bin."""
    for j in range(n_bins):
        at = bins[j] * TERMS
        column = origin - bins[j] * per_bin
        c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = np.float32(0.0)
        for q in range(np.uint64(max(0, min(n_nodes, whole_vectors(end - column))))):
            w = weights[q]
            c = np.uint64(column) + q
            c0 += w * table[c]
            c1 += w * table[c + P1]
            c2 += w * table[c + P2]
            c3 += w * table[c + P3]
            c4 += w * table[c + P4]
            c5 += w * table[c + P5]
            c6 += w * table[c + P6]
            c7 += w * table[c + P7]
        out[at] = c0
        out[at + 1] = c1
        out[at + 2] = c2
        out[at + 3] = c3
        out[at + 4] = c4
        out[at + 5] = c5
        out[at + 6] = c6
        out[at + 7] = c7


@njit(**FAST, inline="always")
def polynomial_at(coefficients, slot, d):
    """Value of a bin's polynomial at one class."""
    c, at = coefficients, np.uint64(slot) * TERMS64
    d2 = d * d
    low = (c[at] + c[at + U1] * d) + (c[at + U2] + c[at + U3] * d) * d2
    high = (c[at + U4] + c[at + U5] * d) + (c[at + U6] + c[at + U7] * d) * d2
    return low + high * (d2 * d2)


@njit(**FAST)
def exponentials(logs, start, largest, n_nodes, out):
    """exp(logs - largest), at least e**-64: a polynomial to the power 64, which needs no access to exponent bits."""
    total = 0.0
    for q in range(n_nodes):
        y = logs[start + q] - largest
        y = y if y > LEAST_WEIGHT else LEAST_WEIGHT
        u = y * (1.0 / 64.0) + 0.5
        p = 1.0 + u * (1.0 / 10.0)
        p = 1.0 + u * p * (1.0 / 9.0)
        p = 1.0 + u * p * (1.0 / 8.0)
        p = 1.0 + u * p * (1.0 / 7.0)
        p = 1.0 + u * p * (1.0 / 6.0)
        p = 1.0 + u * p * (1.0 / 5.0)
        p = 1.0 + u * p * (1.0 / 4.0)
        p = 1.0 + u * p * (1.0 / 3.0)
        p = 1.0 + u * p * (1.0 / 2.0)
        p = (1.0 + u * p) * 0.6065306597126334
        p = p * p
        p = p * p
        p = p * p
        p = p * p
        p = p * p
        p = p * p
        out[q] = p
        total += p
    return total


@njit(**INNER)
def left_end(top):
    r"""A point left of every node, for the largest gap ``top``.

    Curvature at most -1 and a mode above max(0, top / 2) bound where log f is within ``DROP`` of its maximum. For a label
    far ahead, the gradient of its nearest rival comes from around top / 2, with deviation sqrt(1/2), and must be accurate too.
    """
    return min(max(0.0, 0.5 * top) - math.sqrt(2.0 * DROP), 0.5 * top - 3.5)


@njit(**INNER)
def level_origin(level, first_node, first_bin):
    """Column of the table that belongs to the first node and slot 0."""
    start = N_WHOLE * ((1 << level) - 1) + 64 * level
    return start + ((ZERO - first_bin + 1) << level) + first_node


@njit(**INNER)
def level_end(level):
    """Column just after the level's last."""
    return N_WHOLE * ((2 << level) - 1) + 64 * level


@njit(**INNER)
def bracket(logs, n_nodes, drop):
    """Largest value, and the first and last node that come within ``drop`` of it."""
    largest = largest_of(logs, ZERO64, n_nodes, logs[0])
    first, last = 0, n_nodes - 1
    while logs[first] < largest - drop:
        first += 1
    while logs[last] < largest - drop:
        last -= 1
    return largest, first, last


@njit(**{**FAST, "fastmath": FAST["fastmath"] | {"nnan"}})
def is_resolved(logs, start, last, largest, top):
    r"""Whether the trapezoid rule is exact to rounding on this lattice.

    Where log f turns by t from one node to the next, f is locally a bell that the rule integrates with relative error
    :math:`e^{-2\pi^2/t}`; at height :math:`e^{-D}` that makes :math:`e^{-D - 2\pi^2/t}` of the whole, which must stay below
    ``e**-DIGITS``. f is not exactly a bell, so ``MAX_TURN`` is below :math:`2\pi^2`. For a label ahead, heights count from
    the place around top / 2 (0.6 top if many are tied there) where its gradient comes from.
    """
    reference = largest - 0.18 * min(top, 0.0) ** 2
    worst = 0.0
    for q in range(start, last + 1):
        turn = 2.0 * logs[q] - logs[q - 1] - logs[q + 1]
        worst = max(worst, turn * (DIGITS - max(reference - logs[q], 0.0)))
    return worst < MAX_TURN and last > start


@njit(**FAST)
def write_slopes(coefficients, slots, deltas, factor, out):
    """R at every class times ``factor``."""
    for i in range(slots.shape[0]):
        out[i] = polynomial_at(coefficients, slots[i], deltas[i]) * factor


@njit(**FAST)
def total_slopes(coefficients, sums, bins, n_bins):
    """Sum of R over classes, from the power sums."""
    total = 0.0
    for j in range(n_bins):
        for i in range(bins[j] * TERMS, bins[j] * TERMS + TERMS):
            total += coefficients[i] * sums[i]
    return total
