"""Residual networks for images of 32 × 32: Wide ResNet and ResNet-18."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from metricfit.models._parts import conv_norm, scaled, start_by_he


class WideResNet(nn.Module):
    """Wide ResNet of a depth and a width (Zagoruyko and Komodakis, 2016): WRN-28-10 is ``WideResNet(28, 10)``.

    >>> round(sum(parameter.numel() for parameter in WideResNet(28, 10).parameters()) / 1e6, 1)     # their Table 4: 36.5 M
    36.5
    """

    def __init__(self, depth: int, width: float, n_classes: int = 10, *, n_channels: int = 3, dropout: float = 0.0) -> None:
        super().__init__()
        if depth < 10 or (depth - 4) % 6:
            raise ValueError(f"`depth` should be 10, 16, 22, 28, ... (6 n + 4), got {depth}.")
        widths = [16, *(scaled(channels, width) for channels in (16, 32, 64))]
        n_blocks = (depth - 4) // 6
        blocks = [
            _WideBlock(n_in if block == 0 else n_out, n_out, stride if block == 0 else 1, dropout)
            for (n_in, n_out), stride in zip(pairwise(widths), (1, 2, 2), strict=True)
            for block in range(n_blocks)
        ]
        self.body = nn.Sequential(
            nn.Conv2d(n_channels, 16, 3, padding=1, bias=False), *blocks, nn.BatchNorm2d(widths[-1]), nn.ReLU()
        )
        self.head = nn.Linear(widths[-1], n_classes)
        start_by_he(self.body)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.body(images).mean((2, 3)))


class _WideBlock(nn.Module):
    """Normalisation and ReLU before each of two convolutions, and a way around them."""

    def __init__(self, n_in: int, n_out: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.BatchNorm2d(n_in), nn.ReLU())
        self.body = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(n_out),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Conv2d(n_out, n_out, 3, padding=1, bias=False),
        )
        self.around = nn.Conv2d(n_in, n_out, 1, stride, bias=False) if n_in != n_out or stride > 1 else None

    def forward(self, images: Tensor) -> Tensor:
        active = self.first(images)
        return self.body(active) + (images if self.around is None else self.around(active))


class ResNet18(nn.Module):
    """ResNet-18 (He et al., 2016) with a first convolution of 3 × 3 and no first pooling, as is usual for 32 × 32.

    >>> sum(parameter.numel() for parameter in ResNet18(10).parameters())
    11173962
    """

    def __init__(self, n_classes: int = 10, *, n_channels: int = 3, width: float = 1.0) -> None:
        super().__init__()
        widths = [scaled(channels, width) for channels in (64, 64, 128, 256, 512)]
        blocks = [
            _Block(n_in if block == 0 else n_out, n_out, stride if block == 0 else 1)
            for (n_in, n_out), stride in zip(pairwise(widths), (1, 2, 2, 2), strict=True)
            for block in range(2)
        ]
        self.body = nn.Sequential(conv_norm(n_channels, widths[0], 3, nn.ReLU(), padding=1), *blocks)
        self.head = nn.Linear(widths[-1], n_classes)
        start_by_he(self.body)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.body(images).mean((2, 3)))


class _Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv_norm(n_in, n_out, 3, nn.ReLU(), stride=stride, padding=1),
            conv_norm(n_out, n_out, 3, nn.Identity(), padding=1),
        )
        same = n_in == n_out and stride == 1
        self.around = nn.Identity() if same else conv_norm(n_in, n_out, 1, nn.Identity(), stride=stride)
        self.active = nn.ReLU()

    def forward(self, images: Tensor) -> Tensor:
        return self.active(self.body(images) + self.around(images))
