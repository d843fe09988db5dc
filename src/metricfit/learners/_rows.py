"""The rows that a model is trained on, and the forms in which learners read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from metricfit._typing import Floats, Ints

MATRIX = "matrix"  # numbers without gaps: imputed, scaled, a column per category; dense or sparse
COLUMNS = "columns"  # numbers as they are, NaN where they are missing; codes of categories come first
GIVEN = "given"  # the user's own table


class Forms:
    """The same rows in several forms. A form is made when it is asked for, and only the last one is kept: memory."""

    def __init__(self, make: Callable[[str], Any], n_categories: int = 0) -> None:
        self._make, self._last = make, ("", None)
        self.n_categories = n_categories  # how many of the first of COLUMNS are codes

    def read(self, name: str) -> Any:
        if self._last[0] != name:
            self._last = "", None
            self._last = name, self._make(name)
        return self._last[1]


@dataclass(frozen=True)
class TrainingRows:
    """Features (dense or sparse), labels 0 ... k - 1, weights of rows, and weights of classes in cross-entropy."""

    features: Any
    labels: Ints
    weight: Floats
    class_weight: Floats
    n_categories: int = 0  # how many of the first features are codes of categories

    @property
    def n_classes(self) -> int:
        return len(self.class_weight)

    @cached_property
    def training_weight(self) -> Floats:
        """How much each row counts in cross-entropy; in the metric it counts by ``weight``."""
        return self.weight * self.class_weight[self.labels]

    def take(self, index: Ints) -> TrainingRows:
        return replace(self, features=take_rows(self.features, index), labels=self.labels[index], weight=self.weight[index])

    def in_form(self, name: str) -> TrainingRows:
        """With the features in one form alone, where there are several."""
        if not isinstance(self.features, Forms):
            return self
        return replace(self, features=self.features.read(name), n_categories=self.features.n_categories)


def take_rows(features: Any, index: Any) -> Any:
    """Rows of a matrix or of a DataFrame."""
    if isinstance(features, np.ndarray) or hasattr(features, "tocsr"):
        return features[index]
    return _safe_indexing(features, index)
