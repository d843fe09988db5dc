"""What files keep of a model: a description as JSON holds it, tensors, and files in formats of their own.

A model inside another has its parts under a prefix: tensor ``1.0.offsets`` is that of model 0 inside model 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from metricfit._description import check
from metricfit._typing import Floats


@dataclass(frozen=True)
class Parts:
    """A model on its way to files; big ones are written by a function, one after the other."""

    description: dict[str, Any]
    tensors: dict[str, Tensor] = field(default_factory=dict)
    files: dict[str, Callable[[Path], None]] = field(default_factory=dict)

    def holding(self, models: Sequence[Any]) -> Parts:
        """With the parts of models inside."""
        inside = [model.parts() for model in models]
        tensors, files = dict(self.tensors), dict(self.files)
        for place, parts in enumerate(inside):
            tensors |= {f"{place}.{name}": tensor for name, tensor in parts.tensors.items()}
            files |= {f"{place}.{name}": write for name, write in parts.files.items()}
        return Parts({**self.description, "models": [parts.description for parts in inside]}, tensors, files)


@dataclass(frozen=True)
class Stored:
    """A model on its way back."""

    description: Mapping[str, Any]
    all_tensors: Mapping[str, Tensor]
    read: Callable[[str], bytes]  # a file, once it is known to be the one that was saved
    prefix: str = ""

    def tensor(self, name: str) -> Tensor:
        return self.all_tensors[self.prefix + name]

    @property
    def tensors(self) -> dict[str, Tensor]:
        """Its own and those of the models inside."""
        named = self.all_tensors.items()
        return {name.removeprefix(self.prefix): tensor for name, tensor in named if name.startswith(self.prefix)}

    def file(self, name: str) -> bytes:
        return self.read(self.prefix + name)

    def inside(self) -> list[Stored]:
        """The models inside, each with its own tensors: a file that names many models is not searched for each of them."""
        own = dict[str, dict[str, Tensor]]()
        for name, tensor in self.all_tensors.items():
            own.setdefault(name.removeprefix(self.prefix).split(".", 1)[0], {})[name] = tensor
        return [
            replace(self, description=one, all_tensors=own.get(str(place), {}), prefix=f"{self.prefix}{place}.")
            for place, one in enumerate(self.description["models"])
        ]


def checked_numbers(tensor: Tensor, shape: Sequence[int]) -> Floats:
    """Finite numbers of double precision in this shape; a DamagedError for others."""
    check_tensor(tensor, torch.float64, shape)
    return tensor.numpy()


def check_tensor(tensor: Tensor, dtype: torch.dtype, shape: Sequence[int]) -> None:
    """Raise a DamagedError unless a tensor is of this type and shape, and all its numbers are finite."""
    check(tuple(tensor.shape) == tuple(shape), "the shapes of its parts do not fit each other")
    check(tensor.dtype == dtype, f"numbers have the type {tensor.dtype}, expected {dtype}")
    check(not tensor.is_floating_point() or bool(torch.isfinite(tensor).all()), "a number is not finite")
