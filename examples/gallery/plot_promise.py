"""
A constraint and its promise
============================

"The highest recall with a precision of at least 0.8." A threshold that just meets the limit on your rows misses it on
new rows about half of the time. With ``confidence`` the rule stays far enough from the limit to keep it in the
population, and it refuses if the sample is too small to promise anything.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricfit as mf

LIMIT = 0.8


def draw(rng, n):
    """Labels and probabilities: 15 % are positive, and the probabilities are calibrated."""
    y = rng.random(n) < 0.15
    return y, 1 / (1 + np.exp(-np.log(0.15 / 0.85) - 2.2 * (rng.normal(size=n) + 2.2 * y) + 2.42))


population_y, population = draw(np.random.default_rng(1), 500_000)


def true_precision(threshold):
    chosen = population > threshold
    return population_y[chosen].mean() if chosen.any() else np.nan


# %%
# For each of a hundred samples of 800 rows we fit a rule without and a rule with a promise, and look up the precision
# of its threshold in the population.

found = {None: [], 0.9: []}
for seed in range(100):
    y, p = draw(np.random.default_rng(100 + seed), 800)
    for confidence, precisions in found.items():
        rule = mf.DecisionRule("recall", subject_to=f"precision >= {LIMIT}", confidence=confidence).fit(p, y)
        if rule.attainable_:
            precisions.append(true_precision(rule.threshold_))

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharex=True, sharey=True, layout="constrained")
for ax, (confidence, precisions) in zip(axes, found.items(), strict=True):
    precisions = np.array(precisions)
    kept = (precisions >= LIMIT).mean()
    bins = np.linspace(0.66, 0.96, 31)
    ax.hist(precisions[precisions >= LIMIT], bins, color="C0", label="limit kept")
    ax.hist(precisions[precisions < LIMIT], bins, color="C1", label="limit missed")
    ax.axvline(LIMIT, color="k", linestyle=":")
    name = "without a promise" if confidence is None else f"confidence={confidence}"
    ax.set(title=f"{name}: kept by {kept:.0%} of {len(precisions)} rules", xlabel="precision in the population")
axes[0].set(ylabel="rules")
axes[0].legend()
plt.show()
