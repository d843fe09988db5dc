r"""Probability that one of several independent normals is the largest: one-dimensional integrals, exact to rounding.

Each score :math:`s_1, \dots, s_k` receives independent noise :math:`N(0, 1)`. Karpukhin et al. ("EXACT", arXiv 2205.09615,
Theorem 4.2) write the probability that one of them is then the largest as an orthant integral in :math:`k - 1` dimensions with
covariance :math:`I + 11^T`. This is the covariance of one common factor, the winner's own noise, plus independent noise. Given
the common factor the comparisons are independent, so one integral remains:

.. math:: p_y = \int f(z)\,dz, \qquad f(z) = \varphi(z) \prod_{i \ne y} \Phi(z - g_i), \qquad g_i = s_i - s_y

:math:`\log f` is concave. Its curvature is -1 or less everywhere, and falls to the left. The algorithm finds a point near the
maximum, then two points that enclose all of f within ``drop`` of the maximum, and puts Gauss-Legendre nodes between them.
Concavity ensures that the interval covers these f for any row (see each function); a fixed number of steps makes it tight. No
step depends on a value, so the same code runs on any device without synchronising. On a CPU, many classes are first condensed
to fewer weighted ones, see :mod:`._condense`.

These functions work on plain tensors without autograd; :mod:`._operators` adds the derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from statistics import NormalDist

import torch
from numpy.polynomial.legendre import leggauss
from torch import Tensor

from metricfit.numerics._condense import Classes, condense
from metricfit.numerics._normal_parts import BUFFER, log_cdf_and_ratio

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
LARGEST_GAP = {torch.float32: 1e15, torch.float64: 1e100}  # larger ones count as this
_FAR_BEHIND = -1e4  # the gap written at the label itself: Phi is 1 and its derivative 0 there
_CHUNK_ELEMENTS = BUFFER  # rows x classes x nodes per chunk: a few MB for any batch
_LEADERS, _FEW_LEADERS = 32, 8  # leading classes in the first estimate of the mode; few if all are near each other


def default_order(dtype: torch.dtype) -> int:
    """Number of nodes for an integral exact to rounding: 64 in float64, 24 in float32 (error 7e-8)."""
    return 64 if dtype == torch.float64 else 24


def log_win(gaps: Tensor, labels: Tensor, order: int, with_gradient: bool) -> tuple[Tensor, Tensor]:
    r"""Log-probability that the label's score is the largest, and its derivative with respect to the gaps.

    ``gaps`` (n, k) holds :math:`g_i = s_i - s_y`; the entry at the label, given by ``labels`` (n,), is ignored.
    Returns :math:`\log p` (n,) and :math:`\partial\log p/\partial g_i = -\int f r(z - g_i)\,dz / \int f\,dz` (n, k), zero
    at the label; the second is empty without ``with_gradient``. Equals Eq. (15) and (18) of arXiv 2205.09615.

    Two equal scores win with probability 1/2 each:

    >>> log_p, slope = log_win(torch.zeros(1, 2), torch.tensor([0]), 24, True)
    >>> log_p.exp(), slope                          # slope: -phi(0) / sqrt(2) / (1/2)
    (tensor([0.5000]), tensor([[-0.0000, -0.5642]]))
    """
    gaps = clip_gaps(gaps).scatter(1, labels[:, None], _FAR_BEHIND)
    log_p = gaps.new_empty(gaps.shape[0])
    slopes = torch.empty_like(gaps) if with_gradient else gaps.new_empty(0)
    below_nodes = 0.5 * gaps.amax(1, keepdim=True).clamp(min=0.0) - math.sqrt(2.0 * _drop(order))
    for rows, classes in condense(gaps, below_nodes):
        start = _lower_mode(gaps[rows], _LEADERS if classes.weights is None else _FEW_LEADERS)
        log_p[rows], slope = _log_win(classes, start, order, with_gradient)
        if with_gradient:
            slopes[rows] = classes.spread(slope).clamp_(max=0.0)
    if with_gradient:  # NaN stays
        slopes.scatter_(1, labels[:, None], 0.0 * slopes.gather(1, labels[:, None]))
    return log_p, slopes


def win_all(scores: Tensor, order: int) -> Tensor:
    r"""Probability of being the largest for every score at once, (n, k) to (n, k); rows sum to one.

    With :math:`G(t) = \prod_i \Phi(t - s_i)`, the distribution function of the largest, and :math:`r = \varphi/\Phi`:

    .. math:: P_j = \int G(t)\, r(t - s_j)\, dt

    >>> win_all(torch.tensor([[0.0, 0.0, 0.0, 0.0]]), 24)
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    scores = _subtract_best(scores)
    wins = torch.empty_like(scores)
    for rows, classes in condense(scores, _least_maximum(scores, order)):
        values = [_integral(mass, ratios) for _, mass, ratios in _maximum_nodes(classes, order)]
        wins[rows] = classes.spread(torch.cat(values)).clamp_(min=0.0)
    return wins / wins.sum(1, keepdim=True)


