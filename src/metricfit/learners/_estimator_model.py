"""Any fitted scikit-learn classifier as a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import parallel_config

from metricfit._description import Foreign, check, checked_array
from metricfit._typing import Floats, Ints
from metricfit.decisions import NEVER, log_probabilities
from metricfit.learners._linear_model import spread_columns
from metricfit.learners._tree_arrays import trees_from_plain, trees_to_plain

if TYPE_CHECKING:
    from metricfit.learners._restore import Restorer


@dataclass(frozen=True)
class EstimatorModel:
    """An estimator that was fitted to the classes ``seen`` of k, under the labels 0, 1, ...; and one offset per class."""

    estimator: Any
    seen: Ints
    offsets: Floats

    def logits(self, features: Any) -> Floats:
        """Log-probabilities, or the decision function where there are none; a class that was not seen never wins."""
        return spread_classes(class_scores(self.estimator, features), self.seen, len(self.offsets))

    def with_offsets(self, offsets: Floats) -> EstimatorModel:
        return replace(self, offsets=offsets - offsets.mean())

    def to_plain(self) -> dict[str, Any]:
        """The trees that we build are arrays; skops keeps the estimators of users."""
        estimator = trees_to_plain(self.estimator) or Foreign(self.estimator)
        return {"kind": "estimator", "estimator": estimator, "seen": self.seen, "offsets": self.offsets}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> EstimatorModel:
        seen, estimator = checked_array(plain["seen"], "int64", (None,)), plain["estimator"]
        fits = len(seen) > 0 and seen[0] >= 0 and seen[-1] < to.n_classes and (np.diff(seen) > 0).all()
        check(fits, "the classes of a model do not fit")
        if isinstance(estimator, dict):
            estimator = trees_from_plain(estimator, to.width, len(seen))
        return cls(estimator, seen, to.offsets(plain))


def class_scores(estimator: Any, features: Any) -> Floats:
    """Log-probabilities, or the decision function where there are no probabilities; (n, k).

    Whatever ``joblib.parallel_config`` says, only an estimator with ``n_jobs`` of its own uses several threads: a forest would
    sum over its trees in another order each time.
    """
    features = as_input(estimator, features)
    with parallel_config(backend="threading", n_jobs=1):
        if hasattr(estimator, "predict_proba"):
            return log_probabilities(np.asarray(estimator.predict_proba(features), np.float64))
        if not hasattr(estimator, "decision_function"):
            raise TypeError(f"`estimator` should have predict_proba or decision_function, {estimator!r} has neither.")
        scores = np.asarray(estimator.decision_function(features), np.float64)
    pairs = getattr(estimator, "decision_function_shape", "ovr") == "ovo"
    if (scores.ndim == 2 and scores.shape[1] != len(estimator.classes_)) or pairs:
        raise ValueError("`estimator` should have one score per class; try decision_function_shape='ovr'.")
    return spread_columns(scores[:, None]) if scores.ndim == 1 else scores


def as_input(estimator: Any, features: Any) -> Any:
    """The features as the estimator takes them: a network of skorch needs float32, like its weights."""
    is_skorch = any(kind.__module__.partition(".")[0] == "skorch" for kind in type(estimator).__mro__)
    return features.astype(np.float32) if is_skorch and isinstance(features, np.ndarray) else features


def spread_classes(scores: Floats, seen: Ints, n_classes: int) -> Floats:
    """Scores of the classes that were seen as those of all classes; the others never win."""
    if len(seen) == n_classes:
        return scores
    spread = np.full((len(scores), n_classes), NEVER)
    spread[:, seen] = scores
    return spread
