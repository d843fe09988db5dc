"""Accuracy, and means of the recalls of all classes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from metricfit.metrics._base import Counts, CountsMetric
from metricfit.numerics import masked_mean, occurs, safe_divide, safe_log


@dataclass(frozen=True)
class Accuracy(CountsMetric):
    r"""Share of samples that are predicted correctly.

    .. math:: \sum_k C_{kk} / \sum C

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import Accuracy
    >>> Accuracy()(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))          # 5 / 8
    tensor(0.6250)
    """

    @property
    def counts_hits(self) -> bool:
        return True

    def of_counts(self, counts: Counts) -> Tensor:
        return safe_divide(counts.hits.sum(-1), counts.total)


@dataclass(frozen=True)
class BalancedAccuracy(CountsMetric):
    """Mean recall of the classes that occur.

    Parameters
    ----------
    adjusted : bool, default=False
        Rescale to 0 for a constant prediction. For two classes this is informedness (Youden's J), recall + specificity - 1.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import BalancedAccuracy
    >>> matrix = torch.tensor([[3.0, 1.0], [2.0, 2.0]])
    >>> BalancedAccuracy()(matrix), BalancedAccuracy(adjusted=True)(matrix)     # (3/4 + 1/2) / 2
    (tensor(0.6250), tensor(0.2500))
    """

    adjusted: bool = False

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.adjusted else (0.0, 1.0)

    def of_counts(self, counts: Counts) -> Tensor:
        present = occurs(counts.support)
        mean = masked_mean(safe_divide(counts.hits, counts.support), present)
        if not self.adjusted:
            return mean
        chance = safe_divide(torch.ones_like(mean), present.to(mean).sum(-1))
        return safe_divide(mean - chance, 1.0 - chance)


@dataclass(frozen=True)
class GMean(CountsMetric):
    """Geometric mean of the recalls of the classes that occur.

    It is zero if one class is never predicted correctly.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import GMean
    >>> GMean()(torch.tensor([[4.0, 0.0], [3.0, 1.0]]))              # sqrt(1 * 1/4)
    tensor(0.5000)
    """

    def of_counts(self, counts: Counts) -> Tensor:
        present = occurs(counts.support)
        recall = safe_divide(counts.hits, counts.support)
        mean = torch.exp(masked_mean(safe_log(recall), present))
        missed = (present & (recall <= 0.0)).any(-1) | ~present.any(-1)
        return mean * (~missed).to(mean)
