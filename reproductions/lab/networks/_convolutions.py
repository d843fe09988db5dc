"""Plain convolutional networks: M3 and Darknet-19."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from reproductions.lab.networks._parts import conv_norm, scaled, start_by_he


class M3(nn.Module):
    """Ten convolutions of 3 × 3 without padding: the network for MNIST of An et al. (2020), which EXACT uses.

    Images of 28 × 28 shrink to 8 × 8. The number of channels grows by 16 from 32 to 176.

    >>> sum(parameter.numel() for parameter in M3().parameters())
    1124180
    """

    def __init__(self, n_classes: int = 10, *, n_channels: int = 1, image_size: int = 28, width: float = 1.0) -> None:
        super().__init__()
        widths = [n_channels, *(scaled(32 + 16 * index, width) for index in range(10))]
        self.body = nn.Sequential(*(conv_norm(n_in, n_out, 3, nn.ReLU()) for n_in, n_out in pairwise(widths)))
        n_features = widths[-1] * (image_size - 20) ** 2
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(n_features, n_classes, bias=False), nn.BatchNorm1d(n_classes))

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.body(images))


class Darknet19(nn.Module):
    """Nineteen convolutions, the backbone of YOLO9000 (Redmon and Farhadi, 2017, Table 6), which EAST follows (section E.3.1).

    Channels double after each pooling, convolutions of 1 × 1 compress between those of 3 × 3, and the mean over the image
    predicts. ``n_poolings=5`` halves an image five times, as the original does with 224 × 224; 32 × 32 become 1 × 1.

    >>> sum(parameter.numel() for parameter in Darknet19(1000).parameters())
    20842376
    """

    BLOCKS = ((32,), (64,), (128, 64, 128), (256, 128, 256), (512, 256, 512, 256, 512), (1024, 512, 1024, 512, 1024))

    def __init__(self, n_classes: int = 10, *, n_channels: int = 3, n_poolings: int = 5, width: float = 1.0) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        n_in = n_channels
        for index, block in enumerate(self.BLOCKS):
            if 0 < index <= n_poolings:
                layers.append(nn.MaxPool2d(2))
            for number, n_full in enumerate(block):
                size = 1 if number % 2 else 3
                n_out = scaled(n_full, width)
                layers.append(conv_norm(n_in, n_out, size, nn.LeakyReLU(0.1), padding=size // 2))
                n_in = n_out
        self.body = nn.Sequential(*layers)
        self.head = nn.Conv2d(n_in, n_classes, 1)
        start_by_he(self.body)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.body(images)).mean((2, 3))
