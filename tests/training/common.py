"""Rows and trainers that the tests of training share."""

import torch
from lightning_fabric import Fabric

from metricfit.training import Trainer


def data(n=120, k=3, seed=0):
    """Features (n, 5) and labels of k classes that they nearly tell."""
    random = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 5, generator=random)
    return x, (x[:, :k] + 0.7 * torch.randn(n, k, generator=random)).argmax(1)


def cpu_trainer(module, loss, optimizer=None, *, kind=Trainer, precision="32-true", **options):
    """A trainer on one CPU, by default with SGD."""
    optimizer = optimizer or torch.optim.SGD(module.parameters(), lr=0.1)
    return kind(module, loss, optimizer, fabric=Fabric(accelerator="cpu", devices=1, precision=precision), **options)


def same(one, other):
    """Whether two states are equal, bit for bit."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (one != one and other != other)
