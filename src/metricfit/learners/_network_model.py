"""A network as a model: a module with offsets, and how to build one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn

from metricfit._checks import check_option
from metricfit._description import check, check_tensor
from metricfit._typing import Floats
from metricfit.learners._linear_model import spread_columns

if TYPE_CHECKING:
    from metricfit.learners._restore import Restorer


@dataclass(frozen=True)
class NetworkModel:
    """A module, and one offset per class for the decision."""

    module: nn.Module
    offsets: Floats
    hidden_layer_sizes: tuple[int, ...] | None = None  # of a module from `build_mlp`; None for a user's own

    def logits(self, features: Any) -> Floats:
        """Scores (n, k) in evaluation mode, by blocks of rows.

        Those of a module from `build_mlp` are computed in double precision, so that a row has the same score alone and among
        others up to 1e-13. A user's module computes in its own precision.
        """
        own = self.hidden_layer_sizes is None
        module = self.module.eval() if own else self._double_module
        with torch.no_grad():
            found = [module(block if own else block.double()) for block in _blocks(features)]
        scores = [one[0] if isinstance(one, tuple) else one for one in found]  # mu; sigma is for training alone
        return np.concatenate([spread_columns(one.double().numpy()) for one in scores])

    @cached_property
    def _double_module(self) -> nn.Module:
        return copy.deepcopy(self.module).double().eval()

    def with_offsets(self, offsets: Floats) -> NetworkModel:
        return replace(self, offsets=offsets)

    def to_plain(self) -> dict[str, Any]:
        """The numbers of the module. A user's own module has to be passed again."""
        sizes = None if self.hidden_layer_sizes is None else list(self.hidden_layer_sizes)
        module = dict(self.module.state_dict())
        return {"kind": "network", "hidden_layer_sizes": sizes, "module": module, "offsets": self.offsets}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], to: Restorer) -> NetworkModel:
        """A network from :func:`build_mlp`, or the user's own module, with these numbers."""
        sizes, numbers = plain["hidden_layer_sizes"], plain["module"]
        if sizes is None:
            module = build_module(to.given_network(), to.width, to.n_classes, ())
        else:
            check(len(numbers) == 2 * len(sizes) + 2, "layers of the network are missing")
            with torch.device("meta"):  # no memory, and no random numbers
                module = build_mlp(to.width, to.n_classes, tuple(sizes))
        expected = module.state_dict()
        check(expected.keys() == numbers.keys(), "the parts of the network do not fit `model`")
        for name, tensor in expected.items():
            check_tensor(numbers[name], str(tensor.dtype).removeprefix("torch."), tensor.shape, finite=sizes is not None)
        module.load_state_dict(numbers, assign=sizes is not None)
        return cls(module.eval(), to.offsets(plain), None if sizes is None else tuple(sizes))


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
