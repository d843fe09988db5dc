r"""What each answer to a row is worth: a table (n, k) whose largest entry in a row is the best answer.

Both kinds start from calibrated probabilities :math:`p = \operatorname{softmax}(a s + b)` of the scores s.

- :class:`ExpectedCost` knows what each answer costs. Its values are the money that an answer is expected to save.
- :class:`WeightedProbability` knows the best offsets o for a metric. The largest :math:`s + o` is the largest :math:`p_j w_j`
  with :math:`w_j = e^{a o_j - b_j}`. So offsets are the best answers if a right answer j earns :math:`w_j`, and
  :math:`p_j w_j` is what an answer is expected to earn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from metricfit._typing import Floats
from metricfit.decisions._calibration import NEVER, fit_scale_and_bias
from metricfit.decisions._row_costs import RowCosts
from metricfit.decisions._smoothed import softmax_and_normalizer
from metricfit.decisions._solve import Rows
from metricfit.decisions._tuning import fit_calibrated_offsets
from metricfit.metrics import Metric

CONSTANT = 1e-9  # differences of scores that are rounding
CLEARLY = 2.0  # standard errors of a difference
FACTORS = np.exp(np.linspace(-1.4, 1.4, 29))  # 0.25 to 4.1, and 1 in the middle


@dataclass(frozen=True)
class Calibration:
    """Probabilities from scores, by a scale and a bias for each class."""

    scale: float
    bias: Floats

    @classmethod
    def fit(cls, rows: Rows) -> Self:
        """The calibration of these rows. Scores that say nothing get the shares of the classes."""
        scale, bias = fit_scale_and_bias(rows.scores, rows.labels, rows.weight)
        if scale == 0.0 or np.ptp(rows.scores - rows.scores[:, :1], 0).max() < CONSTANT:
            scale = 0.0
            shares = np.bincount(rows.labels, rows.weight, rows.n_classes) / rows.weight.sum()
            bias = np.log(np.maximum(shares, 1e-12))
        return cls(scale, bias)

    def probabilities(self, scores: Floats) -> Floats:
        return softmax_and_normalizer(np.where(scores == NEVER, NEVER, self.scale * scores + self.bias))[0]

    def to_plain(self) -> dict[str, Any]:
        return {"scale": self.scale, "bias": self.bias.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        return cls(float(plain["scale"]), np.array(plain["bias"], np.float64))


@dataclass(frozen=True)
class ExpectedCost:
    """The money that an answer is expected to save against the answer ``default``, which costs least if it is always given.

    ``factor`` multiplies what an answer saves but not what it costs more: for two classes it multiplies the odds. One is right
    for calibrated probabilities.
    """

    calibration: Calibration
    default: int
    factor: float = 1.0

    @classmethod
    def fit(cls, rows: Rows, costs: RowCosts | None) -> Self:
        assert costs is not None
        always = [rows.weight @ costs.paid(rows.labels, np.full(len(rows), answer)) for answer in range(rows.n_classes)]
        found = cls(Calibration.fit(rows), int(np.argmin(always)))
        return replace(found, factor=found._fit_factor(rows, costs))

    def values(self, scores: Floats, costs: RowCosts | None) -> Floats:
        assert costs is not None
        benefit, harm = costs.benefit_and_harm(self.calibration.probabilities(scores), self.default)
        return self.factor * benefit - harm

    def _fit_factor(self, rows: Rows, costs: RowCosts) -> float:
        """The factor nearest to one whose answers cost no more than the cheapest, give or take two standard errors.

        The probabilities of each part of the rows come from a calibration of the others.
        """
        benefit, harm = np.empty((2, *rows.scores.shape))
        for part in (parts := rows.folds()):
            probability = Calibration.fit(rows.take(~part)).probabilities(rows.scores[part])
            benefit[part], harm[part] = costs.take(part).benefit_and_harm(probability, self.default)
        if not parts:
            return 1.0

        def paid(factor: float) -> Floats:
            return rows.weight * costs.paid(rows.labels, (factor * benefit - harm).argmax(1))

        cheapest = paid(min(FACTORS, key=lambda factor: paid(factor).sum()))
        for factor in sorted(FACTORS, key=lambda factor: abs(np.log(factor))):
            more = paid(factor) - cheapest
            draws = more if rows.groups is None else np.bincount(rows.groups, more)
            if more.sum() <= CLEARLY * np.sqrt(draws @ draws):
                return float(factor)
        return 1.0

    def to_plain(self) -> dict[str, Any]:
        return {"kind": "cost", **self.calibration.to_plain(), "default": self.default, "factor": self.factor}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        return cls(Calibration.from_plain(plain), int(plain["default"]), float(plain["factor"]))


@dataclass(frozen=True)
class WeightedProbability:
    """What an answer is expected to earn, if a right answer of class j earns ``weights[j]``."""

    calibration: Calibration
    weights: Floats

    @classmethod
    def fit(cls, rows: Rows, metric: Metric, ranked: int | None = None) -> Self:
        """The weights that offsets for the metric stand for; or, to rank rows, a weight for one class alone."""
        calibration = Calibration.fit(rows)
        if ranked is not None:
            return cls(calibration, np.eye(rows.n_classes)[ranked])
        if calibration.scale == 0.0:
            raise ValueError(
                "`scores` should rise with the probability of their class, so that a budget goes to the best rows."
            )
        logs = calibration.scale * fit_calibrated_offsets(rows.scores, rows.labels, metric, rows.weight) - calibration.bias
        return cls(calibration, np.exp(logs - logs.max()))

    def values(self, scores: Floats, costs: RowCosts | None) -> Floats:
        return self.calibration.probabilities(scores) * self.weights

    def to_plain(self) -> dict[str, Any]:
        return {"kind": "weights", **self.calibration.to_plain(), "weights": self.weights.tolist()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        return cls(Calibration.from_plain(plain), np.array(plain["weights"], np.float64))
