"""Agreement beyond chance: Matthews correlation, Cohen's kappa."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from metricfit._checks import check_option
from metricfit.metrics._base import Counts, CountsMetric, Metric
from metricfit.numerics import safe_divide, safe_sqrt

_ROUNDING = 1e-12


@dataclass(frozen=True)
class MatthewsCorrelation(CountsMetric):
    r"""Matthews correlation coefficient; for more than two classes Gorodkin's :math:`R_K`.

    .. math:: \frac{c - \sum_k p_k t_k}{\sqrt{(1 - \sum_k p_k^2)(1 - \sum_k t_k^2)}}

    with the shares :math:`c` of correct predictions, :math:`t_k` of true classes and :math:`p_k` of predicted classes.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import MatthewsCorrelation
    >>> MatthewsCorrelation()(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))  # (3*2 - 1*2) / sqrt(4 * 4 * 5 * 3)
    tensor(0.2582)
    """

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def of_counts(self, counts: Counts) -> Tensor:
        hits, true, predicted = _shares(counts)
        covariance = hits - (predicted * true).sum(-1)
        variances = (predicted * (1.0 - predicted)).sum(-1) * (true * (1.0 - true)).sum(-1)
        # where one class has almost all of the weight, the covariance is rounding error
        return safe_divide(covariance, safe_sqrt(variances)).clamp(-1.0 - _ROUNDING, 1.0 + _ROUNDING)


@dataclass(frozen=True)
class CohenKappa(Metric):
    r"""Cohen's kappa: agreement relative to chance.

    .. math:: 1 - \sum_{cj} w_{cj} C_{cj} / \sum_{cj} w_{cj} t_c p_j

    Parameters
    ----------
    weights : {"linear", "quadratic"}, default=None
        None gives every error the weight 1. For ordered classes, "linear" gives it its distance :math:`|c - j|` and
        "quadratic" the squared distance.
    ranks : sequence of int, default=None
        The position of each class in their order. None means that the classes are in order.

    Notes
    -----
    Distances count all k classes. scikit-learn leaves out classes that are neither true nor predicted, unless you call it with
    ``labels=range(k)``.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import CohenKappa
    >>> CohenKappa()(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))          # 1 - (3/8) / (1/2)
    tensor(0.2500)
    """

    weights: str | None = None
    ranks: Sequence[int] | None = None  # of the classes in their order; None: they are in order

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def __post_init__(self) -> None:
        if self.weights is not None:
            check_option(self.weights, "weights", ("linear", "quadratic"))
        if self.ranks is not None:
            object.__setattr__(self, "ranks", tuple(self.ranks))

    def depends_on_order(self, n_classes: int) -> bool:
        return self.weights is not None and n_classes > 2

    def reordered(self, index: Sequence[int], n_classes: int) -> Metric:
        return replace(self, ranks=tuple(index)) if self.depends_on_order(n_classes) else self

    def check_classes(self, n_classes: int) -> None:
        if self.ranks is not None and len(self.ranks) != n_classes:
            raise ValueError(f"`ranks` should have one entry per class, {n_classes}, got {len(self.ranks)}.")

    def value(self, matrix: Tensor) -> Tensor:
        _, true, predicted = _shares(Counts.of(matrix))
        share = safe_divide(matrix, matrix.sum((-2, -1), keepdim=True))
        index = matrix.new_tensor(range(matrix.shape[-1]) if self.ranks is None else self.ranks)
        distance = (index[:, None] - index).abs()
        weight = {None: distance.sign(), "linear": distance, "quadratic": distance.square()}[self.weights]
        chance = (weight * true[..., :, None] * predicted[..., None, :]).sum((-2, -1))
        # if chance gives no disagreement, the ratio is 1 and kappa is 0
        return 1.0 - safe_divide((weight * share).sum((-2, -1)), chance, otherwise=1.0)


def _shares(counts: Counts) -> tuple[Tensor, Tensor, Tensor]:
    """Shares of the total: correct predictions (...), true classes and predicted classes (..., k)."""
    total = counts.total[..., None]
    hits = safe_divide(counts.hits, total).sum(-1)
    return hits, safe_divide(counts.support, total), safe_divide(counts.predicted, total)