def win_all_gradient(scores: Tensor, incoming: Tensor, order: int) -> Tensor:
    r"""Derivative of :math:`\sum_j c_j P_j` with respect to the scores, for incoming coefficients :math:`c` (n, k).

    From :math:`\partial P_j/\partial s_k = -\int G r_j r_k\,dt` for :math:`j \ne k`, and rows that sum to one:

    .. math:: \int G r_k \Bigl(c_k \sum_j r_j - \sum_j c_j r_j\Bigr) dt

    Only differences of the coefficients matter. Relative to that of the best class they keep their digits.
    """
    incoming = incoming - incoming.gather(1, scores.argmax(1, keepdim=True))
    scores = _subtract_best(scores)
    gradient = torch.empty_like(scores)
    for rows, classes in condense(scores, _least_maximum(scores, order)):
        coefficients = classes.weights_of(incoming[rows])
        own, all_others = torch.empty_like(classes.gaps), torch.empty_like(classes.gaps)
        for part, mass, ratios in _maximum_nodes(classes, order):
            own[part] = _integral(mass * _total(ratios, classes.weights, part), ratios)
            all_others[part] = _integral(mass * _total(ratios, coefficients, part), ratios)
        gradient[rows] = incoming[rows] * classes.spread(own) - classes.spread(all_others)
    return gradient


def _log_win(classes: Classes, start: Tensor, order: int, with_gradient: bool) -> tuple[Tensor, Tensor]:
    """Log-probability (n,) of winning against these classes, and its derivative by one class at each of their gaps (n, m)."""
    gaps = classes.gaps
    log_p = gaps.new_empty(gaps.shape[0])
    slopes = torch.empty_like(gaps) if with_gradient else gaps.new_empty(0)
    ends = torch.cat([_drop_points(classes[part], start[part], _drop(order)) for part in _row_chunks(gaps, 2)])
    for part in _row_chunks(gaps, order):
        nodes, log_weight = _nodes_between(ends[part], order)
        log_cdfs, ratios = _log_cdfs_and_ratios(gaps[part], nodes)
        log_mass = log_weight - 0.5 * nodes.square() + _total(log_cdfs, classes.weights, part)  # (n, q)
        log_p[part] = (torch.logsumexp(log_mass, 1) - _LOG_SQRT_2PI).clamp(max=0.0)
        if with_gradient:
            slopes[part] = -_integral(log_mass.softmax(1), ratios)
    return log_p, slopes


