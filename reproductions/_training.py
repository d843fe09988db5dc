"""Helpers that the papers' training code shares."""

from __future__ import annotations

from lightning_fabric import Fabric
from torch import Tensor

from metricfit.training import HeldOut, Trainer
from reproductions._experiment import Scope

Rows = tuple[Tensor, Tensor]  # features and labels


def cpu_fabric() -> Fabric:
    """A Fabric on one CPU device, so that results do not depend on the machine's GPUs."""
    return Fabric(accelerator="cpu", devices=1)


def fabric_for(scope: Scope) -> Fabric:
    """One CPU device, or for an experiment of the paper's size the best device of the machine."""
    return Fabric(devices=1) if scope.full else cpu_fabric()


def in_batches(rows: Rows, size: int = 500) -> list[Rows]:
    """The same rows in several parts, for a trainer that scores one part at a time.

    >>> import torch
    >>> [len(labels) for _, labels in in_batches((torch.zeros(5, 1), torch.zeros(5)), 2)]
    [2, 2, 1]
    """
    features, labels = rows
    return list(zip(features.split(size), labels.split(size), strict=True))


def accuracy(trainer: Trainer, held_out: HeldOut) -> float:
    """Accuracy in percent."""
    scores, labels = trainer.scores_and_labels(held_out)
    return 100.0 * (scores.argmax(1) == labels).double().mean().item()
