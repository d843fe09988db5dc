"""Constraints on decisions, such as ``recall[fraud] >= 0.95 and predicted_rate <= 0.05``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from metricfit import metrics
from metricfit._printable import did_you_mean
from metricfit._typing import Floats
from metricfit.decisions._hard import metric_values
from metricfit.metrics import Averaged, Cost, Metric

_TERM = re.compile(
    r"\s*(?P<quantity>[a-z_0-9.]+)\s*(\[(?P<label>[^\]]+)\])?\s*(?P<sign><=|>=|<|>|==?)\s*(?P<limit>[-+.\deE]+)\s*(?P<percent>%?)\s*"
)
_TOLERANCE = 1e-12  # by which rounding may miss a limit


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Share:
    """A quantity that is a share of rows, of which ``counts`` gives hits and trials: from matrices (..., k, k) and a class.

    ``value`` computes the quantity from the share, and ``share`` is its inverse. F1 comes from the share of true positives
    among all rows that are the class or are predicted as it, so its hits are binomial too.
    """

    counts: Callable[[Floats, int], tuple[Floats, Floats]]
    is_monotone: bool = False  # while more and more rows are predicted as the class
    value: Callable[[Floats], Floats] = _same
    share: Callable[[Any], Any] = _same


def _hits(matrix: Floats, index: int) -> Floats:
    return matrix[..., index, index]


def _support(matrix: Floats, index: int) -> Floats:
    return matrix[..., index, :].sum(-1)


def _predicted(matrix: Floats, index: int) -> Floats:
    return matrix[..., :, index].sum(-1)


def _total(matrix: Floats) -> Floats:
    return matrix.sum((-2, -1))


def _either(matrix: Floats, index: int) -> Floats:
    """Rows that are the class or are predicted as it."""
    return _support(matrix, index) + _predicted(matrix, index) - _hits(matrix, index)


def _negatives(matrix: Floats, index: int) -> Floats:
    return _total(matrix) - _support(matrix, index)


def _false_positives(matrix: Floats, index: int) -> Floats:
    return _predicted(matrix, index) - _hits(matrix, index)


SHARES = {
    "precision": Share(lambda matrix, index: (_hits(matrix, index), _predicted(matrix, index))),
    "recall": Share(lambda matrix, index: (_hits(matrix, index), _support(matrix, index)), is_monotone=True),
    "fpr": Share(lambda matrix, index: (_false_positives(matrix, index), _negatives(matrix, index)), is_monotone=True),
    "specificity": Share(
        lambda matrix, index: (_negatives(matrix, index) - _false_positives(matrix, index), _negatives(matrix, index)),
        is_monotone=True,
    ),
    "predicted_rate": Share(lambda matrix, index: (_predicted(matrix, index), _total(matrix)), is_monotone=True),
    "f1": Share(
        lambda matrix, index: (_hits(matrix, index), _either(matrix, index)),
        value=lambda share: 2.0 * share / (1.0 + share),
        share=lambda value: value / (2.0 - value),
    ),
    "jaccard": Share(lambda matrix, index: (_hits(matrix, index), _either(matrix, index))),
}
ACCURACY = Share(lambda matrix, index: (np.trace(matrix, axis1=-2, axis2=-1), _total(matrix)))
COST = "cost"


@dataclass(frozen=True)
class Constraint:
    """Limit on a quantity of the decisions, such as ``Constraint("precision", ">=", 0.9, label="fraud")``.

    Parameters
    ----------
    quantity : str
        "precision", "recall", "f1", "jaccard", "fpr", "specificity" or "predicted_rate" of a class; "cost", the mean cost of a
        row for the metric ``Cost``; or the name of any metric.
    sign : {">=", "<="}
        The direction of the limit.
    limit : float
        The limit.
    label : label, default=None
        The class; by default the positive one of two.

    Examples
    --------
    >>> from metricfit import Constraint
    >>> str(Constraint("recall", ">=", 0.95, label="fraud"))
    'recall[fraud] >= 0.95'
    """

    quantity: str
    sign: str
    limit: float
    label: Any = None

    def __post_init__(self) -> None:
        if self.sign not in ("<=", ">="):
            raise ValueError(
                f"`subject_to` should compare by <= or >=, got {self.sign!r} in '{self.quantity} {self.sign} ...'."
            )
        if self.quantity not in SHARES and self.quantity != COST:
            _check_metric(self.quantity)
        if self.share is not None and not 0.0 <= self.limit <= 1.0:
            raise ValueError(
                f"`subject_to` should have a limit between 0 and 1 for {self.quantity}, got {self.limit:g}. "
                "Write percentages as 90%."
            )
        if self.label is not None and self.quantity not in SHARES:
            raise ValueError(f"`subject_to`: {self.quantity} is about all classes, so it takes no class, got [{self.label}].")

    @property
    def name(self) -> str:
        """The quantity with its class, as in a sentence."""
        return self.quantity if self.label is None else f"{self.quantity}[{self.label}]"

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {self.limit:.12g}"

    @property
    def share(self) -> Share | None:
        """How the quantity is a share of rows; None if it is not one."""
        return ACCURACY if self.quantity == "accuracy" else SHARES.get(self.quantity)

    @property
    def wants_more(self) -> bool:
        """Whether the limit is a lower one."""
        return self.sign == ">="

    @property
    def is_absolute(self) -> bool:
        """Whether the limit allows no exception: a share of 1 at least, or of 0 at most."""
        return self.share is not None and self.limit == (1.0 if self.wants_more else 0.0)


@dataclass(frozen=True)
class ClassConstraint:
    """A constraint for matrices of given classes: the index of its class, and the metric of quantities that are not shares."""

    constraint: Constraint
    index: int
    metric: Metric

    def values(self, matrices: Floats) -> Floats:
        """The quantity of matrices (..., k, k), (...); a share of no rows is zero."""
        if (share := self.constraint.share) is not None:
            hits, trials = share.counts(matrices, self.index)
            return share.value(np.divide(hits, trials, out=np.zeros_like(trials), where=trials > 0))
        found = metric_values(self.metric, matrices)
        return -found if self.constraint.quantity == COST else found

    def violations(self, matrices: Floats) -> Floats:
        """By how much the limit is missed, (...)."""
        missed = self.constraint.limit - self.values(matrices)
        missed = missed if self.constraint.wants_more else -missed
        return np.where(missed > _TOLERANCE, missed, 0.0)


class ShareMetric(Metric):
    """A share of rows as a metric, which has a derivative."""

    def __init__(self, share: Share, index: int) -> None:
        self.share, self.index = share, index

    def value(self, matrix: Tensor) -> Tensor:
        share: Any = self.share  # its functions take tensors as they take arrays
        hits, trials = share.counts(matrix, self.index)
        value: Tensor = share.value(hits / trials.clamp(min=torch.finfo(trials.dtype).tiny))
        return value


class Constrained(Metric):
    """A metric that falls below its worst value where constraints are missed, the lower the more they are.

    The search for offsets then finds the best feasible decisions, or those that come closest.
    """

    def __init__(self, metric: Metric, constraints: Sequence[ClassConstraint]) -> None:
        self.metric, self.constraints = metric, constraints

    def value(self, matrix: Tensor) -> Tensor:
        missed = torch.as_tensor(sum(one.violations(matrix.numpy()) for one in self.constraints))
        values = torch.as_tensor(metric_values(self.metric, matrix.numpy()))
        return torch.where(missed == 0.0, values, self.metric.bounds[0] - 1.0 - missed)


def read_constraints(subject_to: str | Constraint | Iterable[str | Constraint] | None) -> tuple[Constraint, ...]:
    """Constraints from a sentence such as "precision >= 0.9 and recall[fraud] >= 50%", or as objects.

    >>> [str(one) for one in read_constraints("precision >= 0.9 and recall[fraud] >= 50%")]
    ['precision >= 0.9', 'recall[fraud] >= 0.5']
    """
    if subject_to is None:
        return ()
    if isinstance(subject_to, Constraint):
        return (subject_to,)
    if not isinstance(subject_to, str):
        if not isinstance(subject_to, Iterable):
            raise TypeError(f"`subject_to` should be a sentence, a `Constraint` or a list of these, got {subject_to!r}.")
        return tuple(term for one in subject_to for term in read_constraints(one))
    return tuple(map(_read_term, re.split(r"(?:\band\b|[,;])(?![^\[]*\])", subject_to)))


def _read_term(text: str) -> Constraint:
    found = _TERM.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        limit = float(found["limit"]) / (100.0 if found["percent"] else 1.0)
    except ValueError:
        raise ValueError(
            "`subject_to` should be terms such as 'precision >= 0.9' or 'recall[fraud] >= 0.95', joined by 'and'; "
            f"got {text.strip()!r}."
        ) from None
    label = found["label"]
    return Constraint(found["quantity"], found["sign"], limit, None if label is None else label.strip().strip("'\""))


def resolve_constraints(
    constraints: Sequence[Constraint], classes: Sequence[Any], positive: int | None, metric: Metric
) -> tuple[ClassConstraint, ...]:
    """The constraints with the index of their class; ``positive`` is that of the class that is meant if none is named."""
    found = tuple(_resolve(one, list(classes), positive, metric) for one in constraints)
    for one, other in permutations(found, 2):
        least, most = one.constraint, other.constraint
        are_ends = (least.quantity, one.index, least.sign, most.sign) == (most.quantity, other.index, ">=", "<=")
        if are_ends and least.limit > most.limit:
            raise ValueError(f"`subject_to` contradicts itself: {least} and {most}.")
    return found


def _resolve(constraint: Constraint, classes: list[Any], positive: int | None, metric: Metric) -> ClassConstraint:
    if constraint.quantity == COST:
        if not isinstance(metric, Cost):
            raise ValueError("`subject_to` limits the cost, so `metric` should be a `Cost`, which says what each error costs.")
        return ClassConstraint(constraint, 1, metric)
    if constraint.quantity not in SHARES:
        found = metrics.get(constraint.quantity)
        if positive is not None and isinstance(found, Averaged) and found.average == "binary":
            found = replace(found, positive=positive)  # type: ignore[type-var]
        found.check_classes(len(classes))
        return ClassConstraint(constraint, 1, found)
    if constraint.label is None and positive is None:
        raise ValueError(
            f"`subject_to` should name a class for {constraint.quantity}, because there are {len(classes)}: for instance "
            f"'{constraint.quantity}[{classes[-1]}] {constraint.sign} {constraint.limit:g}'."
        )
    if constraint.label is None:
        assert positive is not None
        return ClassConstraint(replace(constraint, label=classes[positive]), positive, metric)
    for index, label in enumerate(classes):
        if label == constraint.label or str(label) == str(constraint.label):  # a sentence has texts only
            return ClassConstraint(replace(constraint, label=label), index, metric)
    near = did_you_mean(str(constraint.label), map(str, classes))
    raise ValueError(f"`subject_to` should name classes of the labels, {classes}, got {constraint.label!r}.{near}")


def _check_metric(name: str) -> None:
    try:
        metrics.get(name)
    except ValueError as error:
        names = [*SHARES, COST, *metrics.names()]
        raise ValueError(
            f"`subject_to` should limit {', '.join(SHARES)}, {COST} or a metric by its name, got {name!r}."
            f"{did_you_mean(name, names)}"
        ) from error
