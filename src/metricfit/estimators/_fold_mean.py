"""The mean of an estimator's fold models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from metricfit._typing import Floats, Ints
from metricfit.learners import class_scores, spread_classes


def _has_probabilities(self: FoldMean) -> bool:
    return all(hasattr(one, "predict_proba") for one in self.estimators_)


def _has_no_probabilities(self: FoldMean) -> bool:
    return not _has_probabilities(self)


class FoldMean:
    """Classifiers of the folds of one table, whose mean probability or decision function is the answer.

    A class that a fold has not seen has no probability there.
    """

    def __init__(self, estimators: Sequence[Any], classes: NDArray[Any]) -> None:
        self.estimators_, self.classes_ = list(estimators), classes
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimators[0], name):
                setattr(self, name, getattr(estimators[0], name))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        found = np.zeros((0, len(self.classes_)))
        for index, one in enumerate(self.estimators_):
            probabilities = np.asarray(one.predict_proba(X), np.float64)
            spread = np.zeros((len(probabilities), len(self.classes_)))
            spread[:, self._seen(one)] = probabilities
            found = found + spread if index else spread
        return found / len(self.estimators_)

    @available_if(_has_no_probabilities)
    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        n_classes = len(self.classes_)
        found = np.mean([spread_classes(class_scores(one, X), self._seen(one), n_classes) for one in self.estimators_], 0)
        return found[:, 1] - found[:, 0] if n_classes == 2 else found

    def _seen(self, one: Any) -> Ints:
        return np.searchsorted(self.classes_, one.classes_)
