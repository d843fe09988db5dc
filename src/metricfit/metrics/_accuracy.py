"""Accuracy and what is made of the recalls of all classes; costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from metricfit.metrics._base import Counts, Metric, masked_mean, occurs
from metricfit.numerics._safe import safe_divide, safe_log


@dataclass(frozen=True)
class Accuracy(Metric):
    r"""Share of samples that hit their label, :math:`\sum_k C_{kk} / \sum C`.

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
    r"""Geometric mean of the recalls of the classes that occur; zero as soon as one class is never hit.

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
    r"""Minus the mean cost, :math:`-\sum_{cj} C_{cj} K_{cj} / \sum C`, for a cost :math:`K_{cj}` of calling class c class j.

    Minus, because every metric here goes up when things get better; the linear loss is then the mean cost itself, less
    the least entry of the matrix.

    >>> Cost([[0.0, 1.0], [5.0, 0.0]])(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))  # -(1 * 1 + 2 * 5) / 8
    tensor(-1.3750)
    """

    matrix: Sequence[Sequence[float]] | Tensor

    def __post_init__(self) -> None:
        costs = torch.as_tensor(self.matrix, dtype=torch.float64)
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2 or not costs.isfinite().all():
            raise ValueError(f"`matrix` should be a finite (k, k) matrix of costs, got shape {tuple(costs.shape)}.")
        object.__setattr__(self, "matrix", tuple(map(tuple, costs.tolist())))

    @property
    def bounds(self) -> tuple[float, float]:
        entries = [cost for row in self.matrix for cost in row]
        return -max(entries), -min(entries)

    def gains(self, like: Tensor) -> Tensor:
        """What a sample of true class c adds to the mean if it is called class j, (k, k)."""
        return -like.new_tensor(self.matrix)

    def value(self, matrix: Tensor) -> Tensor:
        self.check_classes(matrix.shape[-1])
        return safe_divide((matrix * self.gains(matrix)).sum((-2, -1)), matrix.sum((-2, -1)))

    def check_classes(self, n_classes: int) -> None:
        if n_classes != len(self.matrix):
            raise ValueError(f"`Cost` was given a matrix for {len(self.matrix)} classes, the scores have {n_classes}.")
