"""
An ordinal rating
=================

Where classes are ordered, a miss by one step is better than a miss by three. Quadratic kappa counts squared distances. Offsets
that are tuned for it make fewer large mistakes and more small ones than the most probable class does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix
from sklearn.model_selection import cross_val_predict

import metricfit as mf

# %%
# The progression of diabetes after a year, in five grades. Most patients are in the lower grades.

X, progression = load_diabetes(return_X_y=True)
grades = np.digitize(progression, np.quantile(progression, [0.35, 0.6, 0.8, 0.93]))
forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
scores = cross_val_predict(forest, X, grades, cv=10, method="predict_proba")

# %%
# Each row is scored by a forest that has not seen it. ``predicted_`` has the answers for the same rows, each decided by offsets of
# the other rows. :class:`~metricfit.OffsetClassifier` wraps both steps into one estimator.

plain = scores.argmax(1)
rule = mf.DecisionRule("quadratic_kappa", classes=list(range(5))).fit(scores, grades)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, name, answers in zip(axes, ("Most probable grade", "Tuned for quadratic kappa"), (plain, rule.predicted_), strict=True):
    matrix = confusion_matrix(grades, answers)
    ax.imshow(matrix, cmap="Blues")
    for (i, j), count in np.ndenumerate(matrix):
        ax.text(j, i, count, ha="center", va="center", color="w" if count > matrix.max() / 2 else "k")
    kappa = cohen_kappa_score(grades, answers, weights="quadratic")
    ax.set(title=f"{name}\nkappa {kappa:.2f}, accuracy {accuracy_score(grades, answers):.2f}")
    ax.set(xlabel="predicted grade", ylabel="true grade")
plt.show()
