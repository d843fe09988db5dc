"""Metrics by name. A new metric needs a formula and one line here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from metricfit._printable import did_you_mean
from metricfit.metrics._accuracy import Accuracy, BalancedAccuracy, GMean
from metricfit.metrics._agreement import CohenKappa, MatthewsCorrelation
from metricfit.metrics._averaged import Averaged, FBeta, FowlkesMallows, Jaccard, Precision, Recall
from metricfit.metrics._base import Custom, Metric
from metricfit.metrics._cost import Cost

MetricLike = str | Metric | Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Entry:
    """A metric, what it is in words, and, if there is one, the function of ``sklearn.metrics`` that computes it."""

    metric: Metric
    about: str
    sklearn: tuple[str, dict[str, Any]] | None = None


_SUFFIXES = {"": "binary", "_macro": "macro", "_micro": "micro", "_weighted": "weighted"}
_IN_WORDS = {
    "binary": "for the positive class",
    "macro": "mean over classes",
    "micro": "pooled over classes",
    "weighted": "weighted by class size",
}
_ALIASES = {"iou": "jaccard", "dice": "f1"}  # of images
_F_BETA = re.compile(r"f(\d+(?:\.\d+)?)(_macro|_micro|_weighted)?")
_OF_RANKS = ("roc_auc", "auc", "auroc", "pr_auc", "average_precision", "gini", "ndcg", "top_k_accuracy", "ks")
_OF_PROBABILITIES = ("log_loss", "neg_log_loss", "cross_entropy", "brier", "brier_score", "neg_brier_score", "ece")
_OF_NUMBERS = ("r2", "rmse", "mse", "mae", "neg_mean_squared_error", "neg_mean_absolute_error")


def _averages(name: str, about: str, make: Callable[[str], Metric], sklearn: str | None, **options: Any) -> dict[str, Entry]:
    """One entry per average: the name alone means ``"binary"``, a suffix each of the others."""
    return {
        name + suffix: Entry(
            make(average),
            f"{about}; {_IN_WORDS[average]}",
            (sklearn, {"average": average, **options}) if sklearn else None,
        )
        for suffix, average in _SUFFIXES.items()
    }


def _f_beta(beta: float) -> dict[str, Entry]:
    more = f"F-beta with more weight on {'recall' if beta > 1.0 else 'precision'} (beta {beta:g})"
    words = "harmonic mean of precision and recall" if beta == 1.0 else more
    return _averages(f"f{beta:g}", words, lambda average: FBeta(beta, average), "fbeta_score", beta=beta, zero_division=0)


REGISTRY: dict[str, Entry] = {
    "accuracy": Entry(Accuracy(), "share of rows that are predicted correctly", ("accuracy_score", {})),
    "balanced_accuracy": Entry(BalancedAccuracy(), "mean of the recalls of all classes", ("balanced_accuracy_score", {})),
    **_averages(
        "precision", "share of the predictions of a class that are correct", Precision, "precision_score", zero_division=0
    ),
    **_averages("recall", "share of the rows of a class that are found", Recall, "recall_score", zero_division=0),
    **_f_beta(1.0),
    **_f_beta(0.5),
    **_f_beta(2.0),
    **_averages(
        "jaccard",
        "intersection over union of true and predicted rows",
        Jaccard,
        "jaccard_score",
        zero_division=0,
    ),
    **_averages("fowlkes_mallows", "geometric mean of precision and recall", FowlkesMallows, None),
    "mcc": Entry(MatthewsCorrelation(), "Matthews correlation between true and predicted classes", ("matthews_corrcoef", {})),
    "kappa": Entry(CohenKappa(), "Cohen's kappa: agreement beyond chance", ("cohen_kappa_score", {})),
    "quadratic_kappa": Entry(
        CohenKappa("quadratic"),
        "Cohen's kappa for ordered classes: distant errors count more",
        ("cohen_kappa_score", {"weights": "quadratic"}),
    ),
    "g_mean": Entry(GMean(), "geometric mean of the recalls of all classes"),
    "informedness": Entry(
        BalancedAccuracy(adjusted=True),
        "balanced accuracy, rescaled to 0 for a constant answer; Youden's J for two classes",
        ("balanced_accuracy_score", {"adjusted": True}),
    ),
}


def names() -> list[str]:
    """List the names of the metrics.

    :func:`get` also knows F-beta for any beta: "f3", "f0.25_macro".

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> from metricfit.metrics import names
    >>> names()[:2]
    ['accuracy', 'balanced_accuracy']
    """
    return list(REGISTRY)


def get(metric: MetricLike) -> Metric:
    """Find a metric by its name.

    Parameters
    ----------
    metric : str, Metric or callable
        A name; "iou" is short for "jaccard" and "dice" for "f1", with or without a suffix. A metric is returned unchanged, a
        function of the matrix as :class:`Custom`.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    ValueError
        If no metric has this name. The message suggests the closest one.

    Examples
    --------
    >>> from metricfit.metrics import get
    >>> get("dice_macro")
    FBeta(beta=1.0, average='macro', positive=1, ignore_classes=())
    >>> get("f3").beta
    3.0
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, type):
        raise TypeError(f"`metric` should be an instance, got the class {metric.__name__}. Try `{metric.__name__}()`.")
    if isinstance(metric, str):
        return _by_name(metric)
    if callable(metric):
        return Custom(metric)
    raise TypeError(f"`metric` should be a name, a metric or a function of the confusion matrix, got {metric!r}.")


