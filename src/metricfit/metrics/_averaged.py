"""Scores per class, averaged over classes: precision, recall, F-beta, Jaccard, Fowlkes-Mallows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from metricfit._checks import check_number, check_option
from metricfit.metrics._base import Counts, CountsMetric, Metric, needs_counts_only
from metricfit.numerics import masked_mean, occurs, safe_divide, safe_sqrt

AVERAGES = ("binary", "macro", "micro", "weighted")


class Averaged(CountsMetric):
    """Base class of metrics that average a score per class, as in scikit-learn with ``zero_division=0``.

    A subclass is a dataclass with the fields ``average``, ``positive`` and ``ignore_classes``, and defines :meth:`score`.

    - "macro" is the mean over the classes that occur as a true or a predicted class.
    - "weighted" is the mean weighted by support.
    - "micro" is the score of the summed counts.
    - "binary" is the score of the class ``positive`` of two.

    Averages leave out ``ignore_classes``, such as the background. Their rows still count as wrong predictions of others.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import torch
    >>> from metricfit.metrics import Averaged
    >>> @dataclass(frozen=True)
    ... class MissRate(Averaged):
    ...     average: str = "macro"
    ...     positive: int = 1
    ...     ignore_classes: tuple[int, ...] = ()
    ...
    ...     def score(self, hits, support, predicted):
    ...         return (hits - support) / support.clamp(min=1)      # larger is better
    >>> MissRate()(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))           # -(1/4 + 2/4) / 2
    tensor(-0.3750)
    """

    average: str
    positive: int
    ignore_classes: Sequence[int]
    hit_averages: ClassVar[tuple[str, ...]] = ("micro",)  # averages for which the score equals accuracy

    @property
    def counts_hits(self) -> bool:
        return self.average in self.hit_averages and not self.ignore_classes

    def __post_init__(self) -> None:
        object.__setattr__(self, "ignore_classes", tuple(self.ignore_classes))
        if self.ignore_classes and self.average == "binary":
            raise ValueError('`ignore_classes` is for averages over classes, got average="binary". Try average="macro".')
        check_option(self.average, "average", AVERAGES)
        if self.positive not in (0, 1):
            raise ValueError(f"`positive` should be class 0 or 1, got {self.positive!r}.")

    @abstractmethod
    def score(self, hits: Tensor, support: Tensor, predicted: Tensor) -> Tensor:
        """Score of one class, elementwise.

        Parameters
        ----------
        hits : Tensor of shape (..., k)
            Samples of the class that are predicted as it.
        support : Tensor of shape (..., k)
            Samples of the class.
        predicted : Tensor of shape (..., k)
            Samples predicted as the class.

        Returns
        -------
        Tensor of shape (..., k)
            The scores.
        """

    def of_counts(self, counts: Counts) -> Tensor:
        if self.average == "binary":
            return self.per_class(counts)[..., self.positive]
        averaged = occurs(counts.support + counts.predicted) if counts.averaged is None else counts.averaged
        if self.ignore_classes:
            averaged = averaged & counted_classes(counts.hits, self.ignore_classes)
            counts = counts.of_classes(averaged)
        if self.average == "micro":
            return self.score(counts.hits.sum(-1), counts.support.sum(-1), counts.predicted.sum(-1))
        scores = self.per_class(counts)
        if self.average == "weighted":
            return safe_divide((scores * counts.support).sum(-1), counts.support.sum(-1))
        return masked_mean(scores, averaged)

    def per_class(self, counts: Counts) -> Tensor:
        return self.score(counts.hits, counts.support, counts.predicted)

    def reordered(self, index: Sequence[int], n_classes: int) -> Metric:
        positive = list(index).index(self.positive) if self.positive in index and n_classes == 2 else self.positive
        return replace(self, positive=positive)  # type: ignore[type-var]

    def check_classes(self, n_classes: int) -> None:
        if self.average == "binary" and n_classes != 2:
            raise ValueError(
                f"A metric of the positive class, such as 'f1', is for two classes, but the scores have {n_classes}. "
                f"Try an average over classes, such as 'f1_macro' or {type(self).__name__}(average=\"macro\")."
            )
        if unknown := [index for index in self.ignore_classes if not 0 <= index < n_classes]:
            raise ValueError(f"`ignore_classes` should be indices 0 ... {n_classes - 1} of classes, got {unknown[0]!r}.")


@dataclass(frozen=True)
class Precision(Averaged):
    """Share of the samples predicted as a class that belong to it.

    Parameters
    ----------
    average : {"macro", "micro", "weighted", "binary"}, default="macro"
        How the scores of the classes are averaged, see :class:`Averaged`.
    positive : int, default=1
        The class that "binary" is about.
    ignore_classes : sequence of int, default=()
        Classes that averages leave out.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import Precision
    >>> Precision("binary")(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))  # 2 / 3
    tensor(0.6667)
    """

    average: str = "macro"
    positive: int = 1
    ignore_classes: Sequence[int] = ()

    def score(self, hits: Tensor, support: Tensor, predicted: Tensor) -> Tensor:
        return safe_divide(hits, predicted)


@dataclass(frozen=True)
class Recall(Averaged):
    """Share of the samples of a class that are predicted as it.

    Parameters
    ----------
    average : {"macro", "micro", "weighted", "binary"}, default="macro"
        How the scores of the classes are averaged, see :class:`Averaged`.
    positive : int, default=1
        The class that "binary" is about.
    ignore_classes : sequence of int, default=()
        Classes that averages leave out.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import Recall
    >>> Recall("binary")(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))     # 2 / 4
    tensor(0.5000)
    """

    average: str = "macro"
    positive: int = 1
    ignore_classes: Sequence[int] = ()

    hit_averages: ClassVar = ("micro", "weighted")

    def score(self, hits: Tensor, support: Tensor, predicted: Tensor) -> Tensor:
        return safe_divide(hits, support)


@dataclass(frozen=True)
class FBeta(Averaged):
    r"""Weighted harmonic mean of precision and recall.

    .. math:: F_\beta = \frac{(1 + \beta^2)\,tp}{(1 + \beta^2)\,tp + \beta^2 fn + fp}

    Parameters
    ----------
    beta : float or sequence of float, default=1.0
        Above 1 it favours recall. A sequence has one number per class: ``FBeta([1, 1, 0.25])`` favours precision in class 2.
    average : {"macro", "micro", "weighted", "binary"}, default="macro"
        How the scores of the classes are averaged, see :class:`Averaged`.
    positive : int, default=1
        The class that "binary" is about.
    ignore_classes : sequence of int, default=()
        Classes that averages leave out.

    References
    ----------
    Li et al., "EAST", arXiv 2405.20954: Eq. (2), and appendix F.3 for one beta per class.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import FBeta
    >>> FBeta(1.0, "binary")(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))  # 2 * 2 / (4 + 3)
    tensor(0.5714)
    """

    beta: float | Sequence[float] = 1.0
    average: str = "macro"
    positive: int = 1
    ignore_classes: Sequence[int] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.beta, Iterable) or getattr(self.beta, "ndim", 1) == 0:
            object.__setattr__(self, "beta", check_number(self.beta, "beta", 0.0))
            return
        object.__setattr__(self, "beta", tuple(check_number(beta, "beta", 0.0) for beta in self.beta))
        if self.average in ("micro", "binary"):
            raise ValueError(f"`beta` should be one number with average={self.average!r}, got {len(self.beta)}.")

    def score(self, hits: Tensor, support: Tensor, predicted: Tensor) -> Tensor:
        if isinstance(self.beta, tuple):
            odds: Tensor | float = hits.new_tensor(self.beta).square().clamp(max=1e30)
        else:
            odds = min(self.beta * self.beta, 1e30)  # type: ignore[operator]
        return safe_divide(hits, torch.lerp(predicted, support, odds / (1.0 + odds)))

    def depends_on_order(self, n_classes: int) -> bool:
        return isinstance(self.beta, tuple) and len(set(self.beta)) > 1

    def reordered(self, index: Sequence[int], n_classes: int) -> Metric:
        if not isinstance(self.beta, tuple):
            return super().reordered(index, n_classes)
        self.check_classes(n_classes)
        return replace(self, beta=tuple(self.beta[one] for one in index))

    def check_classes(self, n_classes: int) -> None:
        super().check_classes(n_classes)
        if isinstance(self.beta, tuple) and len(self.beta) != n_classes:
            raise ValueError(f"`beta` should have one entry per class, {n_classes}, got {len(self.beta)}.")


@dataclass(frozen=True)
class Jaccard(Averaged):
    """Intersection over union of the samples of a class and those predicted as it.

    Parameters
    ----------
    average : {"macro", "micro", "weighted", "binary"}, default="macro"
        How the scores of the classes are averaged, see :class:`Averaged`.
    positive : int, default=1
        The class that "binary" is about.
    ignore_classes : sequence of int, default=()
        Classes that averages leave out.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import Jaccard
    >>> Jaccard("binary")(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))    # 2 / (4 + 3 - 2)
    tensor(0.4000)
    """

    average: str = "macro"
    positive: int = 1
    ignore_classes: Sequence[int] = ()

    hit_averages: ClassVar = ()

    def score(self, hits: Tensor, support: Tensor, predicted: Tensor) -> Tensor:
        return safe_divide(hits, support + predicted - hits)


@dataclass(frozen=True)
class FowlkesMallows(Averaged):
    """Geometric mean of precision and recall.

    scikit-learn's function of this name compares clusterings pair by pair. This one is a function of the confusion matrix.

    Parameters
    ----------
    average : {"macro", "micro", "weighted", "binary"}, default="macro"
        How the scores of the classes are averaged, see :class:`Averaged`.
    positive : int, default=1
        The class that "binary" is about.
    ignore_classes : sequence of int, default=()
        Classes that averages leave out.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import FowlkesMallows
    >>> FowlkesMallows("binary")(torch.tensor([[3.0, 1.0], [2.0, 2.0]]))  # sqrt(2/3 * 2/4)
    tensor(0.5774)
    """

    average: str = "macro"
    positive: int = 1
    ignore_classes: Sequence[int] = ()

    def score(self, hits: Tensor, support: Tensor, predicted: Tensor) -> Tensor:
        return safe_sqrt(safe_divide(hits, support) * safe_divide(hits, predicted))


@dataclass(frozen=True)
class Multilabel(CountsMetric):
    """Metric of several labels per row, from one (2, 2) matrix per label: (..., K, 2, 2) to (...).

    Precision, recall, F-beta and Jaccard are averaged over the labels as in scikit-learn. Of other metrics it is the mean over
    the labels.

    Parameters
    ----------
    metric : Metric
        The metric of one label, or an average over labels.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import Counts, FBeta, Multilabel
    >>> matrices = torch.tensor([[[3.0, 1.0], [2.0, 2.0]], [[4.0, 0.0], [0.0, 4.0]]])
    >>> Multilabel(FBeta())(matrices), Multilabel(FBeta()).per_class(Counts.of(matrices))       # 4/7 and 1
    (tensor(0.7857), tensor([0.5714, 1.0000]))
    """

    metric: Metric

    @property
    def counts_suffice(self) -> bool:
        return needs_counts_only(self.metric)

    def __post_init__(self) -> None:
        if isinstance(self.metric, Averaged) and self.metric.average == "binary":
            raise ValueError(
                f"`metric` {self.metric} is for one label, but there are several. Choose an average over the labels: "
                '"macro", "micro" or "weighted", as in "f1_macro".'
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return self.metric.bounds

    @property
    def unit(self) -> float:
        return self.metric.unit

    def cast(self, matrix: Tensor) -> Tensor:
        return self.metric.cast(matrix)

    def check_classes(self, n_classes: int) -> None:
        self.metric.check_classes(n_classes if isinstance(self.metric, Averaged) else 2)

    def of_label(self, index: int) -> Metric:
        """Metric of one label.

        Parameters
        ----------
        index : int
            The label.

        Returns
        -------
        Metric
            A metric of its (2, 2) matrix.
        """
        if not isinstance(self.metric, Averaged):
            return self.metric
        options: dict[str, Any] = {"average": "binary", "positive": 1, "ignore_classes": ()}
        if isinstance(beta := getattr(self.metric, "beta", None), tuple):
            options["beta"] = beta[index]
        return replace(self.metric, **options)  # type: ignore[type-var]

    def _check_shape(self, matrix: Tensor) -> None:
        if matrix.ndim < 3 or matrix.shape[-1] != 2:
            raise ValueError(f"`matrix` should have shape (..., K, 2, 2), one matrix per label, got {tuple(matrix.shape)}.")
        self.check_classes(matrix.shape[-3])

    def value(self, matrix: Tensor) -> Tensor:
        return self.of_counts(Counts.of(matrix)) if needs_counts_only(self) else self.metric.value(matrix).mean(-1)

    def of_counts(self, counts: Counts) -> Tensor:
        if not isinstance(self.metric, Averaged):
            return self.per_class(counts).mean(-1)
        positive = _positive_of(counts)
        averaged = torch.ones_like(positive.hits, dtype=torch.bool) if counts.averaged is None else counts.averaged[..., 1]
        return self.metric.of_counts(replace(positive, averaged=averaged))

    def per_class(self, counts: Counts) -> Tensor:
        if isinstance(self.metric, Averaged):
            return self.metric.per_class(_positive_of(counts))
        assert isinstance(self.metric, CountsMetric)
        return self.metric.of_counts(counts)


def _positive_of(counts: Counts) -> Counts:
    """The counts of the positive class of every label: labels are its classes."""
    hits, support, predicted = counts.hits[..., 1], counts.support[..., 1], counts.predicted[..., 1]
    return Counts(hits, support, predicted, support.sum(-1))


def counted_classes(like: Tensor, ignore_classes: Sequence[int]) -> Tensor:
    """Mark the classes that count.

    Parameters
    ----------
    like : Tensor of shape (..., k)
        Numbers of the k classes, for device and size.
    ignore_classes : sequence of int
        Classes that do not count.

    Returns
    -------
    Tensor of shape (k,)
        Booleans.

    Examples
    --------
    >>> import torch
    >>> from metricfit.metrics import counted_classes
    >>> counted_classes(torch.zeros(3), [0])
    tensor([False,  True,  True])
    """
    ignored = torch.tensor(tuple(ignore_classes), dtype=torch.long, device=like.device)
    return (torch.arange(like.shape[-1], device=like.device)[:, None] != ignored).all(1)
