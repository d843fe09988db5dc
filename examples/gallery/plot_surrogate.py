"""
The surrogate and the metric during training
============================================

A loss stands in for the metric. Does it go down when the metric goes up? ``Trainer`` records both after every epoch.
Here 8 % of the rows are positive, and the metric is F1 on held-out rows.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import make_classification
from sklearn.preprocessing import scale

import metricfit as mf

X, y = make_classification(4000, 10, n_informative=5, weights=[0.93], flip_y=0.02, class_sep=0.9, random_state=0)
x, y = torch.tensor(scale(X), dtype=torch.float32), torch.tensor(y)
held_out = x[2000:], y[2000:]


def train(loss, epochs=40):
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    trainer = mf.training.Trainer(network, loss, optimizer, metric="f1")
    return trainer.fit(mf.training.Batches(x[:2000], y[:2000], size=250, seed=0), held_out, epochs=epochs)


histories = {
    "cross-entropy": train(torch.nn.CrossEntropyLoss()),
    'MetricLoss("f1")': train(mf.MetricLoss("f1")),
    'MetricLoss("f1", leak=0.1)': train(mf.MetricLoss("f1", leak=0.1)),
}

# %%
# Cross-entropy falls from the first step on, while F1 stays at zero until the network answers "positive" for the
# first time. The F1 losses move the decision early. Neither curve uses a tuned threshold; with one, cross-entropy
# catches up (:doc:`/start/choose`).

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for name, history in histories.items():
    surrogate = [row["surrogate"] for row in history]
    left.plot([value / surrogate[0] for value in surrogate], label=name)
    right.plot([row["metric"] for row in history], label=name)
left.set(title="Surrogate on training rows", xlabel="epoch", ylabel="loss, divided by its first value")
right.set(title="Metric on held-out rows", xlabel="epoch", ylabel="F1 without a tuned threshold")
right.legend()
plt.show()
