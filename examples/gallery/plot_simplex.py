"""
Offsets of three classes
========================

With two classes, a decision is a threshold. With three, it divides a triangle: every point is a vector of
probabilities, and each corner is a class. Predicting the largest probability gives three equal regions. Offsets move
the borders.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

import metricfit as mf

# %%
# The third class is rare, and logistic regression seldom gives it the largest probability.

X, y = make_classification(
    6000, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, weights=[0.62, 0.32], class_sep=0.8, random_state=4
)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = LogisticRegression().fit(X[:2000], y[:2000])
offsets = mf.tune_offsets(model.predict_proba(X[2000:]), y[2000:], "f1_macro")
test = model.predict_proba(X_test)

# %%
# ``mf.decide`` adds the offsets to the log-probabilities and takes the largest sum. Applied to a fine grid of
# probabilities, it draws the regions.


def corners(p):
    """Barycentric coordinates to the plane."""
    return p @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


steps = np.linspace(0.002, 0.996, 220)
grid = np.array([(a, b, 1 - a - b) for a in steps for b in steps if a + b < 0.998])
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for ax, title, shift in zip(axes, ("Largest probability", "Offsets for macro F1"), (np.zeros(3), offsets), strict=True):
    regions = mf.decide(grid, shift, kind="probability")
    ax.scatter(*corners(grid).T, c=[f"C{label}" for label in regions], s=3, alpha=0.13, linewidths=0)
    for label in range(3):
        rows = corners(test[y_test == label])[:250]
        ax.scatter(*rows.T, s=7, color=f"C{label}", label=f"class {label}", alpha=0.8)
    score = f1_score(y_test, mf.decide(test, shift, kind="probability"), average="macro")
    ax.set(title=f"{title}: macro F1 {score:.3f}", aspect="equal")
    ax.axis("off")
axes[0].legend(loc="upper left", title="true class")
plt.show()
