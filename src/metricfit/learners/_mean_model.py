"""The mean of several models' probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax

from metricfit._typing import Floats
from metricfit.decisions import NEVER
from metricfit.learners._parts import Parts


@dataclass(frozen=True)
class MeanModel:
    """Models of the folds of one learner: their mean is steadier than each, and needs no further training."""

    models: tuple[Any, ...]
    offsets: Floats

    @classmethod
    def of(cls, models: Sequence[Any]) -> Any:
        """The mean; of one model, the model itself."""
        return models[0] if len(models) == 1 else cls(tuple(models), np.zeros_like(models[0].offsets))

    def logits(self, features: Any) -> Floats:
        """Logarithms of the mean probabilities."""
        total = np.exp(log_softmax(self.models[0].logits(features), 1))
        for model in self.models[1:]:
            total += np.exp(log_softmax(model.logits(features), 1))
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(total / len(self.models)), NEVER)

    def with_offsets(self, offsets: Floats) -> MeanModel:
        return replace(self, offsets=offsets - offsets.mean())

    def parts(self) -> Parts:
        """What a file keeps."""
        return Parts({"kind": "mean"}, {"offsets": torch.from_numpy(self.offsets.copy())}).holding(self.models)
