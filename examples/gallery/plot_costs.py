"""
Costs by name
=============

A missed tumour is worse than a false alarm. Write down what each mistake costs, by the names of the classes, and let
the rule find the cheapest decision for the scores of any classifier.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import metricfit as mf

data = load_breast_cancer()
X, y = data.data[:, :2], data.target_names[data.target]
probabilities = cross_val_predict(LogisticRegression(), X, y, method="predict_proba")  # columns: benign, malignant

# %%
# Keys are (true, predicted). Correct answers cost nothing. The order of the classes does not matter.

cost = mf.metrics.Cost({("malignant", "benign"): 20, ("benign", "malignant"): 1})
rule = mf.DecisionRule(cost, classes=["benign", "malignant"], pos_label="malignant").fit(probabilities, y)
print(rule.summary())

# %%
# Larger is better for every metric, so the rule reports minus the cost. The figure shows the cost itself with a 95 %
# interval. The shaded thresholds are not significantly worse than the best one.

curve = rule.curve_
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.axvspan(*curve.best, color="0.9", label="about as good as the best")
ax.plot(curve.threshold, -curve.metric, label="cost per case")
ax.fill_between(curve.threshold, -curve.high, -curve.low, alpha=0.2)
ax.axvline(rule.threshold_, color="C1", label=f"chosen threshold {rule.threshold_:.3f}")
ax.axvline(0.5, color="0.4", linestyle=":", label="one half")
ax.set(title="A missed tumour costs 20, a false alarm 1", xlabel="threshold on P(malignant)", ylabel="cost per case")
ax.set(ylim=(0, 4), xlim=(0, 0.8))
ax.legend()
plt.show()
