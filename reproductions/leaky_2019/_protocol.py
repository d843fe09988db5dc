"""What Section 3.2 says of all its networks: the losses, Xavier's initialisation, Adam, and the error that is counted."""

from __future__ import annotations

from collections.abc import Callable

import torch
from lightning_fabric import Fabric
from torch import nn

import metricfit as mf
from metricfit.training import Trainer
from reproductions._training import Rows, accuracy, cpu_fabric

ALPHA = 0.1  # Eq. (6)

LOSSES: dict[str, Callable[[], nn.Module]] = {
    "NegLog": nn.CrossEntropyLoss,
    "EErr": mf.ExpectedErrorLoss,
    "LEErr": lambda: mf.LeakyExpectedErrorLoss(alpha=ALPHA),
}


def by_xavier(module: nn.Module) -> nn.Module:
    """Weights uniform as Glorot and Bengio advise; biases, of which the paper says nothing, zero; normalisations unchanged."""
    for part in module.modules():
        for parameter in () if isinstance(part, nn.BatchNorm2d) else part.parameters(recurse=False):
            if parameter.ndim > 1:
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)
    return module


def adam(module: nn.Module, method: str, rate: float, fabric: Fabric | None = None) -> Trainer:
    """A trainer that looks at the accuracy after every epoch; on the CPU if there is no ``fabric``."""
    optimizer = torch.optim.Adam(module.parameters(), lr=rate, fused=True)
    return Trainer(module, LOSSES[method](), optimizer, fabric=fabric or cpu_fabric())


def error(trainer: Trainer, rows: Rows) -> float:
    """Share of wrong classes, in percent."""
    return 100.0 - accuracy(trainer, rows)
