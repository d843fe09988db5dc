"""The rows that a model is trained on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from metricfit._typing import Floats, Ints


@dataclass(frozen=True)
class TrainingRows:
    """Features (dense or sparse), labels 0 ... k - 1, weights of rows, and weights of classes in cross-entropy."""

    features: Any
    labels: Ints
    weight: Floats
    class_weight: Floats

    @property
    def n_classes(self) -> int:
        return len(self.class_weight)

    @cached_property
    def training_weight(self) -> Floats:
        """How much each row counts in cross-entropy; in the metric it counts by ``weight``."""
        return self.weight * self.class_weight[self.labels]

    def take(self, index: Ints) -> TrainingRows:
        return TrainingRows(self.features[index], self.labels[index], self.weight[index], self.class_weight)
