"""The base class of metrics: formulas of the confusion matrix, independent of the smoothing; larger is better."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import torch
from torch import Tensor

from metricfit._checks import check_tensor
from metricfit.numerics import floor_of
from metricfit.scores import in_float64, working_precision


@dataclass(frozen=True)
class Counts:
    """The counts in most formulas, from a matrix (..., k, k): per class (..., k), and ``total`` (...)."""

    hits: Tensor  # correct predictions: the diagonal
    support: Tensor  # samples of the class: row sums
    predicted: Tensor  # samples predicted as the class: column sums
    total: Tensor
    averaged: Tensor | None = None  # classes of a macro average, (..., k); None: those that are true or predicted

    @staticmethod
    def of(matrix: Tensor) -> Counts:
        support = matrix.sum(-1)
        return Counts(matrix.diagonal(dim1=-2, dim2=-1), support, matrix.sum(-2), support.sum(-1))

    def of_classes(self, kept: Tensor) -> Counts:
        """Zeros for the classes that ``kept`` (..., k) leaves out."""
        hits, support, predicted = (count * kept for count in (self.hits, self.support, self.predicted))
        return replace(self, hits=hits, support=support, predicted=predicted)


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
        return in_float64(matrix)

    def check_classes(self, n_classes: int) -> None:
        """Raise a ValueError if the metric does not support this number of classes."""
        return  # most support any number

    def depends_on_order(self, n_classes: int) -> bool:
        """Whether the value changes if the classes stand in another order."""
        return False

    def reordered(self, index: Sequence[int], n_classes: int) -> Metric:
        """The metric for a matrix whose class i is class ``index[i]`` of the ``n_classes`` that this metric is about."""
        return self


class CountsMetric(Metric):
    """A metric in which only the counts per class matter, not which class is taken for which.

    So k hits and k predictions stand for the k x k matrix, which matters for many classes.
    """

    @property
    def counts_suffice(self) -> bool:
        return type(self).value is CountsMetric.value

    def value(self, matrix: Tensor) -> Tensor:
        self.check_classes(matrix.shape[-1])
        return self.of_counts(Counts.of(matrix))

    @abstractmethod
    def of_counts(self, counts: Counts) -> Tensor:
        """The value of the metric, (...), for counts (..., k)."""

    def per_class(self, counts: Counts) -> Tensor:
        """The value of every class, (..., k), of which the metric is an average."""
        raise ValueError(f"`metric` {self} is not an average over classes, so it has no values per class.")


def needs_counts_only(metric: Metric) -> TypeGuard[CountsMetric]:
    """Whether ``of_counts`` says all; a subclass that writes ``value`` anew has its own formula of the matrix."""
    return isinstance(metric, CountsMetric) and metric.counts_suffice


@dataclass(frozen=True)
class Custom(Metric):
    """Any function of the confusion matrix; links other than ``linear`` need ``limits``, the range of its values.

    >>> Custom(lambda c: c[0, 0] / c.sum(), limits=(0, 1))(torch.eye(2))
    tensor(0.5000)
    """

    function: Callable[[Tensor], Tensor]
    limits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        try:
            inspect.signature(self.function).bind("matrix")
        except TypeError as error:
            raise TypeError(
                f"`metric` should be a function of one argument, the confusion matrix: a tensor (k, k), rows are true "
                f"classes. {self.name} takes others: {error}. A function of (y_true, y_pred) has to be written for the matrix."
            ) from error
        except ValueError:  # a function without a signature
            pass

    @property
    def name(self) -> str:
        """The function's name; a lambda has none."""
        found = getattr(self.function, "__name__", type(self.function).__name__)
        return "custom metric" if found == "<lambda>" else found

    @property
    def bounds(self) -> tuple[float, float]:
        return self.limits or (0.0, 1.0)

    @property
    def unit(self) -> float:
        return 1.0 if self.limits is None else (self.limits[1] - self.limits[0]) or 1.0

    def cast(self, matrix: Tensor) -> Tensor:
        return matrix  # the function may use tensors of its own in the scores' dtype

    def depends_on_order(self, n_classes: int) -> bool:
        """Tried on a matrix of different entries and its mirror image, and with two classes exchanged."""
        matrix = torch.arange(1.0, n_classes**2 + 1.0, dtype=torch.float64).reshape(n_classes, n_classes).sqrt()
        exchanged = torch.tensor([1, 0, *range(2, n_classes)])
        others = matrix.flip((0, 1)), matrix[exchanged][:, exchanged]
        return not all(torch.isclose(self.value(matrix), self.value(other), rtol=1e-9) for other in others)

    def reordered(self, index: Sequence[int], n_classes: int) -> Metric:
        if sorted(index) != list(range(n_classes)):
            raise ValueError(f"`metric` is a function of {n_classes} classes, but {len(index)} of them occur in the data.")
        back = torch.tensor(index).argsort()
        return replace(self, function=_Reordered(self.function, back))

    def value(self, matrix: Tensor) -> Tensor:
        value = self.function(matrix)
        if not isinstance(value, Tensor) or value.shape != matrix.shape[:-2]:
            got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
            raise ValueError(f"`metric` should be a function that returns one number, a tensor of shape (), got {got}.")
        return value


@dataclass(frozen=True)
class _Reordered:
    """A function of the matrix with its classes in the function's own order."""

    function: Callable[[Tensor], Tensor]
    index: Tensor

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, matrix: Tensor) -> Tensor:
        index = self.index.to(matrix.device)
        return self.function(matrix[..., index, :][..., index])


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the last dimension of the entries where ``mask`` is true; 0 if there are none."""
    kept = mask.to(values)
    share = kept / kept.sum(-1, keepdim=True).clamp(min=1.0)
    return values.dot(share) if values.ndim == 1 else (values * share).sum(-1)


def occurs(count: Tensor) -> Tensor:
    """Whether a count is positive."""
    return count > floor_of(count)
