"""Answers by what they are worth in each row: fitted, judged on rows that did not set them, and kept in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from metricfit._typing import Floats, Ints
from metricfit.decisions._abstain import Abstention, Bools, fit_threshold
from metricfit.decisions._budget import Budget
from metricfit.decisions._intervals import Judgement
from metricfit.decisions._row_costs import Money, RowCosts
from metricfit.decisions._solve import START_ROWS, Rows, rank_in_class
from metricfit.decisions._values import Calibration, ExpectedCost, WeightedProbability
from metricfit.metrics import Metric

LARGEST = "the most probable class"
NO_ANSWER = -1
Costs = RowCosts | None


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
        parts = {"worth": self.worth, "budget": self.budget, "abstention": self.abstention}
        return {name: None if part is None else part.to_plain() for name, part in parts.items()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        kind = ExpectedCost if plain["worth"]["kind"] == "cost" else WeightedProbability
        return cls(
            kind.from_plain(plain["worth"]),
            Budget.from_plain(plain["budget"]) if plain["budget"] else None,
            Abstention.from_plain(plain["abstention"]) if plain["abstention"] else None,
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

    def fit(self, rows: Rows, costs: Costs) -> Actions:
        tuning, others = self._split(rows)
        actions = Actions(self._worth(rows.take(tuning), take_costs(costs, tuning)), self.budget)
        if self.abstain_cost is not None:
            return replace(actions, abstention=Abstention(self.abstain_cost, costs is not None))
        if self.error_limit is None:
            return actions
        rows, costs = rows.take(others), take_costs(costs, others)
        answers = actions.answers(rows.scores, costs)
        risk, is_wrong = actions.risk(rows.scores, costs, answers), answers != rows.labels
        threshold, refusal = fit_threshold(risk, is_wrong, rows.weight, self.error_limit, self.confidence, bool(tuning.any()))
        return replace(actions, abstention=Abstention(threshold), refusal=refusal)

    def _worth(self, rows: Rows, costs: Costs) -> ExpectedCost | WeightedProbability:
        if not len(rows):  # the probabilities are those of the model, and the largest is the answer
            return WeightedProbability(Calibration(1.0, np.zeros(rows.n_classes)), np.ones(rows.n_classes))
        if costs is not None:
            return ExpectedCost.fit(rows, costs)
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

    def cross_fit(self, actions: Actions, rows: Rows, costs: Costs) -> tuple[Ints, bool]:
        """Answers to the rows by actions that were fitted to other rows, and whether there are enough rows for that."""
        fitted = [(part, self.fit(rows.take(~part), take_costs(costs, ~part))) for part in rows.folds()]
        if not fitted or any(other.refusal for _, other in fitted):
            return actions.answers(rows.scores, costs), False
        values, answers = np.empty(rows.scores.shape), np.empty(len(rows), np.int64)
        for part, other in fitted:
            own = rows.scores[part], take_costs(costs, part)
            values[part], answers[part] = other.values(*own), other.answers(*own)
        return (answers if self.budget is None else actions.best(values)), True

    def judge(self, answers: Ints, plain: Ints, rows: Rows, is_cross_fitted: bool) -> Judgement:
        """The metric of the rows with an answer, and that of plain answers to them."""
        kept = answers != NO_ANSWER
        known = rows.labels[kept], rows.weight[kept], rows.n_classes, None if rows.groups is None else rows.groups[kept]
        return Judgement.of(self.metric, answers[kept], plain[kept], *known, is_cross_fitted)

    def count_money(self, answers: Ints, plain: Ints, rows: Rows, costs: RowCosts) -> Money:
        """What the answers cost, and what they save against simple answers."""
        if self.abstain_cost is None:  # nobody knows the cost of no answer: the money is that of answered rows
            kept = answers != NO_ANSWER
            rows, costs, plain, answers = rows.take(kept), costs.take(kept), plain[kept], answers[kept]
        others = {LARGEST + (" within the budget" if self.budget else ""): costs.paid(rows.labels, plain)}
        caps = np.full(rows.n_classes, np.inf) if self.budget is None else self.budget.caps(len(rows), rows.n_classes)
        for index in np.flatnonzero(caps >= len(rows)):
            others[f"always {self.labels[index]!r}"] = costs.paid(rows.labels, np.full(len(rows), index))
        return Money.of(costs.paid(rows.labels, answers, self.abstain_cost), others, rows.weight, rows.groups)


def take_costs(costs: Costs, index: Bools) -> Costs:
    return None if costs is None else costs.take(index)
