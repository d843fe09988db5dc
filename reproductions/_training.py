"""What the papers' trainings share."""

from __future__ import annotations

from lightning_fabric import Fabric
from torch import Tensor

from metricfit.training import Trainer

Rows = tuple[Tensor, Tensor]  # features and labels


def on_cpu() -> Fabric:
    """One device, the same on every machine."""
    return Fabric(accelerator="cpu", devices=1)


def kept_epoch(trainer: Trainer) -> int:
    """The epoch, counted from one, whose weights training went back to."""
    values = [(row["metric"], -row["surrogate"]) for row in trainer.history]
    return 1 + values.index(trainer.best_value)


def accuracy(trainer: Trainer, rows: Rows) -> float:
    """Share of right classes, in percent."""
    features, labels = rows
    return 100.0 * (trainer.scores(features).argmax(1) == labels).double().mean().item()
