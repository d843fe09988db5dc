"""Costs per row: how much money does ``DecisionRule`` save on real tables, compared with empulse and with one threshold?

    python -m benchmarks.row_costs [--splits 10] [--out benchmarks/results]      # needs `pip install empulse`

empulse ships four tables with costs for each row: customers who leave a TV service, a bank's telephone campaign, and two of
credits. 60 % of the rows train gradient boosted trees of scikit-learn. Their out-of-fold scores set every decision, and the
trees that are fitted to all of these rows score the others. A cell is the cost of 1,000 test rows. The differences are means
over splits, with the corrected interval of Nadeau and Bengio, since the splits share rows.

- largest probability; always the cheaper class
- one threshold: the one of least cost on the out-of-fold scores, every one tried
- empulse: ``CSThresholdClassifier``, which calibrates by a sigmoid (its default) or isotonic regression
- rule: ``DecisionRule(Cost(...)).fit(scores, y, costs=frame)``
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, cross_val_predict

import metricfit as mf
from benchmarks._script import new_parser, write_page, written_by
from reproductions._claims import mean_with_interval

TRAIN = 0.6
COST = mf.metrics.Cost({(1, 1): "tp", (1, 0): "fn", (0, 1): "fp", (0, 0): "tn"})
METHODS = ("largest probability", "always one class", "one threshold", "empulse, sigmoid", "empulse, isotonic", "rule")
Costs = Any  # a data frame with the columns tp, fn, fp, tn


def tables() -> dict[str, tuple[np.ndarray, list[bool], np.ndarray, Costs]]:
    """Features, which of them are categories, labels and costs; the constants are those of empulse's documentation."""
    from empulse import datasets

    found = {}
    for name, load in {
        "churn (TV)": datasets.load_churn_tv_subscriptions,
        "telephone campaign": datasets.load_upsell_bank_telemarketing,
        "credits (PAKDD)": datasets.load_credit_scoring_pakdd,
        "credits (VUB)": datasets.load_vub_credit_scoring,
    }.items():
        table = load(backend="pandas")
        given, n = dict(table.instance_costs), len(table.target)
        if "balance" in given:
            worth = np.maximum(1.0, np.asarray(given["balance"]) * 0.25 * 0.02463333)
            given = {"tp_cost": np.ones(n), "fp_cost": np.ones(n), "fn_cost": worth}
        if "cl" in given:
            given = {"fp_cost": given["fp_cost"], "fn_cost": 0.75 * np.asarray(given["cl"])}
        costs = pd.DataFrame(
            {key: np.zeros(n) + np.asarray(given.get(f"{key}_cost", 0.0)) for key in ("tp", "fn", "fp", "tn")}
        )
        is_text = [column.dtype.kind not in "iufb" for _, column in table.data.items()]
        features = np.stack(
            [
                np.minimum(pd.factorize(column)[0], 253) if text else column.to_numpy(float)
                for (_, column), text in zip(table.data.items(), is_text, strict=True)
            ],
            1,
        )
        found[name] = features.astype(float), is_text, np.asarray(table.target).astype(int), costs
    return found


def paid(y: np.ndarray, answers: np.ndarray, costs: Costs) -> np.ndarray:
    cells = costs[["tn", "fp", "fn", "tp"]].to_numpy()
    return cells[np.arange(len(y)), 2 * y + answers]


def best_threshold(p: np.ndarray, y: np.ndarray, costs: Costs) -> float:
    """The threshold of least cost on these rows: the cost of all thresholds is a running sum."""
    order = np.argsort(-p)
    change = (paid(y, np.ones_like(y), costs) - paid(y, np.zeros_like(y), costs))[order]
    total, ranked = np.append(0.0, np.cumsum(change)), p[order]
    is_cut = np.append(True, np.append(ranked[1:] != ranked[:-1], True))
    best = int(np.where(is_cut, total, np.inf).argmin())
    ends = np.concatenate([[np.inf], ranked, [-np.inf]])
    return float(np.clip(0.5 * (ends[best] + ends[best + 1]), -1.0, 2.0))


def split_costs(features: np.ndarray, is_text: list[bool], y: np.ndarray, costs: Costs, seed: int) -> list[float]:
    """The cost of 1,000 test rows, by every method."""
    from empulse.models import CSThresholdClassifier

    train, test = next(StratifiedShuffleSplit(1, train_size=TRAIN, random_state=seed).split(features, y))
    trees: Any = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.05, categorical_features=is_text, random_state=seed
    )
    x, x_test, own, others = features[train], features[test], costs.iloc[train], costs.iloc[test]
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    scores = cross_val_predict(trees, x, y[train], cv=folds, method="predict_proba")[:, 1]
    p = trees.fit(x, y[train]).predict_proba(x_test)[:, 1]
    rule = mf.DecisionRule(COST, kind="probability").fit(scores, y[train], costs=own)
    always = int(
        own["tp"][y[train] == 1].sum() + own["fp"][y[train] == 0].sum()
        < own["fn"][y[train] == 1].sum() + own["tn"][y[train] == 0].sum()
    )
    answers = [p > 0.5, np.full(len(test), always), p > best_threshold(scores, y[train], own)]
    for calibrator in ("sigmoid", "isotonic"):
        peer = CSThresholdClassifier(trees, calibrator=calibrator, random_state=seed)
        peer.fit(x, y[train], **by_name(own))  # it calibrates only if it gets costs here
        answers.append(peer.predict(x_test, **by_name(others)))
    answers.append(rule.predict(p, costs=others))
    return [1000.0 * paid(y[test], np.asarray(one).astype(int), others).mean() for one in answers]


def by_name(costs: Costs) -> dict[str, np.ndarray]:
    return {f"{key}_cost": costs[key].to_numpy() for key in costs}


def interval(differences: np.ndarray, test: float = 1.0 - TRAIN) -> str:
    """The mean of differences over splits that share rows, and its interval; ``test`` is the share of test rows."""
    return mean_with_interval(differences.tolist(), test / (1.0 - test))


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| table | rows | " + " | ".join(METHODS) + " |", "|---|---:|" + "---:|" * len(METHODS)]
    more = [
        "| table | rule less one threshold | rule less empulse, sigmoid | rule less empulse, isotonic |",
        "|---|---|---|---|",
    ]
    for name, (features, is_text, y, costs) in tables().items():
        found = np.array([split_costs(features, is_text, y, costs, seed) for seed in range(options.splits)])
        lines.append(f"| {name} | {len(y):,} | " + " | ".join(f"{value:,.2f}" for value in found.mean(0)) + " |")
        cells = " | ".join(interval(found[:, -1] - found[:, METHODS.index(other)]) for other in METHODS[2:5])
        more.append(f"| {name} | {cells} |")
        print(lines[-1], more[-1], sep="\n", flush=True)
    about = f"{written_by()} Cost of 1,000 test rows, mean of {options.splits} splits; less is better."
    differences = "Differences, negative where the rule is cheaper:"
    text = "\n".join(["# Costs per row", "", about, "", *lines, "", differences, "", *more])
    write_page(options.out, "row_costs.md", text)


if __name__ == "__main__":
    main()
