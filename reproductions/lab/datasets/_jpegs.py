"""JPEG images in a folder or in a tar archive, which is read and not extracted."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._errors import DataError
from metricfit._extras import require
from reproductions.lab.datasets._files import reading


def read_jpegs(found: Path, pattern: re.Pattern[str], classes: Sequence[str], size: int) -> tuple[Tensor, Tensor]:
    """Images (n, 3, size, size) of bytes and labels; the classes take turns, each in the order of its images' numbers.

    ``pattern`` finds the class and the number of an image in its path. Files that do not match are skipped, and images of
    another size are resized.
    """
    require("PIL", "images", "a JPEG image")
    images: dict[tuple[int, int], np.ndarray] = {}
    with reading(found, "JPEG images in a folder or a tar archive"):
        for path, content in _files(found):
            if match := pattern.search(path):
                images[classes.index(match[1]), int(match[2])] = _decode(content, path, size)
    if missing := [name for label, name in enumerate(classes) if label not in {label for label, _ in images}]:
        some = ", ".join(missing[:5])
        raise DataError(f"{found} should have images of {len(classes)} classes, but has none of {len(missing)}: {some}.")
    keys = sorted(images)
    labels = torch.tensor([label for label, _ in keys])
    order = in_turns(labels)
    pixels = np.stack([images[keys[index]] for index in order.tolist()])
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous(), labels[order]


def _files(found: Path) -> Iterator[tuple[str, bytes]]:
    """The path and the content of each file."""
    if found.is_dir():
        for file in found.rglob("*.jpg"):
            yield file.as_posix(), file.read_bytes()
    else:
        with tarfile.open(found) as archive:
            for member in archive:
                if member.isreg() and (content := archive.extractfile(member)):
                    yield member.name, content.read()


def _decode(content: bytes, path: str, size: int) -> np.ndarray:
    """Bytes (size, size, 3)."""
    from PIL import Image

    try:
        picture = Image.open(io.BytesIO(content), formats=["JPEG"])
        picture.draft("RGB", (size, size))  # the decoder skips detail that is not needed
        return np.asarray(picture.convert("RGB").resize((size, size), resample=Image.Resampling.BILINEAR))
    except OSError as error:
        raise ValueError(f"{path} is not a readable JPEG image") from error


def in_turns(labels: Tensor) -> Tensor:
    """The order in which each class gives one image in turn.

    >>> in_turns(torch.tensor([0, 0, 1, 1, 2])).tolist()
    [0, 2, 4, 1, 3]
    """
    turn = torch.empty_like(labels)
    for label in labels.unique():
        own = labels == label
        turn[own] = torch.arange(int(own.sum()))
    return (turn * (int(labels.max()) + 1) + labels).argsort()
