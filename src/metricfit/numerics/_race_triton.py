r"""The integrals of :mod:`metricfit.numerics._race` as Triton kernels: float32 scores on a GPU, one launch per call.

The integral, its formulas and its names are those of ``_race.py``. The memory layout differs, and Newton's method alone finds
the intervals, from starting points that make every sequence monotone. One program handles one row (or a few rows, if there
are few classes), holds all nodes of that row in registers and loops over the classes in blocks, once per Newton step and once
or twice for the integral. It stores nothing of size rows x classes x nodes: memory is the inputs and the outputs. Surplus
rows of the last program repeat the last row, and write the same numbers to the same place.

This module imports Triton, so import it only when a kernel is about to run. Without a GPU, ``TRITON_INTERPRET=1`` in the
environment before the import runs the kernels in Triton's interpreter on CPU tensors: the same numbers, slowly.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-decorators=False

from __future__ import annotations

import math
from functools import lru_cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from metricfit.numerics import _race
from metricfit.numerics._quadrature import legendre_nodes

_INV_SQRT_2PI = tl.constexpr(1.0 / math.sqrt(2.0 * math.pi))
_LOG_SQRT_2PI = tl.constexpr(0.5 * math.log(2.0 * math.pi))
_FAR_BEHIND = tl.constexpr(-1e4)  # the score written where there is no rival: log Phi and its derivative are 0 there
_LIMIT = tl.constexpr(1e15)  # gaps whose squares, summed over any number of classes, cannot overflow
_FLOAT32_EPS = tl.constexpr(2.0**-23)


def log_win(
    scores: Tensor, labels: Tensor, scale: Tensor, margin: float | None, order: int, with_gradient: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probability (n,) that the label is the largest, its derivative by the scores (n, k) and by the scale (n,).

    ``scores`` (n, k) and ``scale`` (n,) are float32, ``labels`` (n,) int64. Derivatives are empty without ``with_gradient``.
    A class that the margin clips has derivative zero by its score, but still counts in the one by the scale.
    """
    n, k = scores.shape
    scores, labels, scale = scores.contiguous(), labels.contiguous(), scale.contiguous()
    log_p = scores.new_empty(n)
    by_scores, by_scale = (scores.new_empty(shape if with_gradient else 0) for shape in ((n, k), (n,)))
    least = -math.inf if margin is None else -float(margin)
    tensors = (scores, labels, scale, log_p, by_scores, by_scale)
    _launch(_log_win_kernel, scores, order, *tensors, least=least, with_gradient=with_gradient)
    return log_p, by_scores, by_scale


def win_all(scores: Tensor, scale: Tensor, order: int) -> Tensor:
    """Probability of being the largest for every score at once, (n, k) float32 to (n, k); rows sum to one."""
    scores, scale = scores.contiguous(), scale.contiguous()
    wins = torch.empty_like(scores)
    _launch(_win_all_kernel, scores, order, scores, scale, wins)
    return wins


