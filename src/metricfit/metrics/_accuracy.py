"""Accuracy, means of the recalls of all classes, and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from metricfit.metrics._base import Counts, Metric, masked_mean, occurs
from metricfit.numerics._safe import safe_divide, safe_log


@dataclass(frozen=True)
class Accuracy(Metric):
    r"""Share of samples that are predicted correctly, :math:`\sum_k C_{kk} / \sum C`.

    >>> Accuracy()(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))          # 5 / 8
    tensor(0.6250)
    """

    @property
    def counts_hits(self) -> bool:
        return True

    def value(self, matrix: Tensor) -> Tensor:
        counts = Counts.of(matrix)
        return safe_divide(counts.hits.sum(-1), counts.total)


@dataclass(frozen=True)
class BalancedAccuracy(Metric):
    r"""Mean recall of the classes that occur; ``adjusted`` rescales it to 0 for a constant prediction.

    For two classes the adjusted form is informedness (Youden's J), recall + specificity - 1.

    >>> matrix = torch.tensor([[3.0, 1.0], [2.0, 2.0]])
    >>> BalancedAccuracy()(matrix), BalancedAccuracy(adjusted=True)(matrix)     # (3/4 + 1/2) / 2
    (tensor(0.6250), tensor(0.2500))
    """

    adjusted: bool = False

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.adjusted else (0.0, 1.0)

    def value(self, matrix: Tensor) -> Tensor:
        counts = Counts.of(matrix)
        present = occurs(counts.support)
        mean = masked_mean(safe_divide(counts.hits, counts.support), present)
        if not self.adjusted:
            return mean
        chance = safe_divide(torch.ones_like(mean), present.to(mean).sum(-1))
        return safe_divide(mean - chance, 1.0 - chance)


@dataclass(frozen=True)
class GMean(Metric):
    r"""Geometric mean of the recalls of the classes that occur; zero if one class is never predicted correctly.

    >>> GMean()(torch.tensor([[4.0, 0.0], [3.0, 1.0]]))              # sqrt(1 * 1/4)
    tensor(0.5000)
    """

    def value(self, matrix: Tensor) -> Tensor:
        counts = Counts.of(matrix)
        present = occurs(counts.support)
        recall = safe_divide(counts.hits, counts.support)
        mean = torch.exp(masked_mean(safe_log(recall), present))
        missed = (present & (recall <= 0.0)).any(-1) | ~present.any(-1)
        return mean * (~missed).to(mean)


@dataclass(frozen=True)
class Cost(Metric):
    r"""Minus the mean cost, :math:`-\sum_{cj} C_{cj} K_{cj} / \sum C`, for a cost :math:`K_{cj}` of predicting j for c.

    It is negative because larger is better for every metric here. The linear loss is the mean cost minus the smallest entry of
    the matrix.

    >>> Cost([[0.0, 1.0], [5.0, 0.0]])(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))  # -(1 * 1 + 2 * 5) / 8
    tensor(-1.3750)
    """

    matrix: Sequence[Sequence[float]] | Tensor
    gains: Tensor = field(init=False, repr=False, compare=False)  # minus the costs, in float64
    limits: tuple[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            costs = torch.as_tensor(self.matrix, dtype=torch.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"`matrix` should be a finite (k, k) matrix of costs, got {self.matrix!r}.") from error
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2:
            raise ValueError(f"`matrix` should be a finite (k, k) matrix of costs, got shape {tuple(costs.shape)}.")
        if not costs.isfinite().all():
            raise ValueError(f"`matrix` should be a finite (k, k) matrix of costs, got {costs.tolist()}.")
        object.__setattr__(self, "matrix", tuple(map(tuple, costs.tolist())))
        object.__setattr__(self, "gains", -costs)
        object.__setattr__(self, "limits", (-costs.max().item(), -costs.min().item()))

    @property
    def bounds(self) -> tuple[float, float]:
        return self.limits

    @property
    def unit(self) -> float:
        return (self.limits[1] - self.limits[0]) or 1.0

    def unit_gains(self, like: Tensor) -> tuple[Tensor, float]:
        """The gains rescaled to 0 ... 1, and the divisor. If all costs are equal, all gains are 1."""
        low, high = self.bounds
        gains = (self.gains - low) / (high - low) if high > low else torch.ones_like(self.gains)
        return gains.to(like), (high - low) or 1.0

    def value(self, matrix: Tensor) -> Tensor:
        self.check_classes(matrix.shape[-1])
        return safe_divide((matrix * self.gains.to(matrix)).sum((-2, -1)), matrix.sum((-2, -1)))

    def check_classes(self, n_classes: int) -> None:
        if n_classes != len(self.matrix):
            raise ValueError(f"`Cost` has a matrix for {len(self.matrix)} classes, but the scores have {n_classes}.")
