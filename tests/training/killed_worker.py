"""A training with dropout, annealing and checkpoints in the middle of epochs, which the test kills."""

from pathlib import Path

import torch
from lightning_fabric import Fabric
from torch import nn

import metricfit as mf
from metricfit.training import Batches, Trainer, anneal


def train(folder):
    """Train, from the last checkpoint if there is one, and save the weights."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.randn(200, 6)
    y = (x[:, 0] + 0.8 * torch.randn(200) > 0.5).long()
    module = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(module.parameters(), lr=3e-2)
    fabric = Fabric(accelerator="cpu", devices=1)
    trainer = Trainer(module, mf.EastLoss("f1_macro"), optimizer, metric="f1_macro", fabric=fabric)
    batches, file = Batches(x, y, size=20, seed=1), Path(folder, "checkpoint")
    if file.exists():
        trainer.load(file, batches)
    options = {"patience": 1, "give_up_after": 40, "epochs": 40, "rate": 0.8}
    anneal(trainer, batches, (x, y), **options, checkpoint=file, checkpoint_every=13)
    state = {**module.state_dict(), "temperatures": torch.tensor([row["scale"] for row in trainer.history])}
    torch.save(state, Path(folder, "weights"))
