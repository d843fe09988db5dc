"""A network as a model: a module with offsets, and how to build one."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn

from metricfit._checks import check_option
from metricfit._description import check
from metricfit._typing import Floats
from metricfit.learners._linear_model import spread_columns
from metricfit.learners._parts import Parts, check_tensor, checked_numbers

MAX_LAYERS = 1000  # that a file may have


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

    def parts(self) -> Parts:
        """What a file keeps: the numbers of the module. A user's own module has to be passed again."""
        sizes = None if self.hidden_layer_sizes is None else list(self.hidden_layer_sizes)
        state = {f"module.{name}": tensor.contiguous().clone() for name, tensor in self.module.state_dict().items()}
        offsets = torch.from_numpy(self.offsets.copy())
        return Parts({"kind": "network", "hidden_layer_sizes": sizes}, {**state, "offsets": offsets})

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], module: nn.Module, n_classes: int) -> NetworkModel:
        """A user's own module with these numbers; a DamagedError if they are not its own."""
        offsets = checked_numbers(tensors.pop("offsets"), (n_classes,))
        own, given = module.state_dict(), {name.removeprefix("module."): tensor for name, tensor in tensors.items()}
        check(own.keys() == given.keys(), "the parts of the network do not fit `model`")
        for name, tensor in own.items():
            check_tensor(given[name], tensor.dtype, tensor.shape)
        module.load_state_dict(given)
        return cls(module.eval(), offsets)

    @classmethod
    def from_sizes(cls, tensors: dict[str, Tensor], sizes: Sequence[int], n_features: int, n_classes: int) -> NetworkModel:
        """A network from :func:`build_mlp`. It is built after its numbers are known to be there."""
        check(isinstance(sizes, list) and all(type(size) is int and size > 0 for size in sizes), "a layer has no size")
        check(len(sizes) <= MAX_LAYERS, f"it has {len(sizes):,} layers, at most {MAX_LAYERS:,} are read")
        widths = [n_features, *sizes, n_classes]
        for place, (n_in, n_out) in enumerate(pairwise(widths)):
            for name, shape in (("weight", (n_out, n_in)), ("bias", (n_out,))):
                check_tensor(tensors[f"module.{2 * place}.{name}"], torch.float32, shape)
        with torch.device("meta"):  # no memory, and no random numbers
            module = build_mlp(n_features, n_classes, tuple(sizes))
        offsets = checked_numbers(tensors.pop("offsets"), (n_classes,))
        module.load_state_dict({name.removeprefix("module."): tensor for name, tensor in tensors.items()}, assign=True)
        return cls(module.eval(), offsets, tuple(sizes))


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
