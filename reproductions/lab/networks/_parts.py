"""What networks share: widths, and convolutions with their normalisation."""

from __future__ import annotations

from typing import Any

from torch import nn


def scaled(n_channels: int, width: float) -> int:
    """The number of channels at this width, at least one.

    >>> scaled(64, 0.25)
    16
    """
    return max(1, round(n_channels * width))


def conv_norm(n_in: int, n_out: int, size: int, activation: nn.Module, **options: Any) -> nn.Sequential:
    """A convolution without bias, batch normalisation, and an activation."""
    return nn.Sequential(nn.Conv2d(n_in, n_out, size, bias=False, **options), nn.BatchNorm2d(n_out), activation)


def start_by_he(module: nn.Module) -> None:
    """Draw the weights of all convolutions as He et al. (2015): normal with variance 2 / fan-out."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
