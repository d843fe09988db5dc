"""A linear model: weights, intercepts and offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metricfit._description import checked_array
from metricfit._typing import Floats

if TYPE_CHECKING:
    from metricfit.learners._restore import Restorer


@dataclass(frozen=True)
class LinearModel:
    """Weights (p, m), intercepts (m,) and offsets (k,) of the decision; m is 1 for two classes and k for more."""

    weight: Floats
    intercept: Floats
    offsets: Floats

    def logits(self, features: Any) -> Floats:
        """Scores (n, k), in logit units, without the offsets."""
        return spread_columns(np.asarray(features @ self.weight) + self.intercept)

    def with_offsets(self, offsets: Floats) -> LinearModel:
        return LinearModel(self.weight, self.intercept, offsets - offsets.mean())

    def to_plain(self) -> dict[str, Any]:
        return {"kind": "linear", "weight": self.weight, "intercept": self.intercept, "offsets": self.offsets}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> LinearModel:
        n_columns = 1 if to.n_classes == 2 else to.n_classes
        shapes = {"weight": (to.width, n_columns), "intercept": (n_columns,), "offsets": (to.n_classes,)}
        return cls(*(checked_array(plain[name], "float64", shape) for name, shape in shapes.items()))

    @classmethod
    def random(cls, n_features: int, n_classes: int, seed: int) -> LinearModel:
        """Where the papers' linear models start: uniform within 1 / sqrt(p), as ``nn.Linear`` draws."""
        n_columns, bound = 1 if n_classes == 2 else n_classes, 1.0 / np.sqrt(max(n_features, 1))
        drawn = np.random.default_rng(seed).uniform(-bound, bound, (n_features + 1, n_columns))
        return cls(drawn[:-1], drawn[-1], np.zeros(n_classes))


def spread_columns(columns: Floats) -> Floats:
    """One column (n, 1) becomes two that differ by it; k columns stay."""
    return np.concatenate([-0.5 * columns, 0.5 * columns], 1) if columns.shape[1] == 1 else columns


def gather_columns(slopes: Floats) -> Floats:
    """The gradient by the columns from that by the scores."""
    return 0.5 * (slopes[:, 1:] - slopes[:, :1]) if slopes.shape[1] == 2 else slopes
