r"""Which of several independent normals comes out largest: one-dimensional integrals, exact to rounding.

The scores :math:`s_1, \dots, s_k` each receive independent noise :math:`N(0, 1)`. Karpukhin et al. ("EXACT", arXiv
2205.09615, Theorem 4.2) write the probability that one of them ends up ahead of all others as an orthant integral in
:math:`k - 1` dimensions with covariance :math:`I + 11^T`. That covariance is one common factor, the winner's own noise,
plus independent noise, so given the common factor the comparisons are independent and one integral is left:

.. math:: p_y = \int f(z)\,dz, \qquad f(z) = \varphi(z) \prod_{i \ne y} \Phi(z - g_i), \qquad g_i = s_i - s_y

:math:`\log f` is concave with curvature at most -1. Its maximum is found by Newton's method, the two points where it has
fallen by a ``drop`` below that maximum again by Newton's method, and Gauss-Legendre nodes are laid between them. The
starting points make every Newton sequence monotone (see each function), so a fixed number of steps is safe, and no step
looks at a value to decide what to do next: the same code runs on any device without synchronising.

These functions work on plain tensors outside autograd; :mod:`metricfit.smoothing` gives them their derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from metricfit.numerics._normal import log_cdf, ratio
from metricfit.numerics._quadrature import legendre_nodes

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_FAR_BEHIND = -1e4  # the gap written at the label itself: Phi is 1 and its derivative 0 there
_CHUNK_ELEMENTS = 2**18  # rows x classes x nodes in flight at once; a few MB whatever the batch


def default_order(dtype: torch.dtype) -> int:
    """Nodes that bring the integral to rounding error: 64 in float64, 24 in float32 (error 7e-8)."""
    return 64 if dtype == torch.float64 else 24


def log_win(gaps: Tensor, labels: Tensor, order: int, with_gradient: bool) -> tuple[Tensor, Tensor]:
    r"""Log-probability that the label's score comes out largest, and its derivative with respect to the gaps.

    ``gaps`` (n, k) holds :math:`g_i = s_i - s_y`, the entry at the label being ignored, ``labels`` (n,) says where that
    is. Returns :math:`\log p` (n,) and :math:`\partial\log p/\partial g_i = -\int f r(z - g_i)\,dz / \int f\,dz` (n, k), zero
    at the label; the second is empty unless asked for. Equals Eq. (15) and (18) of arXiv 2205.09615.

    Two equal scores win half of the time each:

    >>> log_p, slope = log_win(torch.zeros(1, 2), torch.tensor([0]), 24, True)
    >>> log_p.exp(), slope                          # slope: -phi(0) / sqrt(2) / (1/2)
    (tensor([0.5000]), tensor([[-0.0000, -0.5642]]))
    """
    gaps = _bounded(gaps).scatter(1, labels[:, None], _FAR_BEHIND)
    log_p = gaps.new_empty(gaps.shape[0])
    slopes = torch.empty_like(gaps) if with_gradient else gaps.new_empty(0)
    for rows in _row_chunks(gaps, order):
        nodes, log_weight = _nodes_between(*_drop_points(gaps[rows], _drop(order)), order)
        x = nodes[:, None, :] - gaps[rows, :, None]  # (n, k, q)
        log_mass = log_weight - 0.5 * nodes.square() + log_cdf(x).sum(1)  # (n, q)
        log_p[rows] = (torch.logsumexp(log_mass, 1) - _LOG_SQRT_2PI).clamp(max=0.0)
        if with_gradient:
            slopes[rows] = -_integral(log_mass.softmax(1), ratio(x))
    return log_p, slopes


def win_all(scores: Tensor, order: int) -> Tensor:
    r"""Probability of coming out largest for every score at once, (n, k) to (n, k), rows summing to one.

    With :math:`G(t) = \prod_i \Phi(t - s_i)`, the distribution function of the largest, and :math:`r = \varphi/\Phi`:

    .. math:: P_j = \int G(t)\, r(t - s_j)\, dt

    >>> win_all(torch.tensor([[0.0, 0.0, 0.0, 0.0]]), 24)
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    scores = _behind_best(scores)
    wins = torch.empty_like(scores)
    for rows in _row_chunks(scores, order):
        mass, node_ratio = _maximum_nodes(scores[rows], order)
        wins[rows] = _integral(mass, node_ratio)
    return wins / wins.sum(1, keepdim=True)


def win_all_gradient(scores: Tensor, incoming: Tensor, order: int) -> Tensor:
    r"""Derivative of :math:`\sum_j c_j P_j` with respect to the scores, for incoming coefficients :math:`c` (n, k).

    From :math:`\partial P_j/\partial s_k = -\int G r_j r_k\,dt` for :math:`j \ne k`, and rows that sum to one:

    .. math:: \int G r_k \Bigl(c_k \sum_j r_j - \sum_j c_j r_j\Bigr) dt
    """
    scores = _behind_best(scores)
    gradient = torch.empty_like(scores)
    for rows in _row_chunks(scores, order):
        mass, node_ratio = _maximum_nodes(scores[rows], order)
        coefficients = incoming[rows][:, :, None]
        spread = coefficients * node_ratio.sum(1, keepdim=True) - (coefficients * node_ratio).sum(1, keepdim=True)
        gradient[rows] = _integral(mass, node_ratio * spread)
    return gradient


