"""Sums over the processes of a training run."""

from __future__ import annotations

import torch.distributed as dist
from torch import Tensor

__all__ = ["sum_over_processes", "world_size"]


_AVAILABLE = dist.is_available()


def world_size() -> int:
    """The number of processes in the process group; 1 without a group."""
    return dist.get_world_size() if _AVAILABLE and dist.is_initialized() else 1


def sum_over_processes(tensor: Tensor) -> Tensor:
    """The sum of a tensor over all processes, without a graph."""
    total = tensor.detach().clone()
    dist.all_reduce(total)
    return total
