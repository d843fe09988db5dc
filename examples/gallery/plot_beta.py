"""
A different beta for each class
===============================

F-beta weighs recall against precision. :class:`~metricfit.metrics.FBeta` takes one beta for each class, so you can
ask for high recall of one class and high precision of another. Here the three classes are wines, described by two
noisy measurements.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import cross_val_predict

import metricfit as mf

X, y = load_wine(return_X_y=True)
scores = cross_val_predict(LogisticRegression(max_iter=5000), X[:, [1, 2]], y, cv=10, method="predict_proba")

# %%
# Only the beta of class 1 changes. The other two classes keep beta 1.

betas = np.geomspace(0.2, 5, 13)
answers = [mf.decide(scores, mf.tune_offsets(scores, y, mf.metrics.FBeta([1.0, float(beta), 1.0]))) for beta in betas]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for ax, name, score in zip(axes, ("Precision", "Recall"), (precision_score, recall_score), strict=True):
    values = np.array([score(y, one, average=None, zero_division=0.0) for one in answers])
    for label in range(3):
        ax.semilogx(betas, values[:, label], "o-", markersize=4, label=f"class {label}")
    ax.set(title=name, xlabel="beta of class 1")
    ax.set_xticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
    ax.minorticks_off()
axes[0].legend()
plt.show()
