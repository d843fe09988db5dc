"""A metric: a formula over the confusion matrix that knows nothing of smoothing, and goes up when things get better."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from metricfit._checks import check_tensor
from metricfit.numerics._safe import floor_of, safe_divide
from metricfit.scores import working_precision


@dataclass(frozen=True)
class Counts:
    """What most formulas need of a matrix (..., k, k): per class (..., k), and in all (...)."""

    hits: Tensor  # correctly assigned: the diagonal
    support: Tensor  # of this true class: row sums
    predicted: Tensor  # assigned to this class: column sums
    total: Tensor

    @staticmethod
    def of(matrix: Tensor) -> Counts:
        support = matrix.sum(-1)
        return Counts(matrix.diagonal(dim1=-2, dim2=-1), support, matrix.sum(-2), support.sum(-1))


class Metric(ABC):
    """A callable: confusion matrix (k, k) to a scalar tensor, or (..., k, k) to (...).

    ``bounds`` are the least and greatest value it can take. ``counts_hits`` says that it is accuracy by another name: the
    mean over samples of whether the label was hit, so that a loss can be taken sample by sample.
    """

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def unit(self) -> float:
        """What counts as one unit beside a leak of cross-entropy: the span of costs, which come in any currency; else 1."""
        return 1.0

    @property
    def counts_hits(self) -> bool:
        return False

    def __call__(self, matrix: Tensor) -> Tensor:
        check_tensor(matrix, "matrix")
        if not matrix.is_floating_point():
            matrix = matrix.double()  # integer counts are fine
        if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
            raise ValueError(f"`matrix` should have shape (..., k, k), got {tuple(matrix.shape)}.")
        matrix = working_precision(matrix)
        return self.value(self.prepared(matrix)).to(matrix.dtype)

    @abstractmethod
    def value(self, matrix: Tensor) -> Tensor:
        """The formula."""

    def prepared(self, matrix: Tensor) -> Tensor:
        """In float64: formulas subtract counts from each other, and k x k entries are cheap to do that with."""
        try:
            return matrix.double()
        except TypeError:  # a device without it
            return matrix

    def check_classes(self, n_classes: int) -> None:
        """Raise a ValueError if the metric is not made for this number of classes."""
        return  # most are made for any


@dataclass(frozen=True)
class Custom(Metric):
    """Any function of the confusion matrix; links other than ``linear`` need to know the limits of its values.

    >>> Custom(lambda c: c[0, 0] / c.sum(), limits=(0, 1))(torch.eye(2))
    tensor(0.5000)
    """

    function: Callable[[Tensor], Tensor]
    limits: tuple[float, float] | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        return self.limits or (0.0, 1.0)

    @property
    def unit(self) -> float:
        return 1.0 if self.limits is None else (self.limits[1] - self.limits[0]) or 1.0

    def prepared(self, matrix: Tensor) -> Tensor:
        return matrix  # the function may have tensors of its own, of the scores' dtype

    def value(self, matrix: Tensor) -> Tensor:
        value = self.function(matrix)
        if not isinstance(value, Tensor) or value.shape != matrix.shape[:-2]:
            got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
            raise ValueError(f"`metric` should be a function that returns one number, a tensor of shape (), got {got}.")
        return value


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the last dimension of the entries where ``mask`` holds, 0 where it holds nowhere."""
    kept = mask.to(values)
    return safe_divide((values * kept).sum(-1), kept.sum(-1))


def occurs(count: Tensor) -> Tensor:
    """Whether there is anything to count."""
    return count > floor_of(count)
