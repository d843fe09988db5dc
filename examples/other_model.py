"""Tune the decision of a model from another library: a random forest of scikit-learn that finds the digit eight.

    python examples/other_model.py

A quarter of the rows trains the forest, three eighths set the rule, and the rest evaluates it. A promise concerns many such
draws, so the script repeats this twenty times. It takes a few seconds.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import train_test_split

import metricfit as mf

DRAWS, LIMIT = 20, 0.8


def main() -> None:
    """The highest recall whose precision is promised to be at least 0.8, with a confidence of 0.9."""
    features, digits = load_digits(return_X_y=True)
    y = np.where(digits == 8, "eight", "other")
    scores = []
    for seed in range(DRAWS):
        train, rest, y_train, y_rest = train_test_split(features, y, test_size=0.75, stratify=y, random_state=seed)
        tune, test, y_tune, y_test = train_test_split(rest, y_rest, test_size=0.5, stratify=y_rest, random_state=seed)
        forest = RandomForestClassifier(n_estimators=50, max_depth=5, random_state=seed).fit(train, y_train)
        rule = mf.DecisionRule("recall", subject_to=f"precision >= {LIMIT}", confidence=0.9, classes=list(forest.classes_))
        rule.fit(forest.predict_proba(tune), y_tune)
        if seed == 0:
            print(rule.summary(), end="\n\n")
        if rule.attainable_:
            answers = forest.predict(test), rule.predict(forest.predict_proba(test))
            scores.append([[one(y_test, a, pos_label="eight") for one in (precision_score, recall_score)] for a in answers])
    table = np.array(scores)  # (draws, forest or rule, precision or recall)
    print(f"{len(table)} of {DRAWS} draws       precision  recall  precision >= {LIMIT}")
    for name, one in zip(("largest probability", "rule"), table.transpose(1, 0, 2), strict=True):
        print(f"{name:22}{one[:, 0].mean():9.3f}{one[:, 1].mean():8.3f}{(one[:, 0] >= LIMIT).mean():14.0%}")


if __name__ == "__main__":
    main()
