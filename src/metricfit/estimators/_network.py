"""Networks as models: a module with offsets, and how to make one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from torch import Tensor, nn

from metricfit._checks import check_option
from metricfit.estimators._linear import spread

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Network:
    """A module, and one offset per class for the decision."""

    module: nn.Module
    offsets: Floats

    def logits(self, features: Any) -> Floats:
        """Scores (n, k) in evaluation mode, by blocks of rows."""
        self.module.eval()
        with torch.no_grad():
            blocks = [spread(self.module(block).double().numpy()) for block in _blocks(features)]
        return np.concatenate(blocks)


def multilayer(n_features: int, n_classes: int, hidden: tuple[int, ...]) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(n_features, width), nn.ReLU()]
        n_features = width
    return nn.Sequential(*layers, nn.Linear(n_features, n_classes))


def made(model: Any, n_features: int, n_classes: int, hidden: tuple[int, ...]) -> nn.Module:
    """A fresh module from its name, a module to copy, or a function."""
    if isinstance(model, str):
        check_option(model, "model", ("linear", "mlp"))
        return multilayer(n_features, n_classes, hidden)
    if isinstance(model, nn.Module):
        return copy.deepcopy(model)
    module = model(n_features, n_classes) if callable(model) else model
    if not isinstance(module, nn.Module):
        raise TypeError(f"`model` should be 'linear', 'mlp', an nn.Module or a function that returns one, got {module!r}.")
    return module


def _blocks(features: Any, size: int = 4096) -> Iterator[Tensor]:
    for start in range(0, features.shape[0], size):
        yield as_tensor(features[start : start + size])


def as_tensor(features: Any) -> Tensor:
    """Dense and single."""
    return torch.from_numpy(np.asarray(features.toarray() if issparse(features) else features, np.float32))
