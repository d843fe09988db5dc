"""
A rare class and small batches
==============================

F1 of a batch is not F1 of the data. With 2 % positives, most batches of 16 rows have no positive at all. ``memory``
keeps running counts, so each small batch is evaluated together with those before it.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.preprocessing import scale

import metricfit as mf

X, y = make_classification(12_000, 10, n_informative=6, weights=[0.985], flip_y=0.01, class_sep=1.2, random_state=1)
x, y = torch.tensor(scale(X), dtype=torch.float32), torch.tensor(y)

# %%
# First, the F1 of one fixed model on random batches. The mean over batches is far from the F1 of all rows unless the
# batches are large.

rng = np.random.default_rng(0)
answers = np.where(rng.random(len(y)) < 0.7, y, rng.random(len(y)) < 0.01)
whole = f1_score(y, answers)
sizes = (16, 64, 256, 1024, 4096)
spread = []
for size in sizes:
    batches = [rng.choice(len(y), size, replace=False) for _ in range(200)]
    spread.append([f1_score(y[rows], answers[rows], zero_division=0.0) for rows in batches])

# %%
# Next, we train with batches of 16 rows. After one epoch, both F1 losses reach the F1 that cross-entropy reaches after
# three. The memory makes little difference on this table. It matters if even the mean over many batches is misleading.


def train(loss, epochs=4):
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    trainer = mf.training.Trainer(network, loss, optimizer, metric="f1")
    history = trainer.fit(mf.training.Batches(x[:4000], y[:4000], size=16, seed=0), (x[4000:], y[4000:]), epochs=epochs)
    return [row["metric"] for row in history]


losses = {
    "cross-entropy": torch.nn.CrossEntropyLoss(),
    "F1 of the batch": mf.MetricLoss("f1"),
    "F1 with memory=0.99": mf.MetricLoss("f1", memory=0.99),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.boxplot(spread, tick_labels=sizes, showfliers=False)
left.axhline(whole, color="C1", label="all rows")
left.set(title="F1 of random batches", xlabel="rows in a batch", ylabel="F1")
left.legend()
for name, loss in losses.items():
    right.plot(range(1, 5), train(loss), "o-", label=name)
right.set(title="Training with batches of 16", xlabel="epoch", ylabel="F1 on held-out rows", xticks=range(1, 5))
right.legend()
plt.show()
