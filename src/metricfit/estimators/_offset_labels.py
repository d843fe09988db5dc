"""Several labels per row in :class:`OffsetClassifier`: a threshold for each, from scores of held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.validation import check_is_fitted

from metricfit._parallel import parallel
from metricfit._typing import Floats, Ints
from metricfit.decisions import DecisionRule, check_groups
from metricfit.estimators._base import check_weight, fit_weighted
from metricfit.estimators._folds import label_splits
from metricfit.metrics import with_average

_OTHERS = ("subject_to", "confidence", "calibration", "fallback", "pos_label", "class_order")


def are_many(y: Any) -> bool:
    """Whether ``y`` has several columns, one per label.

    >>> are_many([[0, 1], [1, 1]]), are_many([0, 1])
    (True, False)
    """
    shape = y.shape if hasattr(y, "shape") else np.asarray(y[:1] if isinstance(y, list | tuple) else y).shape
    return len(shape) == 2 and shape[1] > 1


def fit(classifier: Any, features: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Any, DecisionRule]:
    """The fitted estimator, and the rule with a threshold for each label."""
    for name in _OTHERS:
        if getattr(classifier, name) is not None:
            raise ValueError(f"`{name}` is for rows with one label each, and these have several. Leave it out.")
    if not classifier.smooth:
        raise ValueError("`smooth` should stay True for rows with several labels.")
    names = list(getattr(y, "columns", range(np.shape(y[:1])[1])))
    features, table = indexable(features, y.toarray() if issparse(y) else np.asarray(y))
    numbers = None if groups is None else check_groups(groups, len(table))
    if not np.isin(table, (0, 1)).all():
        raise ValueError("`y` of several labels per row should be 0 and 1, one column per label, got other values.")
    weight = check_weight(sample_weight, len(table))
    weights = None if sample_weight is None else weight
    if isinstance(classifier.cv, str) and classifier.cv == "prefit":
        check_is_fitted(classifier.estimator)
        estimator, rows = classifier.estimator, np.arange(len(table))
        scores = label_scores(estimator, features, len(names))
    else:
        seed = check_random_state(classifier.random_state).randint(2**31)
        splits = label_splits(classifier.cv, table, groups, seed)
        data, rows = (classifier.estimator, features, table, weights), np.concatenate([test for _, test in splits])
        scores = np.concatenate(list(parallel(_score_fold, data, splits, classifier.n_jobs)))
        estimator = fit_weighted(clone(classifier.estimator), features, table, weights)
    rule = DecisionRule(with_average(classifier.metric, classifier.average), classes=names, kind=_kind(estimator))
    return estimator, rule.fit(scores, table[rows], weight[rows], None if numbers is None else numbers[rows])


def label_scores(estimator: Any, features: Any, n_labels: int) -> Floats:
    """The probability of each label, or its decision function where there are no probabilities; (n, K).

    Forests and ``MultiOutputClassifier`` have a table per label, with a column per value that the label had in the fit.
    """
    with parallel_config(backend="threading", n_jobs=1):  # a forest sums over its trees in the same order each time
        if hasattr(estimator, "predict_proba"):
            found = estimator.predict_proba(features)
            if isinstance(found, list):
                found = np.stack([_of_one(*pair) for pair in zip(found, estimator.classes_, strict=True)], 1)
        elif hasattr(estimator, "decision_function"):
            found = estimator.decision_function(features)
        else:
            raise TypeError(f"`estimator` should have predict_proba or decision_function, {estimator!r} has neither.")
    scores = np.asarray(found, np.float64)
    if scores.ndim != 2 or scores.shape[1] != n_labels:
        raise ValueError(
            f"`estimator` should have one score for each of the {n_labels} labels, got shape {scores.shape}. Try "
            "MultiOutputClassifier or OneVsRestClassifier around it."
        )
    return scores


def _of_one(probabilities: Any, values: NDArray[Any]) -> Floats:
    """The probability of 1, from those of the values that the label had."""
    return np.asarray(probabilities, np.float64)[:, np.asarray(values) == 1].sum(1)


def _kind(estimator: Any) -> str:
    return "probability" if hasattr(estimator, "predict_proba") else "logit"


def _score_fold(data: tuple[Any, ...], train: Ints, test: Ints) -> Floats:
    estimator, features, table, weight = data
    own: Sequence[float] | None = None if weight is None else weight[train]
    fitted = fit_weighted(clone(estimator), _safe_indexing(features, train), table[train], own)
    return label_scores(fitted, _safe_indexing(features, test), table.shape[1])