def _mode(gaps: Tensor) -> Tensor:
    r"""Where :math:`\log f` is largest.

    Its slope :math:`-z + \sum_i r(z - g_i)` is convex and falling (r is both), and positive at
    :math:`\max(0, \max_i g_i / 2)` because :math:`r(x) > \max(0, -x)`: Newton from there moves right and never passes.
    """
    z = 0.5 * gaps.amax(1).clamp(min=0.0)
    for _ in range(_newton_steps(gaps.shape[1])):
        x = z[:, None] - gaps
        r = ratio(x)
        slope = r.sum(1) - z
        curvature = 1.0 + _bend(x, r).sum(1)
        z = z + slope / curvature
    return z


def _bend(x: Tensor, r: Tensor) -> Tensor:
    r""":math:`-(\log\Phi)'' = r (x + r)`, between 0 and 1; on the far left, where x + r is all rounding error, 1."""
    return torch.where(x < -100.0, 1.0, (r * (x + r)).clamp(0.0, 1.0))


def _drop_points(gaps: Tensor, drop: float) -> tuple[Tensor, Tensor]:
    r"""Points left and right of the mode between which :math:`\log f` is within ``drop`` of its maximum.

    Curvature at most -1 puts both within :math:`\sqrt{2\,\mathrm{drop}}` of the mode. Newton from there on a concave
    function moves inwards and never passes, so the interval always covers; more steps only make it tighter.
    """
    mode = _mode(gaps)[:, None]
    reach = math.sqrt(2.0 * drop)
    target = _log_height(gaps, mode) - drop
    inward = mode.new_tensor([1.0, -1.0])
    points = mode - reach * inward
    for _ in range(_newton_steps(gaps.shape[1])):
        slope = ratio(points[:, None, :] - gaps[:, :, None]).sum(1) - points
        step = (target - _log_height(gaps, points)) / slope.abs().clamp(min=1.0)
        points = points + inward * step.clamp(min=0.0)
    # the rounding of huge heights must not carry a point over the mode
    least = 1e-3 + 8.0 * torch.finfo(mode.dtype).eps * mode.abs()
    left, right = (inward * torch.minimum(inward * points, inward * mode - least)).unbind(1)
    return left, right


def _log_height(gaps: Tensor, points: Tensor) -> Tensor:
    r""":math:`\log f` up to a constant, at several points per row: (n, k), (n, q) to (n, q)."""
    return log_cdf(points[:, None, :] - gaps[:, :, None]).sum(1) - 0.5 * points.square()


def _maximum_nodes(scores: Tensor, order: int) -> tuple[Tensor, Tensor]:
    r"""Nodes over the bulk of the largest score: :math:`w_q G(t_q)` (n, q) and :math:`r(t_q - s_j)` (n, k, q).

    Below, :math:`\log G` is concave and rising and less than -drop at :math:`-\sqrt{2\,\mathrm{drop}}` (the best score is at
    0): Newton from there never passes the point where it equals -drop. Above, :math:`1 - G(t) \le k\,e^{-t^2/2}`.
    """
    drop, n_classes = _drop(order), scores.shape[1]
    left = torch.full_like(scores[:, 0], -math.sqrt(2.0 * drop))
    for _ in range(_newton_steps(n_classes)):
        x = left[:, None] - scores
        left = left - (log_cdf(x).sum(1) + drop).clamp(max=0.0) / ratio(x).sum(1)
    right = torch.full_like(left, math.sqrt(2.0 * (drop + math.log(n_classes))))
    nodes, log_weight = _nodes_between(left, right, order)
    x = nodes[:, None, :] - scores[:, :, None]
    return torch.exp(log_weight + log_cdf(x).sum(1)), ratio(x)


def _nodes_between(left: Tensor, right: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """Gauss-Legendre nodes and log-weights on one interval per row, (n, q) each."""
    unit_nodes, unit_weights = legendre_nodes(order, left.dtype, left.device)
    half = 0.5 * (right - left)[:, None]
    return 0.5 * (right + left)[:, None] + half * unit_nodes, torch.log(half * unit_weights)


def _integral(mass: Tensor, values: Tensor) -> Tensor:
    """Sum over the nodes, (n, q) and (n, k, q) to (n, k); not as a matrix product, which autocast would round."""
    return (mass[:, None, :] * values).sum(2)


def _drop(order: int) -> float:
    """How much of log f ``order`` nodes resolve: 16 at 24 nodes, 28 at 40; e**-32 is below float64's rounding."""
    return min(0.68 * order, 32.0)


def _newton_steps(n_classes: int) -> int:
    """Steps that suffice for up to ``n_classes`` equal scores, the slowest case: 3 for 2 classes, 9 for 10,000."""
    return 2 + math.ceil(0.5 * math.log2(n_classes))


def _behind_best(scores: Tensor) -> Tensor:
    """Scores relative to the best of their row: only differences count, and these keep their digits."""
    return _bounded(scores - scores.amax(1, keepdim=True))


def _bounded(gaps: Tensor) -> Tensor:
    """Gaps whose squares, summed over any number of classes, cannot overflow. NaN stays NaN, and infinity becomes it."""
    limit = 1e100 if gaps.dtype == torch.float64 else 1e15
    return gaps.clamp(-limit, limit).masked_fill(gaps == math.inf, math.nan)


def _row_chunks(gaps: Tensor, order: int) -> Iterator[slice]:
    n_rows, n_classes = gaps.shape
    size = max(1, _CHUNK_ELEMENTS // (n_classes * order))
    for start in range(0, n_rows, size):
        yield slice(start, start + size)
