r"""Answers by what they are worth in each row: fitted, judged on held-out rows, and kept in a file.

The worth of answers is a table (n, k) whose largest entry in a row is the best answer. Both kinds start from calibrated
probabilities :math:`p = \operatorname{softmax}(a s + b)` of the scores s.

- :class:`ExpectedCost` knows what each answer costs. Its values are the money that an answer is expected to save.
- :class:`WeightedProbability` knows the best offsets o for a metric. The largest :math:`s + o` is the largest :math:`p_j w_j`
  with :math:`w_j = e^{a o_j - b_j}`. So offsets are the best answers if a right answer j earns :math:`w_j`, and
  :math:`p_j w_j` is what an answer is expected to earn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from metricfit._typing import Floats, Ints
from metricfit.decisions._abstain import Abstention, Bools, fit_threshold
from metricfit.decisions._budget import Budget
from metricfit.decisions._calibration import Calibration, calibrate
from metricfit.decisions._intervals import Judgement
from metricfit.decisions._row_costs import Money, RowCosts
from metricfit.decisions._rows import Rows, rank_in_class
from metricfit.decisions._solve import START_ROWS
from metricfit.decisions._tuning import fit_calibrated_offsets
from metricfit.metrics import Metric

LARGEST = "the most probable class"
NO_ANSWER = -1
Costs = RowCosts | None
CONSTANT = 1e-9  # differences of scores that are rounding
CLEARLY = 2.0  # standard errors of a difference
FACTORS = np.exp(np.linspace(-1.4, 1.4, 29))  # 0.25 to 4.1, and 1 in the middle


def calibrate_rows(rows: Rows) -> Calibration:
    """The calibration of these rows. Scores that say nothing get the shares of the classes."""
    found = calibrate(rows.scores, rows.labels, rows.weight)
    if found.scale > 0.0 and np.ptp(rows.scores - rows.scores[:, :1], 0).max() >= CONSTANT:
        return found
    shares = np.bincount(rows.labels, rows.weight, rows.n_classes) / rows.weight.sum()
    return Calibration(0.0, np.log(np.maximum(shares, 1e-12)))


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
    def fit(cls, rows: Rows) -> Self:
        assert rows.costs is not None
        always = [rows.weight @ rows.costs.paid(rows.labels, np.full(len(rows), answer)) for answer in range(rows.n_classes)]
        found = cls(calibrate_rows(rows), int(np.argmin(always)))
        return replace(found, factor=found._fit_factor(rows, rows.costs))

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
            probability = calibrate_rows(rows.take(~part)).probabilities(rows.scores[part])
            benefit[part], harm[part] = costs.take(part).benefit_and_harm(probability, self.default)
        if not parts:
            return 1.0

        def paid(factor: float) -> Floats:
            return rows.weight * costs.paid(rows.labels, (factor * benefit - harm).argmax(1))

        cheapest = paid(min(FACTORS, key=lambda factor: paid(factor).sum()))
        for factor in sorted(FACTORS, key=lambda factor: abs(np.log(factor))):
            more = paid(factor) - cheapest
            draws = rows.sums_by_draw(more)
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
    """Expected gain of an answer, if a right answer of class j gains ``weights[j]``."""

    calibration: Calibration
    weights: Floats

    @classmethod
    def fit(cls, rows: Rows, metric: Metric, ranked: int | None = None) -> Self:
        """The weights that offsets for the metric stand for; or, to rank rows, a weight for one class alone."""
        calibration = calibrate_rows(rows)
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


@dataclass(frozen=True)
class Actions:
    """The best answer to each row by the worth of answers: within a budget, or only where it is sure enough."""

    worth: ExpectedCost | WeightedProbability
    budget: Budget | None = None
    abstention: Abstention | None = None
    refusal: str = ""

    def values(self, scores: Floats, costs: Costs) -> Floats:
        return self.worth.values(scores, costs)

    def best(self, values: Floats) -> Ints:
        """The answers to a batch of rows with these values."""
        return values.argmax(1) if self.budget is None else self.budget.assign(values)

    def risk(self, scores: Floats, costs: Costs, answers: Ints, is_money: bool = False) -> Floats:
        """The probability that an answer is wrong, or its expected cost, (n,)."""
        probability, rows = self.worth.calibration.probabilities(scores), np.arange(len(scores))
        if is_money and costs is not None:
            return costs.expected(probability)[rows, answers]
        return 1.0 - probability[rows, answers]

    def answers(self, scores: Floats, costs: Costs) -> Ints:
        """The class of every row, or :data:`NO_ANSWER`."""
        found = self.best(self.values(scores, costs))
        if self.abstention is None:
            return found
        risk = self.risk(scores, costs, found, self.abstention.is_money)
        return np.where(risk < self.abstention.threshold, found, NO_ANSWER)

    def to_plain(self) -> dict[str, Any]:
        return {
            "worth": self.worth.to_plain(),
            "budget": None if self.budget is None else self.budget.to_plain(),
            "abstention": None if self.abstention is None else asdict(self.abstention),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        kind = ExpectedCost if plain["worth"]["kind"] == "cost" else WeightedProbability
        return cls(
            kind.from_plain(plain["worth"]),
            Budget.from_plain(plain["budget"]) if plain["budget"] else None,
            Abstention(**plain["abstention"]) if plain["abstention"] else None,
        )


@dataclass(frozen=True)
class Plan:
    """What to fit: answers for a metric, or of least expected cost if there are costs; within a budget, or with abstention.

    ``ranked`` is the class whose best rows are answered whether they gain or not, as in ``recall@200``.
    """

    metric: Metric
    labels: list[Any]
    budget: Budget | None = None
    ranked: int | None = None
    abstain_cost: float | None = None
    error_limit: float | None = None
    confidence: float | None = None

    def fit(self, rows: Rows) -> Actions:
        tuning, others = self._split(rows)
        actions = Actions(self._worth(rows.take(tuning)), self.budget)
        if self.abstain_cost is not None:
            return replace(actions, abstention=Abstention(self.abstain_cost, rows.costs is not None))
        if self.error_limit is None:
            return actions
        rows = rows.take(others)
        answers = actions.answers(rows.scores, rows.costs)
        risk, is_wrong = actions.risk(rows.scores, rows.costs, answers), answers != rows.labels
        threshold, refusal = fit_threshold(risk, is_wrong, rows.weight, self.error_limit, self.confidence, bool(tuning.any()))
        return replace(actions, abstention=Abstention(threshold), refusal=refusal)

    def _worth(self, rows: Rows) -> ExpectedCost | WeightedProbability:
        if not len(rows):  # the probabilities are those of the model, and the largest is the answer
            return WeightedProbability(Calibration(1.0, np.zeros(rows.n_classes)), np.ones(rows.n_classes))
        if rows.costs is not None:
            return ExpectedCost.fit(rows)
        return WeightedProbability.fit(rows, self.metric, self.ranked)

    def _split(self, rows: Rows) -> tuple[Bools, Bools]:
        """The rows that set the worth of answers, and those that set the threshold: different ones if it is a promise.

        Half of the rows tune the answers for a metric. To calibrate the largest probability takes few of many rows, and few
        rows cannot spare any.
        """
        everyone = np.ones(len(rows), bool)
        if self.error_limit is None or self.confidence is None:
            return everyone, everyone
        if not self.metric.counts_hits:
            tuning = rank_in_class(rows.labels) % 2 == 1
        else:
            n_tuning = max(START_ROWS, 20 * rows.n_classes)
            tuning = (np.arange(len(rows)) % max(len(rows) // n_tuning, 1) == 0) & (len(rows) >= 10 * n_tuning)
        return tuning, ~tuning

    def cross_fit(self, actions: Actions, rows: Rows) -> tuple[Ints, bool]:
        """Answers to the rows by actions that were fitted to other rows, and whether there are enough rows for that."""
        fitted = [(part, self.fit(rows.take(~part))) for part in rows.folds()]
        if not fitted or any(other.refusal for _, other in fitted):
            return actions.answers(rows.scores, rows.costs), False
        values, answers = np.empty(rows.scores.shape), np.empty(len(rows), np.int64)
        for part, other in fitted:
            own = rows.take(part)
            values[part], answers[part] = other.values(own.scores, own.costs), other.answers(own.scores, own.costs)
        return (answers if self.budget is None else actions.best(values)), True

    def judge(self, answers: Ints, plain: Ints, rows: Rows, is_cross_fitted: bool) -> Judgement:
        """The metric of the rows with an answer, and that of plain answers to them."""
        kept = answers != NO_ANSWER
        return Judgement.of(self.metric, answers[kept], plain[kept], rows.take(kept), is_cross_fitted)

    def count_money(self, answers: Ints, plain: Ints, rows: Rows) -> Money:
        """What the answers cost, and what they save against simple answers."""
        if self.abstain_cost is None:  # nobody knows the cost of no answer: the money is that of answered rows
            kept = answers != NO_ANSWER
            rows, plain, answers = rows.take(kept), plain[kept], answers[kept]
        costs = rows.costs
        assert costs is not None
        others = {LARGEST + (" within the budget" if self.budget else ""): costs.paid(rows.labels, plain)}
        caps = np.full(rows.n_classes, np.inf) if self.budget is None else self.budget.caps(len(rows), rows.n_classes)
        for index in np.flatnonzero(caps >= len(rows)):
            others[f"always {self.labels[index]!r}"] = costs.paid(rows.labels, np.full(len(rows), index))
        return Money.of(costs.paid(rows.labels, answers, self.abstain_cost), others, rows.weight, rows.groups)