def _log_cdfs_and_ratios(gaps: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    r""":math:`\log\Phi(z - g_i)` and :math:`r(z - g_i)` at several points per row: (n, k), (n, q) to (n, k, q) each."""
    return log_cdf_and_ratio(points[:, None, :] - gaps[:, :, None])


def _total(values: Tensor, weights: Tensor | None, rows: slice) -> Tensor:
    """Weighted sum over the classes, (n, k, q) to (n, q)."""
    return values.sum(1) if weights is None else (values * weights[rows][:, :, None]).sum(1)


def _shape_at(classes: Classes, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    r""":math:`\log f` up to a constant, :math:`\sum_i r` and :math:`-\sum_i (\log\Phi)''` at several points, (n, q) each.

    :math:`-(\log\Phi)'' = r (x + r)` lies between 0 and 1; on the far left, where x + r is only rounding error, it is 1.
    """
    x = points[:, :, None] - classes.gaps[:, None, :]
    log_cdfs, ratios = log_cdf_and_ratio(x)
    bend = (ratios + x).mul_(ratios).clamp_(0.0, 1.0)
    far_left = torch.lt(x, -100.0, out=x)
    parts = log_cdfs, ratios, torch.maximum(bend, far_left, out=bend)
    if classes.weights is not None:
        for part in parts:
            part.mul_(classes.weights[:, None, :])
    height, pull, bend = (part.sum(2) for part in parts)
    return height - 0.5 * points.square(), pull, bend.clamp(min=0.0)  # some weights are negative


def _lower_mode(gaps: Tensor, n_leaders: int) -> Tensor:
    r"""A point to the left of the maximum of :math:`\log f`, (n, 1).

    The mode solves :math:`z = \sum_i r(z - g_i)`. Since :math:`r(x) > \max(0, -x)`, it lies to the right of where
    :math:`z = \sum_i \max(0, g_i - z)`, which is the largest :math:`(g_1 + \dots + g_m)/(m + 1)` over the m leading gaps.
    """
    n_leaders = min(gaps.shape[1], n_leaders)
    members = torch.arange(2, n_leaders + 2, dtype=gaps.dtype, device=gaps.device)
    return (gaps.topk(n_leaders, 1).values.cumsum(1) / members).amax(1, keepdim=True)


def _drop_points(classes: Classes, start: Tensor, drop: float) -> Tensor:
    r"""Points left and right of the mode between which :math:`\log f` is within ``drop`` of its maximum, (n, 2).

    Let F be the decrease of :math:`\log f` from its value at a point near its maximum. F is convex, :math:`F'' \ge 1`, and F''
    decreases from left to right. So left of any point F lies above the parabola with the value, slope and curvature there, and
    right of it above the parabola with curvature 1. The search starts where these reach ``drop``. A step inwards goes to where
    a parabola below F falls to ``drop``: on the right with the curvature at the point, on the left with that near the mode.
    So the interval always covers the range, for any point and any steps; the steps only make it tighter.
    """
    mode, points = _mode_and_reach(classes, start, drop)
    inward = mode.new_tensor([1.0, -1.0])
    # the rounding of huge heights must not move a point past the mode
    furthest = inward * mode - 1e-3 - 8.0 * torch.finfo(mode.dtype).eps * mode.abs()
    points = inward * torch.minimum(inward * points, furthest)
    height, pull, bend = _shape_at(classes, torch.cat([points, mode], 1))
    floor, curvature = height[:, 2:] - drop, 1.0 + bend[:, 2:]
    for step in range(_steps(classes.number)):
        if step:
            height, pull, bend = _shape_at(classes, points)
        steepness = (inward * (pull[:, :2] - points)).clamp(min=math.sqrt(2.0 * drop))  # a lower bound, as F'' >= 1
        excess = (floor - height[:, :2]).clamp(min=0.0)
        curvatures = torch.cat([curvature, 1.0 + bend[:, 1:2]], 1)
        root = torch.sqrt((steepness.square() - 2.0 * curvatures * excess).clamp(min=0.0))
        points = inward * torch.minimum(inward * points + 2.0 * excess / (steepness + root), furthest)
    return points


def _mode_and_reach(classes: Classes, start: Tensor, drop: float) -> tuple[Tensor, Tensor]:
    r"""A point near the maximum of :math:`\log f`, (n, 1), and points (n, 2) outside those of ``_drop_points``.

    Each step goes right and never passes the mode (if that is below 1e-3, 1e-3). It is the larger of two:

    * Newton's: r is convex. With :math:`R = \sum_i r` and :math:`B = -\sum_i r'` it is :math:`(R - z)/(1 + B)`; best where
      the classes are ahead and r is nearly linear.
    * For classes behind, where r falls like a bell. :math:`(\log r)'' > -1` gives :math:`\sum_i r(x_i + d) \ge
      R\, e^{-dB/R - d^2/2}`, so d may grow until :math:`\log R - dB/R - d^2/2 = \log z + d/z`.

    The points come from parabolas at the last but one z.
    """
    z = start.clamp(min=1e-3)
    for _ in range(_steps(classes.number)):
        before = z
        _, pull, bend = _shape_at(classes, z)
        slope, curvature = pull - z, 1.0 + bend
        pull = pull.clamp(min=1e-30)
        surplus = torch.log(pull / z).clamp(min=0.0)
        fall = bend / pull + 1.0 / z
        z = z + torch.maximum(slope / curvature, 2.0 * surplus / (fall + torch.sqrt(fall.square() + 2.0 * surplus)))
    to_left = (torch.sqrt(slope.square() + 2.0 * drop * curvature) - slope) / curvature
    to_right = slope + torch.sqrt(slope.square() + 2.0 * drop)
    return z, torch.cat([before - to_left, before + to_right], 1)


def _least_maximum(scores: Tensor, order: int) -> Tensor:
    """A lower limit of the largest score, (n, 1): the best score alone makes G less than e**-drop there."""
    return torch.full_like(scores[:, :1], -math.sqrt(2.0 * _drop(order)))


def _maximum_nodes(classes: Classes, order: int) -> Iterator[tuple[slice, Tensor, Tensor]]:
    r"""Nodes over the range of the largest score, in chunks: :math:`w_q G(t_q)` (n, q) and :math:`r(t_q - s_j)` (n, k, q)."""
    scores = classes.gaps
    ends = torch.cat([_maximum_ends(classes[part], order) for part in _row_chunks(scores, 1)])
    for part in _row_chunks(scores, order):
        nodes, log_weight = _nodes_between(ends[part], order)
        log_cdfs, ratios = _log_cdfs_and_ratios(scores[part], nodes)
        yield part, torch.exp(log_weight + _total(log_cdfs, classes.weights, part)), ratios


def _maximum_ends(classes: Classes, order: int) -> Tensor:
    r"""Points between which the largest of the noisy scores lies, up to :math:`e^{-\mathrm{drop}}`, (n, 2).

    On the left, :math:`-\log G` is convex and decreasing, so its tangent at any point reaches ``drop`` further to the left:
    this is the last step. The steps before are Newton's for its logarithm. They start where k equal scores reach ``drop``, the
    rightmost possible point because the best score is 0. On the right, :math:`1 - G(t) \le k\,e^{-t^2/2}`.
    """
    drop, least, steps = _drop(order), _least_maximum(classes.gaps, order), _steps(classes.number)
    left = torch.full_like(least, NormalDist().inv_cdf(math.exp(-drop / classes.number)))
    for step in range(steps + 1):
        log_cdfs, ratios = (part[:, :, None] for part in log_cdf_and_ratio(left - classes.gaps))
        depth, pull = -_total(log_cdfs, classes.weights, slice(None)), _total(ratios, classes.weights, slice(None))
        left = left + (depth * torch.log(depth / drop) if step < steps else depth - drop) / pull
        left = torch.maximum(left, least)
    return torch.cat([left, torch.full_like(left, math.sqrt(2.0 * (drop + math.log(classes.number))))], 1)


def _nodes_between(ends: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """Gauss-Legendre nodes and log-weights on one interval per row, (n, q) each."""
    unit_nodes, unit_weights = legendre_nodes(order, ends.dtype, ends.device)
    left, right = ends[:, :1], ends[:, 1:]
    half = 0.5 * (right - left)
    return 0.5 * (right + left) + half * unit_nodes, torch.log(half * unit_weights)


@lru_cache(maxsize=64)
def legendre_nodes(order: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    r"""Nodes and weights on :math:`[-1, 1]`: :math:`\sum_q w_q f(x_q) = \int_{-1}^1 f`, exact up to degree 2 order - 1.

    >>> nodes, weights = legendre_nodes(2, torch.float64, torch.device("cpu"))
    >>> nodes, weights                              # +-1/sqrt(3), 1
    (tensor([-0.5774,  0.5774], dtype=torch.float64), tensor([1., 1.], dtype=torch.float64))
    """
    nodes, weights = leggauss(order)
    return torch.tensor(nodes, dtype=dtype, device=device), torch.tensor(weights, dtype=dtype, device=device)


def _integral(mass: Tensor, values: Tensor) -> Tensor:
    """Sum over the nodes, (n, q) and (n, k, q) to (n, k); autocast would round a matrix product."""
    return (mass[:, None, :] * values).sum(2)


def _drop(order: int) -> float:
    """The decrease of log f that ``order`` nodes resolve: 16 at 24 nodes, 28 at 40; e**-32 is below float64's rounding."""
    return min(0.68 * order, 32.0)


def _steps(n_classes: int) -> int:
    """Steps after which an interval is too wide by a few hundredths at most: 2 for up to 40 classes, 3 for 400, and so on."""
    return 2 + max(0, math.ceil(math.log10(n_classes / 40)))


def _subtract_best(scores: Tensor) -> Tensor:
    """Scores minus the best of their row: only differences matter, and these keep their digits."""
    return clip_gaps(scores - scores.amax(1, keepdim=True))


def clip_gaps(gaps: Tensor) -> Tensor:
    """Clip gaps so that sums of their squares over any number of classes are finite. NaN stays NaN, and inf becomes NaN."""
    limit = LARGEST_GAP[gaps.dtype]
    return gaps.clamp(-limit, limit).masked_fill(gaps == math.inf, math.nan)


def _row_chunks(gaps: Tensor, order: int) -> Iterator[slice]:
    n_rows, n_classes = gaps.shape
    size = max(1, _CHUNK_ELEMENTS // (n_classes * order))
    for start in range(0, n_rows, size):
        yield slice(start, start + size)
