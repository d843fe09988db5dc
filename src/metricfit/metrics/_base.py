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
from metricfit.scores import in_float64, working_precision


@dataclass(frozen=True)
class Counts:
    """Counts per class, which are enough for most formulas.

    Parameters
    ----------
    hits : Tensor of shape (..., k)
        Correct predictions: the diagonal of the matrix.
    support : Tensor of shape (..., k)
        Samples of the class: row sums.
    predicted : Tensor of shape (..., k)
        Samples predicted as the class: column sums.
    total : Tensor of shape (...)
        All samples.
    averaged : Tensor of shape (..., k), default=None
        The classes of a macro average. None means those that are true or predicted.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import Counts
    >>> Counts.of(torch.tensor([[3.0, 1.0], [2.0, 2.0]])).predicted
    tensor([5., 3.])
    """

    hits: Tensor
    support: Tensor
    predicted: Tensor
    total: Tensor
    averaged: Tensor | None = None

    @staticmethod
    def of(matrix: Tensor) -> Counts:
        """Count from a confusion matrix.

        Parameters
        ----------
        matrix : Tensor of shape (..., k, k)
            Rows are true classes.

        Returns
        -------
        Counts
            The counts.
        """
        support = matrix.sum(-1)
        return Counts(matrix.diagonal(dim1=-2, dim2=-1), support, matrix.sum(-2), support.sum(-1))

    def of_classes(self, kept: Tensor) -> Counts:
        """Set the counts of some classes to zero.

        Parameters
        ----------
        kept : Tensor of shape (..., k)
            1 for the classes to keep, 0 for the others.

        Returns
        -------
        Counts
            The counts.
        """
        hits, support, predicted = (count * kept for count in (self.hits, self.support, self.predicted))
        return replace(self, hits=hits, support=support, predicted=predicted)


class Metric(ABC):
    """Base class of the metrics: functions of the confusion matrix, of which larger values are better.

    A metric is a callable from a matrix (k, k) to a scalar tensor, or from (..., k, k) to (...). A subclass defines
    :meth:`value`.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import Metric
    >>> class Specificity(Metric):
    ...     def value(self, matrix):
    ...         return matrix[..., 0, 0] / matrix[..., 0, :].sum(-1)
    >>> Specificity()(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))        # 3 / 4
    tensor(0.7500)
    """

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible value."""
        return 0.0, 1.0

    @property
    def unit(self) -> float:
        """The unit of a leak of cross-entropy: 1, or the range of the costs, which can have any scale."""
        return 1.0

    @property
    def counts_hits(self) -> bool:
        """Whether the metric equals accuracy, a mean over samples, so there is one loss per sample."""
        return False

    def __call__(self, matrix: Tensor) -> Tensor:
        check_tensor(matrix, "matrix")
        if not matrix.is_floating_point():
            matrix = matrix.double()  # counts may be integers
        if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
            raise ValueError(f"`matrix` should have shape (..., k, k), got {tuple(matrix.shape)}.")
        self._check_shape(matrix)
        matrix = working_precision(matrix)
        return self.value(self.cast(matrix)).to(matrix.dtype)

    def _check_shape(self, matrix: Tensor) -> None:
        self.check_classes(matrix.shape[-1])

    @abstractmethod
    def value(self, matrix: Tensor) -> Tensor:
        """Value of the metric for a checked matrix.

        Parameters
        ----------
        matrix : Tensor of shape (..., k, k)
            The confusion matrix; rows are true classes.

        Returns
        -------
        Tensor of shape (...)
            The value.
        """

    def cast(self, matrix: Tensor) -> Tensor:
        """Convert the matrix to float64, because formulas subtract counts from each other.

        Parameters
        ----------
        matrix : Tensor of shape (..., k, k)
            The confusion matrix.

        Returns
        -------
        Tensor of shape (..., k, k)
            The matrix.
        """
        return in_float64(matrix)

    def check_classes(self, n_classes: int) -> None:
        """Check that the metric supports this number of classes.

        Parameters
        ----------
        n_classes : int
            The number of classes.

        Raises
        ------
        ValueError
            If it does not.
        """
        return  # most support any number

    def depends_on_order(self, n_classes: int) -> bool:
        """Whether the value changes with the order of the classes.

        Parameters
        ----------
        n_classes : int
            The number of classes.

        Returns
        -------
        bool
            Whether it does.
        """
        return False

    def reordered(self, index: Sequence[int], n_classes: int) -> Metric:
        """Metric for a matrix whose classes stand in another order.

        Parameters
        ----------
        index : sequence of int
            Class i of the matrix is class ``index[i]`` of this metric.
        n_classes : int
            The number of classes of this metric.

        Returns
        -------
        Metric
            The metric for that matrix.
        """
        return self


class CountsMetric(Metric):
    """Base class of metrics that need only the counts per class, not which classes are confused.

    The time of a fit then grows with the number of classes and not with its square. A subclass defines :meth:`of_counts`.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import CountsMetric
    >>> class HitRate(CountsMetric):
    ...     def of_counts(self, counts):
    ...         return counts.hits.sum(-1) / counts.total
    >>> HitRate()(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))            # 5 / 8
    tensor(0.6250)
    """

    @property
    def counts_suffice(self) -> bool:
        """Whether counts are enough for this metric, or its matrix is needed after all."""
        return type(self).value is CountsMetric.value

    def value(self, matrix: Tensor) -> Tensor:
        return self.of_counts(Counts.of(matrix))

    @abstractmethod
    def of_counts(self, counts: Counts) -> Tensor:
        """Value of the metric.

        Parameters
        ----------
        counts : Counts
            Counts of shape (..., k).

        Returns
        -------
        Tensor of shape (...)
            The value.
        """

    def per_class(self, counts: Counts) -> Tensor:
        """Value of every class, of which the metric is an average.

        Parameters
        ----------
        counts : Counts
            Counts of shape (..., k).

        Returns
        -------
        Tensor of shape (..., k)
            The values.
        """
        raise ValueError(f"`metric` {self} is not an average over classes, so it has no values per class.")


def needs_counts_only(metric: Metric) -> TypeGuard[CountsMetric]:
    """Whether ``of_counts`` computes the whole metric.

    Parameters
    ----------
    metric : Metric
        A metric. A subclass that overrides ``value`` has a formula of the matrix.

    Returns
    -------
    bool
        Whether it does.

    Examples
    --------
    >>> from metricfit.metrics import CohenKappa, MatthewsCorrelation, needs_counts_only
    >>> needs_counts_only(MatthewsCorrelation()), needs_counts_only(CohenKappa())
    (True, False)
    """
    return isinstance(metric, CountsMetric) and metric.counts_suffice


@dataclass(frozen=True)
class Custom(Metric):
    """Metric from any function of the confusion matrix.

    Parameters
    ----------
    function : callable
        Maps a matrix (k, k) to a scalar tensor, by differentiable operations of torch. Rows are true classes.
    limits : tuple of (float, float), default=None
        The range of its values, which links other than ``"linear"`` need.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import Custom
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
                f"classes. {self.name} takes others: {error}. Rewrite a function of (y_true, y_pred) to take the matrix."
            ) from error
        except ValueError:  # a function without a signature
            pass

    @property
    def name(self) -> str:
        """The name of the function, or "custom metric" for a lambda."""
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
        # try a matrix of different entries, its mirror image, and two classes exchanged
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
