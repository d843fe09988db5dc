"""Metrics by name. A new metric needs a formula and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from metricfit._checks import did_you_mean
from metricfit.metrics._accuracy import Accuracy, BalancedAccuracy, GMean
from metricfit.metrics._agreement import CohenKappa, MatthewsCorrelation
from metricfit.metrics._averaged import FBeta, FowlkesMallows, Jaccard, Precision, Recall
from metricfit.metrics._base import Custom, Metric

MetricLike = str | Metric | Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Entry:
    """A metric and, where there is one, the function of ``sklearn.metrics`` that computes it from labels."""

    metric: Metric
    sklearn: tuple[str, dict[str, Any]] | None = None


def _averages(name: str, make: Callable[[str], Metric], sklearn: str | None, **options: Any) -> dict[str, Entry]:
    """One entry per average: the name alone means ``"binary"``, a suffix each of the others."""
    return {
        name + suffix: Entry(make(average), (sklearn, {"average": average, **options}) if sklearn else None)
        for suffix, average in (("", "binary"), ("_macro", "macro"), ("_micro", "micro"), ("_weighted", "weighted"))
    }


REGISTRY: dict[str, Entry] = {
    "accuracy": Entry(Accuracy(), ("accuracy_score", {})),
    "balanced_accuracy": Entry(BalancedAccuracy(), ("balanced_accuracy_score", {})),
    **_averages("precision", Precision, "precision_score", zero_division=0),
    **_averages("recall", Recall, "recall_score", zero_division=0),
    **_averages("f1", lambda average: FBeta(1.0, average), "fbeta_score", beta=1.0, zero_division=0),
    **_averages("f0.5", lambda average: FBeta(0.5, average), "fbeta_score", beta=0.5, zero_division=0),
    **_averages("f2", lambda average: FBeta(2.0, average), "fbeta_score", beta=2.0, zero_division=0),
    **_averages("jaccard", Jaccard, "jaccard_score", zero_division=0),
    **_averages("fowlkes_mallows", FowlkesMallows, None),
    "mcc": Entry(MatthewsCorrelation(), ("matthews_corrcoef", {})),
    "kappa": Entry(CohenKappa(), ("cohen_kappa_score", {})),
    "quadratic_kappa": Entry(CohenKappa("quadratic"), ("cohen_kappa_score", {"weights": "quadratic"})),
    "g_mean": Entry(GMean()),
    "informedness": Entry(BalancedAccuracy(adjusted=True), ("balanced_accuracy_score", {"adjusted": True})),
}


def names() -> list[str]:
    """The names that :func:`get` knows.

    >>> names()[:2]
    ['accuracy', 'balanced_accuracy']
    """
    return list(REGISTRY)


def get(metric: MetricLike) -> Metric:
    """The metric of that name. A metric is returned unchanged, a function of the matrix as :class:`Custom`.

    >>> get("f1_macro")
    FBeta(beta=1.0, average='macro', positive=1)
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, type):
        raise TypeError(f"`metric` should be an instance, got the class {metric.__name__}. Try `{metric.__name__}()`.")
    if isinstance(metric, str):
        if metric not in REGISTRY:
            raise ValueError(
                f"`metric` should be one of {', '.join(REGISTRY)}, or a function of the confusion matrix; "
                f"got {metric!r}.{did_you_mean(metric, REGISTRY)}"
            )
        return REGISTRY[metric].metric
    if callable(metric):
        return Custom(metric)
    raise TypeError(f"`metric` should be a name, a metric or a function of the confusion matrix, got {metric!r}.")
