"""The base class of metrics: formulas of the confusion matrix, independent of the smoothing; larger is better."""

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
    """The counts in most formulas, from a matrix (..., k, k): per class (..., k), and ``total`` (...)."""

    hits: Tensor  # correct predictions: the diagonal
    support: Tensor  # samples of the class: row sums
    predicted: Tensor  # samples predicted as the class: column sums
    total: Tensor

    @staticmethod
    def of(matrix: Tensor) -> Counts:
        support = matrix.sum(-1)
        return Counts(matrix.diagonal(dim1=-2, dim2=-1), support, matrix.sum(-2), support.sum(-1))


class Metric(ABC):
    """A callable: confusion matrix (k, k) to a scalar tensor, or (..., k, k) to (...).

    ``bounds`` are its smallest and largest possible values. ``counts_hits`` says that the metric equals accuracy, a mean
    over samples, for which there is one loss per sample.
    """

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def unit(self) -> float:
        """The unit of the metric beside a leak of cross-entropy: the range of the costs, which have any scale, or else 1."""
        return 1.0

    @property
    def counts_hits(self) -> bool:
        return False

    def __call__(self, matrix: Tensor) -> Tensor:
        check_tensor(matrix, "matrix")
        if not matrix.is_floating_point():
            matrix = matrix.double()  # counts may be integers
        if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
            raise ValueError(f"`matrix` should have shape (..., k, k), got {tuple(matrix.shape)}.")
        matrix = working_precision(matrix)
        return self.value(self.cast(matrix)).to(matrix.dtype)

    @abstractmethod
    def value(self, matrix: Tensor) -> Tensor:
        """The value of the metric for a checked matrix."""

    def cast(self, matrix: Tensor) -> Tensor:
        """The matrix in float64: formulas subtract counts from each other, and k x k entries cost little."""
        try:
            return matrix.double()
        except TypeError:  # a device without float64
            return matrix

    def check_classes(self, n_classes: int) -> None:
        """Raise a ValueError if the metric does not support this number of classes."""
        return  # most support any number


@dataclass(frozen=True)
class Custom(Metric):
    """Any function of the confusion matrix; links other than ``linear`` need ``limits``, the range of its values.

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

    def cast(self, matrix: Tensor) -> Tensor:
        return matrix  # the function may use tensors of its own in the scores' dtype

    def value(self, matrix: Tensor) -> Tensor:
        value = self.function(matrix)
        if not isinstance(value, Tensor) or value.shape != matrix.shape[:-2]:
            got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
            raise ValueError(f"`metric` should be a function that returns one number, a tensor of shape (), got {got}.")
        return value


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the last dimension of the entries where ``mask`` is true; 0 if there are none."""
    kept = mask.to(values)
    return safe_divide((values * kept).sum(-1), kept.sum(-1))


def occurs(count: Tensor) -> Tensor:
    """Whether a count is positive."""
    return count > floor_of(count)
