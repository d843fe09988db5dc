"""
An ordinal rating
=================

If classes are ordered, being off by one step is better than being off by three. Quadratic kappa penalises squared
distances. The most probable grade is almost always a common one. Offsets tuned for quadratic kappa use the whole
scale.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix

import metricfit as mf

# %%
# Five grades, drawn from a quality that six columns measure with noise. The extreme grades are rare.

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 6))
quality = X @ [0.8, 0.5, 0.4, 0.2, 0.1, 0.0] + rng.normal(size=6000)
grades = np.digitize(quality, [-2.2, -1.1, 1.1, 2.2])
model = LogisticRegression(C=0.1).fit(X[:2000], grades[:2000])

# %%
# The next 2,000 rows tune the offsets, and the last 2,000 evaluate both decisions. The rows of a matrix are true grades.

rule = mf.DecisionRule("quadratic_kappa").fit(model.predict_proba(X[2000:4000]), grades[2000:4000])
test, truth = model.predict_proba(X[4000:]), grades[4000:]
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, name, answers in zip(
    axes, ("Most probable grade", "Tuned for quadratic kappa"), (test.argmax(1), rule.predict(test)), strict=True
):
    matrix = confusion_matrix(truth, answers)
    ax.imshow(np.sqrt(matrix), cmap="Blues")
    for (i, j), count in np.ndenumerate(matrix):
        ax.text(j, i, count, ha="center", va="center", color="w" if count > matrix.max() / 3 else "k")
    kappa = cohen_kappa_score(truth, answers, weights="quadratic")
    ax.set(title=f"{name}\nkappa {kappa:.2f}, accuracy {accuracy_score(truth, answers):.2f}")
    ax.set(xlabel="predicted grade", ylabel="true grade")
plt.show()
