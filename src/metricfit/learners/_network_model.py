"""A network as a model: a module with offsets, and how to build one."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn

from metricfit._checks import check_option
from metricfit._typing import Floats
from metricfit.learners._linear_model import spread_columns
from metricfit.learners._parts import Parts


@dataclass(frozen=True)
class NetworkModel:
    """A module, and one offset per class for the decision."""

    module: nn.Module
    offsets: Floats
    hidden_layer_sizes: tuple[int, ...] | None = None  # of a module from `build_mlp`; None for a user's own

    def logits(self, features: Any) -> Floats:
        """Scores (n, k) in evaluation mode, by blocks of rows."""
        self.module.eval()
        with torch.no_grad():
            blocks = [spread_columns(self.module(block).double().numpy()) for block in _blocks(features)]
        return np.concatenate(blocks)

    def with_offsets(self, offsets: Floats) -> NetworkModel:
        return replace(self, offsets=offsets)

    def parts(self) -> Parts:
        """What a file keeps: the numbers of the module. A user's own module has to be passed again."""
        sizes = None if self.hidden_layer_sizes is None else list(self.hidden_layer_sizes)
        state = {f"module.{name}": tensor.contiguous().clone() for name, tensor in self.module.state_dict().items()}
        offsets = torch.from_numpy(self.offsets.copy())
        return Parts({"kind": "network", "hidden_layer_sizes": sizes}, {**state, "offsets": offsets})

    @classmethod
    def from_tensors(
        cls, tensors: dict[str, Tensor], module: nn.Module, hidden_layer_sizes: Sequence[int] | None
    ) -> NetworkModel:
        offsets = tensors.pop("offsets").numpy()
        module.load_state_dict({name.removeprefix("module."): tensor for name, tensor in tensors.items()})
        module.eval()
        return cls(module, offsets, None if hidden_layer_sizes is None else tuple(hidden_layer_sizes))


def build_mlp(n_features: int, n_classes: int, hidden_layer_sizes: tuple[int, ...]) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for width in hidden_layer_sizes:
        layers += [nn.Linear(n_features, width), nn.ReLU()]
        n_features = width
    return nn.Sequential(*layers, nn.Linear(n_features, n_classes))


def build_module(model: Any, n_features: int, n_classes: int, hidden_layer_sizes: tuple[int, ...]) -> nn.Module:
    """A fresh module from its name, a module to copy, or a function."""
    if isinstance(model, str):
        check_option(model, "model", ("linear", "mlp"))
        return build_mlp(n_features, n_classes, hidden_layer_sizes)
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
    """Features as a dense float32 tensor."""
    return torch.from_numpy(np.asarray(features.toarray() if issparse(features) else features, np.float32))