def win_all_gradient(incoming: Tensor, scores: Tensor, scale: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """Derivative of ``(incoming * win_all(scores, scale)).sum()`` by the scores (n, k) and by the scale (n,)."""
    incoming, scores, scale = incoming.contiguous(), scores.contiguous(), scale.contiguous()
    by_scores, by_scale = torch.empty_like(scores), torch.empty_like(scale)
    _launch(_win_all_gradient_kernel, scores, order, incoming, scores, scale, by_scores, by_scale)
    return by_scores, by_scale


def _launch(kernel: triton.JITFunction, scores: Tensor, order: int, *tensors: Tensor, **options: float) -> None:
    n, k = scores.shape
    if n == 0:
        return
    nodes, log_weights = _padded_nodes(order, scores.device)
    block_n, block_k, warps = _blocks(k, len(nodes))
    with torch.cuda.device_of(scores):  # Triton launches on the current device; does nothing for CPU tensors
        kernel[(triton.cdiv(n, block_n),)](
            *tensors,
            nodes,
            log_weights,
            n,
            k,
            steps=_newton_steps(k),
            drop=_race._drop(order),
            block_n=block_n,
            block_k=block_k,
            block_q=len(nodes),
            num_warps=warps,
            **options,
        )


def _newton_steps(n_classes: int) -> int:
    """Steps that suffice for up to ``n_classes`` equal scores, the slowest case: 3 for 2 classes, 9 for 10,000."""
    return 2 + math.ceil(0.5 * math.log2(n_classes))


def _blocks(k: int, n_nodes: int) -> tuple[int, int, int]:
    """Rows and classes of a program's tile and its warps: 16 values per thread, from 1 warp at k <= 16 to 4 at k > 32.

    Few warps per row, so that a batch of a few hundred rows still reaches every processor of the GPU.
    """
    block_k = min(triton.next_power_of_2(k), max(1, 2048 // n_nodes))
    block_n = max(1, 512 // (block_k * n_nodes))
    return block_n, block_k, min(8, max(1, block_n * block_k * n_nodes // 512))


@lru_cache(maxsize=64)
def _padded_nodes(order: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Gauss-Legendre nodes and log-weights, padded to a power of two by nodes of weight zero."""
    nodes, weights = legendre_nodes(order, torch.float64, torch.device("cpu"))
    padding = (0, triton.next_power_of_2(order) - order)
    nodes, weights = (torch.nn.functional.pad(values, padding) for values in (nodes, weights))
    return nodes.to(device, torch.float32), weights.log().to(device, torch.float32)


@triton.jit
def _normal(x):
    r""":math:`\log\Phi`, its derivative :math:`r = \varphi/\Phi`, and :math:`-(\log\Phi)'' = r (x + r)`, in both tails.

    Everything comes from :math:`r(-t) = t + g(t)` for :math:`t = |x|`, with :math:`g` a ratio of polynomials whose terms are
    all positive: nothing cancels, and the error of :math:`r(-t)` is 1.6e-7 relative for all t, rounding included.

    The coefficients level the error of g relative to :math:`\sqrt{g\,r}` over t >= 0 (it is 1.3e-8): weighted least squares
    on N - g D at 120 Chebyshev points in 2 / (2 + t), with 50 digits, the weights moved by Lawson's rule.
    ``tests/numerics/reference/fit_normal_ratio.py`` prints them.
    """
    t = tl.abs(x)
    near = tl.minimum(t, 1e6)  # t**5 must not overflow; beyond, g is below the rounding of t
    numerator = near + 10.6355864
    numerator = numerator * near + 54.2042381
    numerator = numerator * near + 152.538354
    numerator = numerator * near + 215.048619
    denominator = near + 10.6357709
    denominator = denominator * near + 56.1928415
    denominator = denominator * near + 174.08244
    denominator = denominator * near + 313.927663
    denominator = denominator * near + 269.52347
    excess = numerator / denominator  # g(t)
    mirrored = t + excess  # r(-t)
    half_square = 0.5 * x * x
    density = _INV_SQRT_2PI * tl.exp(-half_square)
    tail = density / mirrored  # Phi(-t)
    rest = 1.0 - tail
    on_left = x < 0.0
    log_part = tl.log(tl.where(on_left, mirrored, rest))
    # on the right log1p(-tail): add back what rounding took from 1 - tail, which is everything for tail < 6e-8
    log_cdf = tl.where(on_left, -half_square - _LOG_SQRT_2PI - log_part, log_part + ((1.0 - rest) - tail))
    ratio = tl.where(on_left, mirrored, density / rest)
    bend = tl.minimum(ratio * tl.where(on_left, excess, x + ratio), 1.0)
    return log_cdf, ratio, bend


@triton.jit
def _gaps_to_label(row, columns, k, label, own, scale, least):
    """A block of standardised gaps to the label's score (n, k), which are rivals, and which of those are not clipped."""
    rival = (columns < k)[None, :] & (columns[None, :] != label[:, None])
    raw = tl.load(row[:, None] + columns[None, :], mask=rival, other=0.0) - own[:, None]
    clipped = raw < least
    gaps = _clip(tl.where(clipped, least, raw) / scale[:, None])
    return tl.where(rival, gaps, _FAR_BEHIND), rival, rival & ~clipped


@triton.jit
def _gaps_to_best(row, columns, k, best, scale):
    """A block of standardised scores relative to the best of their row (n, k), and which of them exist."""
    exists = (columns < k)[None, :]
    raw = tl.load(row[:, None] + columns[None, :], mask=exists, other=0.0) - best[:, None]
    return tl.where(exists, _clip(raw / scale[:, None]), _FAR_BEHIND), exists


@triton.jit
def _clip(gaps):
    """As _race._clip; by comparisons, because NaN has to stay NaN and minimum and maximum drop it."""
    bounded = tl.where(gaps > _LIMIT, _LIMIT, tl.where(gaps < -_LIMIT, -_LIMIT, gaps))
    return tl.where(gaps == float("inf"), float("nan"), bounded)


@triton.jit
def _rows(n, k, block_n: tl.constexpr):
    """The rows of this program and where each begins; in 64 bits, because n k may exceed 32."""
    rows = tl.minimum(tl.program_id(0) * block_n + tl.arange(0, block_n), n - 1).to(tl.int64)
    return rows, rows * k


@triton.jit
def _nodes_between(middle, half, unit_nodes, unit_log_weights, block_q: tl.constexpr):
    """Gauss-Legendre nodes and log-weights on one interval per row, (n, q) each."""
    q = tl.arange(0, block_q)[None, :]
    nodes = middle[:, None] + half[:, None] * tl.load(unit_nodes + q)
    return nodes, tl.log(half)[:, None] + tl.load(unit_log_weights + q)


@triton.jit
def _log_win_kernel(
    scores,
    labels,
    scales,
    log_p,
    by_scores,
    by_scale,
    unit_nodes,
    unit_log_weights,
    n,
    k,
    steps,
    drop,
    least,
    with_gradient: tl.constexpr,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
    block_q: tl.constexpr,
):
    rows, starts = _rows(n, k, block_n)
    block = tl.arange(0, block_k)
    row = scores + starts
    label = tl.load(labels + rows)
    scale = tl.load(scales + rows)
    own = tl.load(row + label)

    # the mode of log f: its slope is convex, decreasing and positive at the start, so Newton moves right and never passes
    highest = tl.zeros([block_n], tl.float32)
    for first in range(0, k, block_k):
        gaps, _, _ = _gaps_to_label(row, first + block, k, label, own, scale, least)
        highest = tl.maximum(highest, tl.max(gaps, 1))
    mode = 0.5 * highest
    for _step in range(steps):
        slope = tl.zeros([block_n], tl.float32)
        curvature = tl.full([block_n], 1.0, tl.float32)
        for first in range(0, k, block_k):
            gaps, _, _ = _gaps_to_label(row, first + block, k, label, own, scale, least)
            _, ratio, bend = _normal(mode[:, None] - gaps)
            slope += tl.sum(ratio, 1)
            curvature += tl.sum(bend, 1)
        mode += (slope - mode) / curvature

    # left and right of it, where log f has fallen by `drop`: as its curvature is at most -1, both are within sqrt(2 drop),
    # and from there Newton on a concave function moves inwards and never passes
    target = -0.5 * mode * mode - drop
    for first in range(0, k, block_k):
        gaps, _, _ = _gaps_to_label(row, first + block, k, label, own, scale, least)
        log_cdf, _, _ = _normal(mode[:, None] - gaps)
        target += tl.sum(log_cdf, 1)
    inward = (1.0 - 2.0 * tl.arange(0, 2))[None, :]
    points = mode[:, None] - tl.sqrt(2.0 * drop) * inward  # (n, 2)
    for _step in range(steps):
        height = -0.5 * points * points
        slope = -points
        for first in range(0, k, block_k):
            gaps, _, _ = _gaps_to_label(row, first + block, k, label, own, scale, least)
            log_cdf, ratio, _ = _normal(points[:, None, :] - gaps[:, :, None])
            height += tl.sum(log_cdf, 1)
            slope += tl.sum(ratio, 1)
        points += inward * tl.maximum((target[:, None] - height) / tl.maximum(tl.abs(slope), 1.0), 0.0)
    margin = 1e-3 + 8.0 * _FLOAT32_EPS * tl.abs(mode)[:, None]
    points = inward * tl.minimum(inward * points, inward * mode[:, None] - margin)

    # the integral between them
    middle, half = 0.5 * tl.sum(points, 1), -0.5 * tl.sum(inward * points, 1)
    nodes, log_mass = _nodes_between(middle, half, unit_nodes, unit_log_weights, block_q)
    log_mass -= 0.5 * nodes * nodes
    for first in range(0, k, block_k):
        gaps, _, _ = _gaps_to_label(row, first + block, k, label, own, scale, least)
        log_cdf, _, _ = _normal(nodes[:, None, :] - gaps[:, :, None])  # (n, k, q)
        log_mass += tl.sum(log_cdf, 1)
    top = tl.max(log_mass, 1)
    mass = tl.exp(log_mass - top[:, None])
    total = tl.sum(mass, 1)
    value = top + tl.log(total) - _LOG_SQRT_2PI
    tl.store(log_p + rows, tl.where(value > 0.0, 0.0, value))

    if with_gradient:
        mass = mass / total[:, None]
        pull = tl.zeros([block_n], tl.float32)
        stretch = tl.zeros([block_n], tl.float32)
        for first in range(0, k, block_k):
            columns = first + block
            gaps, rival, moves = _gaps_to_label(row, columns, k, label, own, scale, least)
            _, ratio, _ = _normal(nodes[:, None, :] - gaps[:, :, None])
            slopes = -tl.sum(mass[:, None, :] * ratio, 2)
            stretch += tl.sum(tl.where(rival, slopes * gaps, 0.0), 1)
            slopes = tl.where(moves, slopes / scale[:, None], 0.0)
            pull += tl.sum(slopes, 1)
            tl.store(by_scores + starts[:, None] + columns[None, :], slopes, mask=rival)
        tl.store(by_scores + starts + label, -pull)
        tl.store(by_scale + rows, -stretch / scale)


@triton.jit
def _nodes_of_largest(
    row,
    scale,
    unit_nodes,
    unit_log_weights,
    k,
    steps,
    drop,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
    block_q: tl.constexpr,
):
    """The best score (n,), and nodes and log-weights (n, q) over the range of the largest, as in _race._maximum_nodes."""
    block = tl.arange(0, block_k)
    best = tl.full([block_n], float("-inf"), tl.float32)
    for first in range(0, k, block_k):
        columns = first + block
        best = tl.maximum(
            best, tl.max(tl.load(row[:, None] + columns[None, :], mask=(columns < k)[None, :], other=float("-inf")), 1)
        )
    left = tl.zeros([block_n], tl.float32) - tl.sqrt(2.0 * drop)
    for _step in range(steps):
        height = tl.zeros([block_n], tl.float32) + drop
        slope = tl.zeros([block_n], tl.float32)
        for first in range(0, k, block_k):
            gaps, _ = _gaps_to_best(row, first + block, k, best, scale)
            log_cdf, ratio, _ = _normal(left[:, None] - gaps)
            height += tl.sum(log_cdf, 1)
            slope += tl.sum(ratio, 1)
        left -= tl.where(height > 0.0, 0.0, height) / slope
    right = tl.sqrt(2.0 * (drop + tl.log(k.to(tl.float32))))
    nodes, log_weight = _nodes_between(0.5 * (right + left), 0.5 * (right - left), unit_nodes, unit_log_weights, block_q)
    return best, nodes, log_weight


@triton.jit
def _win_all_kernel(
    scores,
    scales,
    wins,
    unit_nodes,
    unit_log_weights,
    n,
    k,
    steps,
    drop,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
    block_q: tl.constexpr,
):
    rows, starts = _rows(n, k, block_n)
    block = tl.arange(0, block_k)
    row = scores + starts
    scale = tl.load(scales + rows)
    best, nodes, log_mass = _nodes_of_largest(
        row, scale, unit_nodes, unit_log_weights, k, steps, drop, block_n, block_k, block_q
    )
    ratios = tl.zeros([block_n, block_q], tl.float32)
    for first in range(0, k, block_k):
        gaps, _ = _gaps_to_best(row, first + block, k, best, scale)
        log_cdf, ratio, _ = _normal(nodes[:, None, :] - gaps[:, :, None])
        log_mass += tl.sum(log_cdf, 1)
        ratios += tl.sum(ratio, 1)
    mass = tl.exp(log_mass)
    mass = mass / tl.sum(mass * ratios, 1)[:, None]  # the sum over all classes, so that rows sum to one
    for first in range(0, k, block_k):
        columns = first + block
        gaps, exists = _gaps_to_best(row, columns, k, best, scale)
        _, ratio, _ = _normal(nodes[:, None, :] - gaps[:, :, None])
        tl.store(wins + starts[:, None] + columns[None, :], tl.sum(mass[:, None, :] * ratio, 2), mask=exists)


@triton.jit
def _win_all_gradient_kernel(
    incoming,
    scores,
    scales,
    by_scores,
    by_scale,
    unit_nodes,
    unit_log_weights,
    n,
    k,
    steps,
    drop,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
    block_q: tl.constexpr,
):
    rows, starts = _rows(n, k, block_n)
    block = tl.arange(0, block_k)
    row = scores + starts
    scale = tl.load(scales + rows)
    best, nodes, log_mass = _nodes_of_largest(
        row, scale, unit_nodes, unit_log_weights, k, steps, drop, block_n, block_k, block_q
    )
    ratios = tl.zeros([block_n, block_q], tl.float32)
    weighted = tl.zeros([block_n, block_q], tl.float32)
    for first in range(0, k, block_k):
        columns = first + block
        gaps, exists = _gaps_to_best(row, columns, k, best, scale)
        coefficients = tl.load(incoming + starts[:, None] + columns[None, :], mask=exists, other=0.0)
        log_cdf, ratio, _ = _normal(nodes[:, None, :] - gaps[:, :, None])
        log_mass += tl.sum(log_cdf, 1)
        ratios += tl.sum(ratio, 1)
        weighted += tl.sum(coefficients[:, :, None] * ratio, 1)
    mass = tl.exp(log_mass)
    stretch = tl.zeros([block_n], tl.float32)
    for first in range(0, k, block_k):
        columns = first + block
        places = starts[:, None] + columns[None, :]
        gaps, exists = _gaps_to_best(row, columns, k, best, scale)
        coefficients = tl.load(incoming + places, mask=exists, other=0.0)
        _, ratio, _ = _normal(nodes[:, None, :] - gaps[:, :, None])
        spread = coefficients[:, :, None] * ratios[:, None, :] - weighted[:, None, :]
        slopes = tl.sum(mass[:, None, :] * ratio * spread, 2)
        stretch += tl.sum(tl.where(exists, slopes * gaps, 0.0), 1)
        tl.store(by_scores + places, slopes / scale[:, None], mask=exists)
    tl.store(by_scale + rows, -stretch / scale)
