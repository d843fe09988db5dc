"""Residual networks for images of 32 × 32: Wide ResNet, ResNet-18, and a small one that a CPU trains in minutes."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from reproductions.lab.networks._parts import conv_norm, scaled, start_by_he


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


class FastResNet(nn.Module):
    """Six trained convolutions and one fixed one, for images of about 32 × 32: a CPU trains it on CIFAR-10 in minutes.

    The first convolution, 4 × 4 with stride 2, is not trained. Its filters are the principal components of image patches, with
    variance 1 and both signs (:meth:`whiten`). Jordan, "94 % on CIFAR-10 in 3.29 seconds on a single GPU" (2024), has
    such a layer. Then comes a convolution with pooling and a residual block, and both once more. Normalisation follows the
    pooling, on a quarter of the values. The head takes the largest value over the image, so images may have any size. Its
    scores are divided by 4, which keeps them small at the start.

    >>> sum(parameter.numel() for parameter in FastResNet().parameters())
    463232
    """

    SIZE, STRIDE, FLOOR, SCALE = 4, 2, 5e-3, 0.25

    filters: Tensor  # (c, n_channels, SIZE, SIZE)

    def __init__(self, n_classes: int = 10, *, n_channels: int = 3, width: float = 1.0) -> None:
        super().__init__()
        half, second, third = (scaled(channels, width) for channels in (16, 64, 128))
        self.register_buffer("filters", _both_signs(torch.randn(half, n_channels, self.SIZE, self.SIZE) / self.SIZE))
        self.body = nn.Sequential(
            _conv_pool(2 * half, second), _Block(second, second, 1), _conv_pool(second, third), _Block(third, third, 1)
        )
        self.head = nn.Linear(third, n_classes, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        first = nn.functional.conv2d(images, self.filters, stride=self.STRIDE, padding=1).relu()
        return self.SCALE * self.head(self.body(first).amax((2, 3)))

    @torch.no_grad()
    def whiten(self, images: Tensor) -> None:
        """Set the first filters from images (n, c, h, w), which are standardised; they are random before."""
        patches = nn.functional.unfold(images, self.SIZE, stride=self.STRIDE).transpose(1, 2).flatten(0, 1)  # (p, c * 16)
        variances, components = torch.linalg.eigh(patches.T @ patches / len(patches))  # rising
        filters = (components / (variances + self.FLOOR).sqrt()).T.flip(0)[: len(self.filters) // 2]
        self.filters.copy_(_both_signs(filters.reshape(-1, *self.filters.shape[1:])))


def _both_signs(filters: Tensor) -> Tensor:
    return torch.cat([filters, -filters])


def _conv_pool(n_in: int, n_out: int) -> nn.Sequential:
    """A convolution, pooling to half the size, normalisation, and ReLU."""
    convolution = nn.Conv2d(n_in, n_out, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.MaxPool2d(2), nn.BatchNorm2d(n_out), nn.ReLU())


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
