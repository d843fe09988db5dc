"""
Comparing models on your metric
===============================

:func:`metricfit.compare` cross-validates models on the same splits and tests the paired differences. The intervals
account for overlapping training sets and for the number of comparisons, so they are wider than a plain standard
error.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

import metricfit as mf

data = load_breast_cancer()
X, y = data.data[:, :10], data.target_names[data.target]
found = mf.compare(
    X, y, "mcc", models={"naive Bayes": GaussianNB()}, methods=["cross_entropy", "auto"], n_repeats=1, random_state=0
)
print(found.verdict.headline)

# %%
# If an interval excludes zero, the difference is significant. The reference is a logistic regression with a tuned
# threshold.

rows = [(name, result) for name, result in found.results.items() if "trivial" not in name and name != "linear, threshold"]
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for index, (_, result) in enumerate(rows):
    difference = result.difference
    ax.plot([difference.low, difference.high], [index, index], color="C0", linewidth=2)
    ax.plot(np.mean(result.scores) - np.mean(found.results["linear, threshold"].scores), index, "o", color="C0")
ax.axvline(0, color="0.4", linestyle=":")
ax.set(yticks=range(len(rows)), yticklabels=[name for name, _ in rows], ylim=(len(rows) - 0.5, -0.5))
ax.set(title="Breast cancer, ten columns", xlabel="difference in MCC to linear, threshold (95 % interval, corrected)")
plt.show()
