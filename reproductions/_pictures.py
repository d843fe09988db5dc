"""CIFAR-10 for experiments: decoded once, because 60,000 JPEG files take half a minute, and kept in ``build/``.

The copy is lossy (JPEG of quality 75). It is good for comparing losses with each other, not with published accuracies. The
original is read instead if it is there.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from metricfit._files import new_file
from reproductions._training import Rows
from reproductions.lab import datasets

CACHE = Path(__file__).parents[1] / "build" / "pictures"
LEAST_KEPT = 5000  # fewer pictures are decoded each time
LOSSY = (
    "Unless the original CIFAR-10 is in the data folder, its pictures are lossy copies, so compare the losses with each "
    "other, not with the published numbers."
)


def cifar10(data: Path, part: str, n_rows: int | None = None) -> Rows:
    """The first pictures (n, 3, 32, 32) of bytes and their labels, the classes in turn.

    They are from the original's binary batches in ``data/cifar10``, or else from the JPEG copy in ``data/cifar10-jpeg``.
    """
    if (data / "cifar10").is_dir():
        images, labels = datasets.cifar10(data / "cifar10", part)
        return images[:n_rows], labels[:n_rows]
    folder = data / "cifar10-jpeg"
    file = CACHE / f"{part}-{_fingerprint(folder / f'{part}.tar.gz')}.npy"
    if file.exists():
        kept = np.array(np.load(file, mmap_mode="r")[:n_rows])
        return torch.from_numpy(kept[:, 1:].reshape(-1, 3, 32, 32)), torch.from_numpy(kept[:, 0].astype(np.int64))
    images, labels = datasets.cifar10(folder, part)
    if len(labels) >= LEAST_KEPT:
        with new_file(file, overwrite=True) as temporary, temporary.open("wb") as content:
            np.save(content, np.concatenate([labels[:, None].numpy().astype(np.uint8), images.flatten(1).numpy()], axis=1))
    return images[:n_rows], labels[:n_rows]


def _fingerprint(file: Path) -> str:
    """Changes with the file; empty if the file is missing."""
    if not file.exists():
        return ""
    found = file.stat()
    return hashlib.sha256(f"{file.resolve()} {found.st_size} {found.st_mtime_ns}".encode()).hexdigest()[:16]


def from_bytes(network: nn.Module, pictures: Tensor) -> nn.Sequential:
    """The network behind :class:`Standardise`, with weights in its memory format.

    That is "channels last", in which convolutions are faster on a CPU too, but for networks with fewer than eight channels:
    there a strided 1 x 1 convolution ends the process on processors without AVX-512 (torch 2.13).
    """
    widths = [part.out_channels for part in network.modules() if isinstance(part, nn.Conv2d)]
    layout = torch.channels_last if min(widths, default=8) >= 8 else torch.contiguous_format
    return nn.Sequential(Standardise(pictures, layout), network.to(memory_format=layout))  # type: ignore[call-overload]


class Standardise(nn.Module):
    """Bytes (n, c, h, w) as floats whose channels have mean 0 and deviation 1 over given pictures.

    >>> pictures = torch.tensor([[[[0, 255], [255, 0]]]], dtype=torch.uint8)
    >>> Standardise(pictures)(pictures).flatten().tolist()
    [-1.0, 1.0, 1.0, -1.0]
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, pictures: Tensor, layout: torch.memory_format = torch.contiguous_format) -> None:
        super().__init__()
        self.layout = layout
        values = pictures.float()
        self.register_buffer("mean", values.mean((0, 2, 3), keepdim=True))
        self.register_buffer("deviation", values.std((0, 2, 3), correction=0, keepdim=True).clamp_min(1.0))

    def forward(self, pictures: Tensor) -> Tensor:
        values = (pictures.to(self.mean.dtype) - self.mean) / self.deviation
        return values.contiguous(memory_format=self.layout)
