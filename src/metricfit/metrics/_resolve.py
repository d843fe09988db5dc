"""A metric for given classes: its average, its positive class and the order of the classes, checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from metricfit._checks import check_option
from metricfit._printable import did_you_mean
from metricfit.metrics._averaged import Averaged
from metricfit.metrics._base import Custom, Metric
from metricfit.metrics._cost import Cost
from metricfit.metrics._registry import get, name_of


@dataclass(frozen=True)
class Resolved:
    """Metric for a matrix of given classes.

    Parameters
    ----------
    metric : Metric
        The metric.
    classes : tuple
        The classes of the matrix.
    order : tuple, default=()
        The order of the classes, if the metric depends on one.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.metrics import resolve_metric
    >>> resolve_metric("f1", None, "bad", np.array(["bad", "good"])).positive
    'bad'
    """

    metric: Metric
    classes: tuple[Any, ...]
    order: tuple[Any, ...] = ()

    @property
    def positive(self) -> Any:
        """The positive class, for a metric of one of two classes; else None."""
        of_one = isinstance(self.metric, Averaged) and self.metric.average == "binary"
        return self.classes[self.metric.positive] if of_one else None  # type: ignore[attr-defined]


def resolve_metric(
    metric: Any,
    average: str | None,
    pos_label: Any,
    classes: NDArray[Any],
    class_order: Sequence[Any] | None = None,
    counts: NDArray[Any] | None = None,
) -> Resolved:
    """Set the average, the positive class and the order of the classes of a metric.

    Parameters
    ----------
    metric : str, Metric, callable or Resolved
        The metric. One that is resolved already is returned unchanged.
    average : {"binary", "macro", "micro", "weighted"} or None
        The average over classes.
    pos_label : label or None
        The positive class. None takes the last class of ``class_order``, the larger of two numbers, or the rarer of two names.
    classes : ndarray of shape (k,)
        The sorted classes.
    class_order : sequence of labels, default=None
        The order of the classes, for metrics that depend on it. Numbers have an order, names need this argument.
    counts : ndarray of shape (k,), default=None
        The number of rows of each class.

    Returns
    -------
    Resolved
        The metric for a matrix of these classes.

    Raises
    ------
    ValueError
        If the metric does not fit the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.metrics import resolve_metric
    >>> found = resolve_metric("f1", None, None, np.array(["bad", "good"]), counts=np.array([27, 73]))
    >>> found.metric, found.positive
    (FBeta(beta=1.0, average='binary', positive=0, ignore_classes=()), 'bad')
    """
    if isinstance(metric, Resolved):
        if metric.classes != tuple(classes.tolist()):
            raise ValueError(f"`metric` is for the classes {list(metric.classes)}, got {classes.tolist()}.")
        return metric
    found = get(with_average(metric, average))
    if isinstance(found, Custom):
        _check_function(found, len(classes))
    order = _order(found, classes, class_order)
    if isinstance(found, Cost) and found.by_names:
        found = found.for_classes(classes.tolist(), order)
    elif order is not None:
        index = [order.index(label) for label in classes.tolist()]
        if index != list(range(len(order))):
            found = found.reordered(index, len(order))
    if isinstance(found, Averaged) and len(classes) == 2:
        positive = _positive(metric, pos_label, classes, counts if class_order is None else None)
        found = found if positive is None else dataclasses.replace(found, positive=positive)  # type: ignore[type-var]
    elif pos_label is not None:
        _index_of(pos_label, classes)
    if isinstance(metric, str) and isinstance(found, Averaged) and found.average == "binary" and len(classes) != 2:
        raise ValueError(f"`metric` {metric!r} is for two classes, and y has {len(classes)}. Try {f'{metric}_macro'!r}.")
    try:
        found.check_classes(len(classes))
    except ValueError as error:
        raise ValueError(f"`metric` {metric!r} does not fit the data: {error}") from error
    matters = order is not None and (class_order is not None or found.depends_on_order(len(classes)))
    return Resolved(found, tuple(classes.tolist()), tuple(order or ()) if matters else ())


def order_of(y: Any) -> list[Any] | None:
    """Order of labels whose type has one.

    Parameters
    ----------
    y : array-like
        Labels: ordered categories of pandas, an Enum of polars, or an ordered dictionary of Arrow have an order.

    Returns
    -------
    list or None
        The labels in their order.

    Examples
    --------
    >>> import pandas as pd
    >>> from metricfit.metrics import order_of
    >>> order_of(pd.Series(pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True)))
    ['low', 'mid', 'high']
    >>> order_of(["low", "high"]) is None
    True
    """
    dtype, arrow = getattr(y, "dtype", None), getattr(y, "type", None)
    if getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum":
        return list(dtype.categories)  # type: ignore[union-attr]
    if getattr(arrow, "ordered", False):
        whole = y.combine_chunks() if hasattr(y, "combine_chunks") else y
        return list((whole if hasattr(whole, "dictionary") else whole.chunk(0)).dictionary.to_pylist())
    return None


def with_average(metric: Any, average: str | None) -> Any:
    """Set the average of a metric.

    Parameters
    ----------
    metric : str, Metric or callable
        The metric or its name.
    average : {"binary", "macro", "micro", "weighted"} or None
        The average over classes. "binary" and None leave the name of a metric as it is.

    Returns
    -------
    str, Metric or callable
        The metric or its name.

    Examples
    --------
    >>> from metricfit.metrics import with_average
    >>> with_average("f1", "macro")
    'f1_macro'
    """
    if average is None:
        return metric
    check_option(average, "average", ("binary", "macro", "micro", "weighted"))
    if isinstance(metric, str):
        return metric if average == "binary" else f"{metric}_{average}"
    return dataclasses.replace(metric, average=average) if isinstance(metric, Averaged) else metric  # type: ignore[type-var]


def _check_function(metric: Custom, n_classes: int) -> None:
    probe = torch.ones(n_classes, n_classes, dtype=torch.float64, requires_grad=True)
    try:
        value = metric(probe)
    except (TypeError, IndexError, RuntimeError, AttributeError) as error:
        raise ValueError(
            f"`metric` {metric.name} should be a function of the confusion matrix, a tensor ({n_classes}, {n_classes}) here; "
            f"it raised {type(error).__name__}: {error}."
        ) from error
    if not value.requires_grad:
        raise ValueError("`metric` should be a differentiable function of the matrix: write it with torch's operations.")


def _order(metric: Metric, classes: NDArray[Any], given: Sequence[Any] | None) -> list[Any] | None:
    """The order of the classes: the given one, that of numbers, or None where the metric does not depend on it."""
    known = classes.tolist()
    if given is not None:
        order = [label.item() if isinstance(label, np.generic) else label for label in given]
        missing = [label for label in known if label not in order]
        if missing or len(set(order)) < len(order):
            what = f"it lacks {missing[0]!r}" if missing else "a class occurs twice"
            near = did_you_mean(missing[0], map(str, order)) if missing else ""
            raise ValueError(f"`class_order` should name every class of {known} once, got {order}: {what}.{near}")
        return order
    if classes.dtype.kind in "iufb" or all(isinstance(label, int | float) for label in known):
        return known
    if not metric.depends_on_order(len(classes)):
        return None
    by_names = " or costs by name, Cost({(true, predicted): cost})," if isinstance(metric, Cost) else ""
    raise ValueError(
        f"`metric` {name_of(metric)} depends on the order of the classes, and the names {known} have none. Pass class_order, "
        f"the list of them in their order,{by_names} or labels of an ordered categorical type."
    )


def _positive(metric: Any, pos_label: Any, classes: NDArray[Any], counts: NDArray[Any] | None) -> int | None:
    """The index of the positive class; None leaves it as the metric has it."""
    if pos_label is not None:
        return _index_of(pos_label, classes)
    return positive_of(classes, counts)[0] if isinstance(metric, str) and counts is not None else None


def positive_of(classes: NDArray[Any], counts: NDArray[Any]) -> tuple[int, str]:
    """Choose the positive class of two, where the user did not.

    Parameters
    ----------
    classes : ndarray of shape (2,)
        The classes.
    counts : ndarray of shape (2,)
        The number of rows of each.

    Returns
    -------
    index : int
        The index of the positive class: the larger number, or the rarer name.
    reason : str
        Why.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.metrics import positive_of
    >>> positive_of(np.array([0, 1]), np.array([27, 73])), positive_of(np.array(["bad", "good"]), np.array([27, 73]))
    ((1, 'the larger number'), (0, 'the rarer one'))
    """
    if classes.dtype.kind in "iufb" or not any(isinstance(label, str) for label in classes.tolist()):
        return 1, "the larger number"
    if counts[0] == counts[1]:
        return 1, "the second of equally frequent names"
    return int(counts[1] < counts[0]), "the rarer one"


def _index_of(pos_label: Any, classes: NDArray[Any]) -> int:
    matches = np.flatnonzero(classes == pos_label)
    if len(matches) != 1:
        near = did_you_mean(pos_label, map(str, classes))
        raise ValueError(f"`pos_label` should be one of {classes.tolist()}, got {pos_label!r}.{near}")
    return int(matches[0])
