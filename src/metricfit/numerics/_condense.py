r"""Replace many classes by fewer weighted ones, for sums over classes of a smooth function of their gaps.

All sums in :mod:`._race` are of this kind: :math:`\sum_i h(g_i)` with h made of :math:`\log\Phi` and r. The gaps of a row
fall into bins of width 1. In a bin h is a polynomial to rounding, given by its values at a few Chebyshev points :math:`u_j` of
the bin. So :math:`\sum_i h(g_i) = \sum_j w_j h(u_j)`, with weights from the sums :math:`\sum_i T_m(\delta_i)` of Chebyshev
polynomials of the positions in the bin. Conversely, the values of a smooth function at the :math:`u_j` give it at every gap.

Both directions cost about ten operations per class, instead of two special functions at every node. The zeros of :math:`\Phi`
nearest to the real line are 2.8 away from it, so m points in a bin of width 1 are exact to about :math:`11^{-m}`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import torch
from torch import Tensor

POINTS = {torch.float32: 8, torch.float64: 16}  # in each bin
REACH = {torch.float32: 6.5, torch.float64: 9.0}  # -log Phi is 4e-11 and 1e-19 there: a class so far behind is negligible
MANY = {torch.float32: 256, torch.float64: 512}  # least number of classes for which this is faster
MAX_BINS = 32
_CHUNK_ELEMENTS = 2**18  # rows x classes per chunk, about 10 MB


class Classes:
    """``number`` classes in each row, at ``gaps`` (n, m) with ``weights`` (n, m); None means weights of 1."""

    def __init__(self, gaps: Tensor, number: int, weights: Tensor | None = None) -> None:
        self.gaps, self.number, self.weights = gaps, number, weights

    def __getitem__(self, rows: slice) -> Classes:
        return Classes(self.gaps[rows], self.number, None if self.weights is None else self.weights[rows])

    def weights_of(self, coefficients: Tensor) -> Tensor:
        r"""Weights (n, m) that give :math:`\sum_i c_i h(g_i)` at ``gaps``, for coefficients c (n, k) of all classes."""
        return coefficients

    def spread(self, values: Tensor) -> Tensor:
        """A smooth function of the gap at all classes (n, k), from its values at ``gaps`` (n, m)."""
        return values


class CondensedClasses(Classes):
    """Few weighted classes that replace those at ``gaps`` (n, k); gaps below ``least`` (n, 1) count as ``least``.

    Sums are preserved, here 1000 times the integral of squares from 0 to 3:

    >>> few = CondensedClasses(torch.linspace(0.0, 3.0, 3001, dtype=torch.float64)[None], torch.zeros(1, 1))
    >>> few.gaps.shape, (few.weights * few.gaps**2).sum()
    (torch.Size([1, 64]), tensor(9004.5005, dtype=torch.float64))
    """

    def __init__(self, gaps: Tensor, least: Tensor) -> None:
        n_points = POINTS[gaps.dtype]
        self._deltas = (gaps.double() - least.double()).clamp_(min=0.0)
        known = self._deltas.nan_to_num(0.0)
        self._n_bins = min(MAX_BINS, 1 + int(known.amax().item()))
        self._slots = known.long().clamp_(max=self._n_bins - 1)
        self._deltas.sub_(self._slots).mul_(2.0).sub_(1.0)  # positions in the bin, from -1 to 1
        points = torch.arange(self._n_bins)[:, None] + 0.5 + 0.5 * torch.cos(_angles(n_points))
        super().__init__((least.double() + points.flatten()).to(gaps.dtype), gaps.shape[1])
        self.weights = self.weights_of(torch.ones_like(gaps))

    def weights_of(self, coefficients: Tensor) -> Tensor:
        n_points = POINTS[self.gaps.dtype]
        sums = self._deltas.new_zeros(n_points, len(self.gaps), self._n_bins)
        current = coefficients.to(torch.float64, copy=True)
        previous = self._deltas * current  # T_{-1} = T_1
        for degree in range(n_points):
            sums[degree].scatter_add_(1, self._slots, current)
            # T_{m+1} = 2 delta T_m - T_{m-1}
            previous, current = current, torch.addcmul(previous.neg_(), self._deltas, current, value=2.0)
        return torch.einsum("dnb,dj->nbj", sums, _to_chebyshev(n_points)).flatten(1).to(self.gaps.dtype)

    def spread(self, values: Tensor) -> Tensor:
        n_points = POINTS[values.dtype]
        in_bins = values.double().unflatten(1, (self._n_bins, n_points))
        coefficients = torch.einsum("nbj,dj->dnb", in_bins, _to_chebyshev(n_points))
        value, before = torch.zeros_like(self._deltas), torch.zeros_like(self._deltas)
        for degree in reversed(range(n_points)):  # Clenshaw's recurrence
            following = before.neg_().addcmul_(self._deltas, value, value=2.0 if degree else 1.0)
            value, before = following.add_(coefficients[degree].gather(1, self._slots)), value
        return value.to(values.dtype)


def condense(gaps: Tensor, first_node: Tensor) -> Iterator[tuple[slice | Tensor, Classes]]:
    """Chunks of rows and their classes, condensed if that is faster, for nodes to the right of ``first_node`` (n, 1).

    On a CPU only. It reads values to find the rows beyond ``MAX_BINS``, for which another device would have to synchronise,
    and sums in a fixed order, which other devices do not keep.
    """
    n_rows, n_classes = gaps.shape
    if n_rows == 0:
        return
    if gaps.device.type != "cpu" or n_classes < MANY[gaps.dtype]:
        yield slice(None), Classes(gaps, n_classes)
        return
    least = first_node - REACH[gaps.dtype]
    wide = (gaps.amax(1, keepdim=True) - least > MAX_BINS).squeeze(1)
    rows = wide.nonzero().squeeze(1)
    if len(rows):
        yield rows, Classes(gaps[rows], n_classes)
    for part in (~wide).nonzero().squeeze(1).split(max(1, _CHUNK_ELEMENTS // n_classes)):
        if len(part):
            yield part, CondensedClasses(gaps[part], least[part])


def _angles(n_points: int) -> Tensor:
    return (torch.arange(n_points, dtype=torch.float64) + 0.5) * (math.pi / n_points)


@lru_cache(maxsize=2)
def _to_chebyshev(n_points: int) -> Tensor:
    """The matrix from values at the points to coefficients of Chebyshev polynomials, (degree, point)."""
    matrix = torch.cos(torch.arange(n_points)[:, None] * _angles(n_points)) * (2.0 / n_points)
    matrix[0] *= 0.5
    return matrix
