"""A training that can be resumed: ``python -m campaign._training FOLDER`` saves a checkpoint every seven steps."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import nn

import metricfit as mf
from metricfit._files import new_file
from metricfit.training import Batches, Trainer

N_EPOCHS = 30
CHECKPOINT, WEIGHTS = "checkpoint", "weights.npy"


def train(folder: Path) -> None:
    """Train, from the last checkpoint if there is one, and write the weights."""
    torch.manual_seed(0)
    x = torch.randn(600, 8)
    y = (x[:, 0] + 0.5 * torch.randn(600) > 0.5).long()
    module = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    fabric = Fabric(accelerator="cpu", devices=1)
    trainer = Trainer(module, mf.MetricLoss("f1"), optimizer, metric="f1", fabric=fabric)
    batches = Batches(x, y, size=64, seed=1)
    checkpoint = folder / CHECKPOINT
    if checkpoint.exists():
        trainer.load(checkpoint, batches)
    trainer.fit(batches, (x, y), epochs=N_EPOCHS, checkpoint=checkpoint, checkpoint_every=7)
    with new_file(folder / WEIGHTS) as file, file.open("wb") as stream:
        np.save(stream, np.concatenate([weight.detach().numpy().ravel() for weight in module.parameters()]))


if __name__ == "__main__":
    train(Path(sys.argv[1]))
