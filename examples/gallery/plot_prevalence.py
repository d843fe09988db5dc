"""
A prevalence that changes
=========================

A threshold for F1 depends on how common the positive class is. If that changes in production, ``for_prevalence``
moves the threshold for a share that you know, and ``adapt`` estimates the share from new rows without labels. Nothing
is retrained.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score

import metricfit as mf

rng = np.random.default_rng(0)


def draw(n, share):
    """Probabilities of a classifier that was trained where 20 % are positive."""
    y = (rng.random(n) < share).astype(int)
    return y, 1 / (1 + np.exp(-(2 * (rng.normal(size=n) + 2 * y) - 2 + np.log(0.2 / 0.8))))


y, p = draw(5000, 0.2)
rule = mf.DecisionRule("f1").fit(p, y)

# %%
# The new data have other shares of positives. All three rules see the same rows.

shares = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5])
scores, thresholds = {"unchanged": [], "for_prevalence": [], "adapt": []}, []
for share in shares:
    new_y, new_p = draw(20_000, share)
    rules = {"unchanged": rule, "for_prevalence": rule.for_prevalence({1: share}), "adapt": rule.adapt(new_p[:4000])}
    for name, one in rules.items():
        scores[name].append(f1_score(new_y, one.predict(new_p)))
    thresholds.append(rules["for_prevalence"].threshold_)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for name, style in zip(scores, ("o-", "s-", "^--"), strict=True):
    left.semilogx(shares, scores[name], style, label=name)
left.axvline(0.2, color="0.5", linestyle=":", label="share in the fit")
left.set(title="F1 on new data", xlabel="share of positives", ylabel="F1")
left.legend()
right.semilogx(shares, thresholds, "s-", color="C1")
right.set(title="Threshold of for_prevalence", xlabel="share of positives", ylabel="threshold")
plt.show()

# %%
# The data in this figure satisfy the assumption of ``adapt``: within each class, the rows still look the same. If more
# than the shares has changed, it can make things worse (:doc:`/guide/decide`).
