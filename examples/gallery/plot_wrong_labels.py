"""
Wrong labels
============

Cross-entropy punishes a confident wrong answer without limit, so a network spends its capacity on labels that are
wrong. Expected error is bounded. Its leaky form keeps a little cross-entropy to get started. This is the one setting
in which our experiments favour another loss for networks (:doc:`/evidence`).
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import metricfit as mf

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16.0, y, test_size=0.4, stratify=y, random_state=0)
X, X_test = (torch.tensor(part, dtype=torch.float32) for part in (X, X_test))
y, y_test = torch.tensor(y), torch.tensor(y_test)


def corrupt(labels, share, seed):
    """Replace a share of the labels by random ones."""
    random = torch.Generator().manual_seed(seed)
    wrong = torch.rand(len(labels), generator=random) < share
    return torch.where(wrong, torch.randint(10, labels.shape, generator=random), labels)


def accuracy(loss, share, seed):
    """Train on noisy labels, stop by noisy held-out rows, and return the accuracy on correct test labels."""
    torch.manual_seed(seed)
    noisy = corrupt(y, share, seed)
    network = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    trainer = mf.training.Trainer(network, loss, optimizer, metric="accuracy")
    batches = mf.training.Batches(X[:800], noisy[:800], size=100, seed=seed)
    trainer.fit(batches, (X[800:], noisy[800:]), epochs=30, patience=10)
    return (network(X_test).argmax(1) == y_test).float().mean().item()


# %%
# We train with three seeds for each share of wrong labels. Early stopping uses the accuracy on held-out rows, whose
# labels are as noisy as those of the training rows.

shares = (0.0, 0.2, 0.4, 0.6)
losses = {"cross-entropy": torch.nn.CrossEntropyLoss(), "leaky expected error": mf.LeakyExpectedErrorLoss(alpha=0.1)}
figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for name, loss in losses.items():
    scores = np.array([[accuracy(loss, share, seed) for seed in range(3)] for share in shares])
    (line,) = ax.plot(shares, scores.mean(1), "o-", label=name)
    ax.fill_between(shares, scores.min(1), scores.max(1), alpha=0.2, color=line.get_color())
ax.set(title="Digits with wrong training labels", xlabel="share of random labels", ylabel="accuracy on correct labels")
ax.legend()
plt.show()
