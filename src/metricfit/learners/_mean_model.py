"""The mean of several models' probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax

from metricfit._description import check
from metricfit._typing import Floats
from metricfit.decisions import NEVER

if TYPE_CHECKING:
    from metricfit.learners._restore import Restorer

MAX_MEMBERS = 1000


@dataclass(frozen=True)
class MeanModel:
    """Models of the folds of one learner: their mean is steadier than each, and needs no further training.

    Offsets and temperature come from out-of-fold scores, and each of these is of one model. They are taken as they are: the
    logarithm of a mean probability has the same units, and is close to a model's own wherever the models agree. Where they
    disagree the mean is nearer to a tie, so an offset changes more of these rows. The mean of networks' logits, which keeps
    their scale, did as well on metrics.
    """

    models: tuple[Any, ...]
    offsets: Floats

    @classmethod
    def of(cls, models: Sequence[Any]) -> Any:
        """The mean, also of the offsets; of one model, the model itself."""
        return models[0] if len(models) == 1 else cls(tuple(models), np.mean([model.offsets for model in models], 0))

    def logits(self, features: Any) -> Floats:
        """Logarithms of the mean probabilities."""
        total = np.exp(log_softmax(self.models[0].logits(features), 1))
        for model in self.models[1:]:
            total += np.exp(log_softmax(model.logits(features), 1))
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(total / len(self.models)), NEVER)

    def with_offsets(self, offsets: Floats) -> MeanModel:
        return replace(self, offsets=offsets - offsets.mean())

    def to_plain(self) -> dict[str, Any]:
        return {"kind": "mean", "models": [model.to_plain() for model in self.models], "offsets": self.offsets}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> MeanModel:
        check(plain["models"], "it has no models")
        return cls(tuple(to.model(one) for one in plain["models"]), to.offsets(plain))
