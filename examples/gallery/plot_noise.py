"""
What noise does to scores
=========================

Accuracy jumps when one score overtakes another, so its gradient is zero almost everywhere. A smoothing adds noise to
the scores and asks how often each class wins. The answer changes smoothly, and needs no sampling.
"""

import matplotlib.pyplot as plt
import torch

import metricfit as mf

# %%
# Three classes with scores 2, 1.2 and 0. Without noise the first class always wins. The wider the noise, the closer
# the three probabilities come to one third.

scores = torch.tensor([[2.0, 1.2, 0.0]])
widths = torch.logspace(-1.5, 1.5, 60)
wins = torch.cat([mf.smoothing.Normal(float(width)).assign(scores) for width in widths])

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for label, column in enumerate(wins.T):
    ax.semilogx(widths, column, label=f"class {label}, score {scores[0, label]:g}")
ax.axhline(1 / 3, color="0.6", linestyle=":")
ax.set(title="Normal noise on three scores", xlabel="scale of the noise", ylabel="probability to win")
ax.legend()
plt.show()

# %%
# For two classes only the lead of the label matters. Narrow noise follows accuracy closely but has a gradient only near
# zero. Wide noise has a gradient everywhere but is a worse approximation. That is why EXACT and EAST start wide and end
# narrow.

leads = torch.linspace(-4, 4, 401)
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
pairs, labels = mf.binary_scores(leads), torch.ones(401, dtype=torch.long)
for smoothing in (
    mf.smoothing.Normal(0.1),
    mf.smoothing.Normal(1.0),
    mf.smoothing.Normal(3.0),
    mf.smoothing.Softmax(1.0),
    mf.smoothing.SoftSet(0.2),
):
    style = "-" if isinstance(smoothing, mf.smoothing.Normal) else "--"
    ax.plot(leads, smoothing.label_probability(pairs, labels), style, label=str(smoothing))
ax.set(title="Five smoothings of two classes", xlabel="lead of the label", ylabel="probability to win")
ax.legend(fontsize=8)
plt.show()
