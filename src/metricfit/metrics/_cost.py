"""Costs of wrong answers: as a matrix, or by the names of the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from metricfit._checks import check_number
from metricfit.metrics._base import Metric
from metricfit.numerics import safe_divide

Names = tuple[Any, Any]  # (true, predicted)


@dataclass(frozen=True)
class Cost(Metric):
    r"""Minus the mean cost of a prediction.

    .. math:: -\sum_{cj} C_{cj} K_{cj} / \sum C

    for a cost :math:`K_{cj}` of predicting j where c is true. It is negative because larger is better for every metric. The
    linear loss is the mean cost minus the smallest entry of the matrix.

    Parameters
    ----------
    matrix : array-like of shape (k, k) or dict
        Costs by class index, or by name with the keys (true, predicted). A matrix belongs to an order of the classes; names do
        not need one. A correct prediction costs nothing unless the dictionary says otherwise. An entry of the dictionary may
        also be the name of a column, or an array with one cost per row, for :class:`metricfit.DecisionRule`. You cannot train
        for such costs.
    otherwise : float, default=None
        The cost of every wrong prediction that the dictionary does not name.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import Cost
    >>> Cost([[0.0, 1.0], [5.0, 0.0]])(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))  # -(1 * 1 + 2 * 5) / 8
    tensor(-1.3750)
    >>> Cost({("good", "bad"): 1, ("bad", "good"): 5}).for_classes(["bad", "good"]).matrix
    ((0.0, 5.0), (1.0, 0.0))
    >>> Cost({("fraud", "ok"): "amount", ("ok", "fraud"): 5}).columns
    ('amount',)
    """

    matrix: Sequence[Sequence[float]] | Tensor | Mapping[Names, Any]
    otherwise: float | None = None
    gains: Tensor = field(init=False, repr=False, compare=False)  # minus the costs, in float64; empty for names
    limits: tuple[float, float] = field(init=False, repr=False, compare=False)
    arrays: Mapping[str, NDArray[np.float64]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.matrix, Mapping):
            costs = self._named_costs(self.matrix)
            object.__setattr__(self, "gains", torch.empty(0, 0, dtype=torch.float64))
        else:
            if self.otherwise is not None:
                raise ValueError("`otherwise` is for costs by names; a matrix has all costs.")
            costs = _checked_matrix(self.matrix)
            object.__setattr__(self, "matrix", tuple(map(tuple, costs.tolist())))
            object.__setattr__(self, "gains", -costs)
        object.__setattr__(self, "limits", (-costs.max().item(), -costs.min().item()))

    def __hash__(self) -> int:
        return hash((str(self.matrix), self.otherwise))

    @property
    def by_names(self) -> bool:
        """Whether the costs are a dictionary."""
        return isinstance(self.matrix, Mapping)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of costs that differ from row to row; an array is called by its pair, such as "fraud,ok"."""
        found = self.matrix.values() if isinstance(self.matrix, Mapping) else ()
        return tuple(dict.fromkeys(cost for cost in found if isinstance(cost, str)))

    @property
    def bounds(self) -> tuple[float, float]:
        return self.limits

    @property
    def unit(self) -> float:
        return (self.limits[1] - self.limits[0]) or 1.0

    def unit_gains(self, like: Tensor) -> tuple[Tensor, float]:
        """Gains rescaled to 0 ... 1; all are 1 if all costs are equal.

        Parameters
        ----------
        like : Tensor
            A tensor with the device and dtype of the result.

        Returns
        -------
        gains : Tensor of shape (k, k)
            The gains.
        divisor : float
            What they were divided by.
        """
        low, high = self.bounds
        gains = (self.gains - low) / (high - low) if high > low else torch.ones_like(self.gains)
        return gains.to(like), (high - low) or 1.0

    def value(self, matrix: Tensor) -> Tensor:
        return safe_divide((matrix * self.gains.to(matrix)).sum((-2, -1)), matrix.sum((-2, -1)))

    def check_classes(self, n_classes: int) -> None:
        self._check_columns()
        if self.by_names:
            raise ValueError(
                "`Cost` has costs by names, and the order of the classes is not known here. Call `.for_classes(classes)` with "
                "the classes in the order of the scores."
            )
        if n_classes != len(self.gains):
            raise ValueError(f"`Cost` has a matrix for {len(self.gains)} classes, but the scores have {n_classes}.")

    def depends_on_order(self, n_classes: int) -> bool:
        return not self.by_names and not bool((self.gains == self.gains.flip((0, 1))).all() and n_classes == 2)

    def reordered(self, index: Sequence[int], n_classes: int) -> Metric:
        if n_classes != len(self.gains):
            raise ValueError(f"`Cost` has a matrix for {len(self.gains)} classes, but there are {n_classes} in their order.")
        return replace(self, matrix=-self.gains[list(index)][:, list(index)])

    def for_classes(self, classes: Sequence[Any], known: Sequence[Any] | None = None) -> Cost:
        """Turn costs by name into a matrix.

        Parameters
        ----------
        classes : sequence of labels
            The classes in the order of the matrix.
        known : sequence of labels, default=None
            Classes that the dictionary may name, even if they do not occur.

        Returns
        -------
        Cost
            Costs as a matrix.
        """
        self._check_columns()
        return Cost(self.entries(classes, known)) if self.by_names else self

    def entries(self, classes: Sequence[Any], known: Sequence[Any] | None = None) -> list[list[Any]]:
        """Costs as (k, k) lists of numbers and names of columns.

        Parameters
        ----------
        classes : sequence of labels
            The classes in the order of the matrix.
        known : sequence of labels, default=None
            Classes that the dictionary may name, even if they do not occur.

        Returns
        -------
        list of list
            The costs; rows are true classes.
        """
        if not isinstance(self.matrix, Mapping):
            self.check_classes(len(classes))
            return (-self.gains).tolist()
        unknown = sorted({str(name) for pair in self.matrix for name in pair if name not in (known or classes)})
        if unknown:
            raise ValueError(f"`Cost` should name classes of the data, {list(classes)}; got {unknown[0]!r}.")
        return [[self._cost(true, predicted) for predicted in classes] for true in classes]

    def _check_columns(self) -> None:
        if self.columns:
            raise ValueError(
                f"`Cost` has a cost for each row, {self.columns[0]!r}, and a confusion matrix does not know the rows. "
                "`DecisionRule(cost).fit(scores, y, costs=frame)` decides by such costs; training needs numbers."
            )

    def _cost(self, true: Any, predicted: Any) -> Any:
        assert isinstance(self.matrix, Mapping)
        default = 0.0 if true == predicted else self.otherwise
        found = self.matrix.get((true, predicted), default)
        if found is None:
            raise ValueError(
                f"`Cost` has no cost for predicting {predicted!r} where the truth is {true!r}: add ({true!r}, {predicted!r}), "
                "or pass `otherwise`, the cost of all pairs that are not named."
            )
        return found if isinstance(found, str) else float(found)

    def _named_costs(self, named: Mapping[Names, Any]) -> Tensor:
        """All costs that can occur; a ValueError for keys that are no pairs."""
        for key in named:
            if not isinstance(key, tuple) or len(key) != 2:
                raise ValueError(f"`matrix` should have keys (true, predicted), such as ('good', 'bad'), got {key!r}.")
        if not named:
            raise ValueError("`matrix` should name at least one cost, got an empty dictionary.")
        found, arrays = dict[Names, Any](), dict[str, NDArray[np.float64]]()
        for key, cost in named.items():
            if np.ndim(cost):
                name = f"{key[0]},{key[1]}"
                arrays[name], cost = _checked_array(cost, key), name
            found[key] = cost if isinstance(cost, str) else check_number(cost, f"cost of {key}", float("-inf"))
        object.__setattr__(self, "matrix", found)
        object.__setattr__(self, "arrays", arrays)
        others = [] if self.otherwise is None else [check_number(self.otherwise, "otherwise", float("-inf"))]
        numbers = [cost for cost in found.values() if not isinstance(cost, str)]
        return torch.tensor([0.0, *numbers, *others], dtype=torch.float64)


def _checked_array(costs: Any, key: Names) -> NDArray[np.float64]:
    try:
        found = np.asarray(costs, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`cost of {key}` should be a number, the name of a column or an array (n,) of numbers.") from error
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ValueError(f"`cost of {key}` should be an array (n,) of finite numbers, got shape {found.shape}.")
    return found


def _checked_matrix(matrix: Any) -> Tensor:
    try:
        costs = torch.as_tensor(matrix, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"`matrix` should be a finite (k, k) matrix of costs, got {matrix!r}.") from error
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2:
        raise ValueError(f"`matrix` should be a finite (k, k) matrix of costs, got shape {tuple(costs.shape)}.")
    if not costs.isfinite().all():
        raise ValueError(f"`matrix` should be a finite (k, k) matrix of costs, got {costs.tolist()}.")
    return costs
