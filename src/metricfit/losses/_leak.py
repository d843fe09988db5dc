r"""The leak: cross-entropy added to any objective.

.. math:: L + \alpha\,\mathrm{CE}(S)

For accuracy under the softmax this is leaky expected error (arXiv 1905.00448, Eq. 6, plus 1). Offsets enter L only. So
:math:`\alpha \to \infty` gives logistic regression with tuned offsets, and :math:`\alpha \to 0` gives training for L alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from metricfit.losses._baselines import CrossEntropy
from metricfit.losses._objectives import Objective, PerRow
from metricfit.losses._rows import AnyRows


@dataclass(frozen=True)
class LeakyRows(PerRow):
    """The objective plus the leak, row by row."""

    objective: PerRow
    cross_entropy: CrossEntropy
    leak: float

    def losses(self, rows: AnyRows) -> Tensor:
        return self.objective.losses(rows) + self.leak * self.cross_entropy.losses(rows)


@dataclass(frozen=True)
class LeakyTotal(Objective):
    """The objective plus the leak, each over all rows; their statistics and the sum of weights are concatenated.

    Scores do not change the sum of weights. Its own entry says so: as the sum of a matrix it would have, times a huge leak, a
    rounding error for a gradient.
    """

    objective: Objective
    cross_entropy: CrossEntropy
    leak: float

    @property
    def by_label(self) -> bool:  # type: ignore[override]
        return self.objective.by_label

    @property
    def by_image(self) -> bool:  # type: ignore[override]
        return self.objective.by_image

    def statistics(self, rows: AnyRows) -> Tensor:
        together = replace(rows, groups=())
        leak, size = self.cross_entropy.statistics(together), self.objective.size_of(together)[None]
        return torch.cat([self.objective.statistics(rows).flatten(), leak, size])

    def value(self, statistics: Tensor) -> Tensor:
        value = self.objective.value(self.objective.unflatten(statistics[:-3]))
        return value + self.leak * self.cross_entropy.value(statistics[-3:-1])

    def size(self, statistics: Tensor) -> Tensor:
        return statistics[-1]

    def size_of(self, rows: AnyRows) -> Tensor:
        return self.objective.size_of(rows)


def add_leak(objective: Objective, leak: float, class_weight: Tensor | None = None) -> Objective:
    """The objective plus ``leak`` times cross-entropy; row by row if both are means over the same weights."""
    if not leak:
        return objective
    cross_entropy = CrossEntropy(class_weight)
    if isinstance(objective, PerRow) and class_weight is None:
        return LeakyRows(objective, cross_entropy, leak)
    return LeakyTotal(objective, cross_entropy, leak)
