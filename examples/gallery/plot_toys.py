"""
Two toys where losses disagree
==============================

The EXACT paper [1]_ opens with three points on a line and one parameter, a threshold. Cross-entropy and the hinge
loss put the threshold in the wrong place. A critique of the paper [2]_ answers that cross-entropy lacked a temperature:
with a learned weight it solves the toy. The second toy has an outlier, and no weight helps there.

The figure shows, for each threshold, the lowest loss that a line with this threshold can reach.
"""

import matplotlib.pyplot as plt
import torch

import metricfit as mf


def toy(x, labels):
    return torch.tensor(x), torch.tensor(labels)


FIRST = toy([-0.25, 0.0, 0.25], [0, 0, 1])
SECOND = toy([-6.0, -5.0, -4.0, 0.0, 2.0], [0, 1, 1, 0, 1])
LOSSES = {
    "cross-entropy": torch.nn.CrossEntropyLoss(reduction="none"),
    "hinge": mf.HingeLoss(reduction="none"),
    "expected error, scale 0.1": mf.ExactLoss(0.1, normalize_scores=False, reduction="none"),
}


def lowest(loss, data, thresholds, weights):
    """The lowest mean loss over the weights, for each threshold."""
    x, labels = data
    scores = weights[:, None, None] * (x - thresholds[:, None])  # (weights, thresholds, points)
    rows = loss(mf.binary_scores(scores.flatten()), labels.expand(scores.shape).flatten())
    return rows.view(scores.shape).mean(-1).amin(0)


# %%
# The shaded range has the best accuracy. A loss solves the toy if its minimum, the dot, lies inside.

fixed, free = torch.ones(1), torch.cat([-torch.logspace(4, -3, 300), torch.logspace(-3, 4, 300)])
panels = [
    ("Toy 1, weight fixed at 1", FIRST, fixed, (-1.0, 1.2), (0.0, 0.25)),
    ("Toy 1, learned weight", FIRST, free, (-1.0, 1.2), (0.0, 0.25)),
    ("Toy 2, learned weight", SECOND, free, (-12.0, 4.0), (-6.0, -5.0)),
]
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, (title, data, weights, limits, best) in zip(axes, panels, strict=True):
    thresholds = torch.linspace(*limits, 602)  # no threshold is exactly at a point
    ax.axvspan(*best, color="0.88", label="best accuracy")
    for name, loss in LOSSES.items():
        values = lowest(loss, data, thresholds, weights)
        values = values / values.max()
        (line,) = ax.plot(thresholds, values, label=name)
        lowest_range = thresholds[values < values.min() + 1e-3]  # a minimum may be flat
        ax.plot(lowest_range.mean(), values.min(), "o", color=line.get_color())
    x, labels = data
    for label, marker in ((0, "_"), (1, "+")):
        ax.plot(x[labels == label], torch.full(((labels == label).sum(),), -0.08), marker, color="k", markersize=9)
    ax.set(title=title, xlabel="threshold")
axes[0].set(ylabel="loss, divided by its largest value")
axes[0].legend(fontsize=8)
plt.show()

# %%
# ``make toys`` trains these lines and compares the thresholds with the published ones.
#
# .. [1] Karpukhin, Dereka and Kolesnikov, "EXACT: How to Train Your Accuracy", arXiv 2205.09615.
# .. [2] Su Jianlin, kexue.fm/archives/9098.
