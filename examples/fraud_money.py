"""Fraud in money: decide on each payment by its cost, then with a team that can review fifty payments.

    python examples/fraud_money.py

The payments are simulated. Half of them set the rules, and the other half evaluates them.
"""

from __future__ import annotations

import numpy as np

import metricfit as mf

REVIEW = 25.0  # the cost of reviewing a payment that was fine


def main() -> None:
    random = np.random.default_rng(0)
    fraud = random.random(4000) < 0.1
    score = 1.2 * random.normal(size=4000) + 3.2 * fraud - 3.2  # the logit of a classifier
    amount = random.lognormal(4.0, 1.2, 4000)
    y = np.where(fraud, "fraud", "ok")
    tune, test = np.arange(4000) < 2000, np.arange(4000) >= 2000
    cost = mf.metrics.Cost({("fraud", "ok"): "amount", ("ok", "fraud"): REVIEW})
    rules = {
        "f1": mf.DecisionRule("f1", kind="logit"),
        "cost of each row": mf.DecisionRule(cost, kind="logit"),
        "the same, 50 reviews": mf.DecisionRule(cost, kind="logit", budget={"fraud": 50}),
    }
    print(f"{'rule':22}{'reviews':>8}{'cost':>10}")
    for name, rule in rules.items():
        is_money = rule.metric is cost
        costs, new_costs = ({"amount": amount[rows]} if is_money else None for rows in (tune, test))
        answers = rule.fit(score[tune], y[tune], costs=costs).predict(score[test], costs=new_costs)
        missed, reviewed = (y[test] == "fraud") & (answers == "ok"), (y[test] == "ok") & (answers == "fraud")
        total = amount[test][missed].sum() + REVIEW * reviewed.sum()
        print(f"{name:22}{(answers == 'fraud').sum():8,}{total:10,.0f}")


if __name__ == "__main__":
    main()
