"""Helpers that the papers' training code shares."""

from __future__ import annotations

from lightning_fabric import Fabric
from torch import Tensor

from metricfit.training import Trainer

Rows = tuple[Tensor, Tensor]  # features and labels


def cpu_fabric() -> Fabric:
    """A Fabric on one CPU device, so that results do not depend on the machine's GPUs."""
    return Fabric(accelerator="cpu", devices=1)


def best_epoch(trainer: Trainer) -> int:
    """The epoch, from 1, whose weights the trainer restored."""
    values = [(row["metric"], -row["surrogate"]) for row in trainer.history]
    return 1 + values.index(trainer.best_value)


def accuracy(trainer: Trainer, rows: Rows) -> float:
    """Accuracy in percent."""
    features, labels = rows
    return 100.0 * (trainer.scores(features).argmax(1) == labels).double().mean().item()