def name_of(metric: MetricLike) -> str:
    """Name of a metric in tables and sentences.

    Parameters
    ----------
    metric : str, Metric or callable
        The metric.

    Returns
    -------
    str
        The name.

    Examples
    --------
    >>> from metricfit.metrics import FBeta, name_of
    >>> name_of(FBeta(1.0, "macro")), name_of(FBeta(3.0)), name_of(lambda matrix: matrix[0, 0])
    ('f1_macro', 'f3_macro', 'custom metric')
    """
    if isinstance(metric, str):
        return metric
    found = get(metric)
    if isinstance(found, Custom):
        return found.name
    if isinstance(found, Cost):
        return "minus cost"
    if isinstance(found, FBeta) and isinstance(found.beta, float):
        return f"f{found.beta:g}" + next(suffix for suffix, average in _SUFFIXES.items() if average == found.average)
    plain = replace(found, positive=1) if isinstance(found, Averaged) else found  # type: ignore[type-var]
    return next((name for name, entry in REGISTRY.items() if entry.metric == plain), str(found))


def _by_name(name: str) -> Metric:
    for alias, meant in _ALIASES.items():
        if name == alias or name.startswith(f"{alias}_"):
            name = meant + name.removeprefix(alias)
    if name in REGISTRY:
        return REGISTRY[name].metric
    if found := _F_BETA.fullmatch(name):
        return FBeta(float(found[1]), _SUFFIXES[found[2] or ""])
    asked = name.lower().removesuffix("_score").removesuffix("_ovr").removesuffix("_ovo").removesuffix("_weighted")
    if asked in _OF_RANKS:
        raise ValueError(
            f"`metric` {name!r} is a ranking metric, not a function of one confusion matrix: it judges scores, not decisions. "
            "Take one that judges decisions, such as 'balanced_accuracy', 'f1' or 'mcc'."
        )
    if found := re.fullmatch(r"(recall|precision)@(.*)", asked):
        if not found[2].isdecimal():
            other = "precision" if found[1] == "recall" else "recall"
            raise ValueError(
                f"`metric` {name!r} should have a number of rows after @, as in '{found[1]}@200'. For {found[1]} at a given "
                f"{other}, use `DecisionRule('{found[1]}', subject_to='{other} >= 0.9')`."
            )
        raise ValueError(
            f"`metric` {name!r} is about the best rows of a batch, not a function of one confusion matrix, so nothing is "
            f"trained for it. Train a classifier for another metric, and pass its scores to `DecisionRule({name!r})`."
        )
    if asked in _OF_PROBABILITIES:
        raise ValueError(
            f"`metric` {name!r} judges probabilities, not decisions: it is not a function of one confusion matrix. "
            "To train for it, use plain cross-entropy."
        )
    if asked in _OF_NUMBERS:
        raise ValueError(f"`metric` {name!r} is for regression; metricfit trains classifiers.")
    raise ValueError(
        "`metric` should be a name that `metricfit.metrics.names()` lists, an F-beta such as 'f3', a metric, or a function of "
        f"the confusion matrix; got {name!r}.{did_you_mean(name, REGISTRY)}"
    )
