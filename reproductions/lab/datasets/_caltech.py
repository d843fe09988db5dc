"""Caltech256: JPEG images of 257 classes, from the authors' tar archive or its folders."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._checks import check_number
from metricfit._errors import DataError
from reproductions.lab.datasets._content import first_existing, open_content
from reproductions.lab.datasets._pictures import channels_first, decode_resized, in_turns

N_CLASSES = 257  # the last one is clutter
MOST_BYTES, MOST_FILES = 2**25, 200_000
_NAME = "256_ObjectCategories"
_IMAGE = re.compile(r"(?:^|/)(\d{3})\.[^/]+/\1_(\d{4})\.jpg$")  # 056.dog/056_0001.jpg
_FETCH = "Fetch 256_ObjectCategories.tar (doi.org/10.22002/D1.20087) and pass its folder."


def caltech256(folder: str | Path, size: int = 64) -> tuple[Tensor, Tensor]:
    """Images (n, 3, size, size) of bytes and labels 0 ... 256; the classes take turns, in the order of their files.

    The images of the original differ in size and shape. All become squares of the same size. The set has no test part. Files
    with other names are skipped, because the original archive has a few.

    Args:
        folder: has the archive ``256_ObjectCategories.tar``, which is read and not extracted, or the folder
            ``256_ObjectCategories`` with images such as ``056.dog/056_0001.jpg``. The label of this one is 55.
        size: height and width of the images that are returned.
    """
    check_number(size, "size", 1)
    found = first_existing(Path(folder), (f"{_NAME}.tar", _NAME), _FETCH)
    images: list[np.ndarray] = []
    keys: list[tuple[int, int]] = []
    for name, key, content in _from_folder(found) if found.is_dir() else _from_archive(found):
        if len(images) >= MOST_FILES:
            raise DataError(f"{found} should have at most {MOST_FILES:,} images, but has more.")
        images.append(decode_resized(content, name, "JPEG", size))
        keys.append(key)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    labels = torch.tensor([keys[index][0] for index in order], dtype=torch.long)
    if (present := len(labels.unique())) != N_CLASSES or labels.max() >= N_CLASSES:
        raise DataError(f"{found} should have images of the classes 001 ... {N_CLASSES}, got {present} classes.")
    turns = in_turns(labels)
    return channels_first(np.stack([images[order[index]] for index in turns.tolist()])), labels[turns]


def _from_folder(folder: Path) -> Iterator[tuple[str, tuple[int, int], bytes]]:
    """For each image its name, its class and number, and its content."""
    for file in folder.glob("*/*.jpg"):
        if (key := _key(file.as_posix())) is not None:
            with open_content(file, "a JPEG image") as content:
                yield str(file), key, content.read(MOST_BYTES)


def _from_archive(file: Path) -> Iterator[tuple[str, tuple[int, int], bytes]]:
    with open_content(file, "a tar archive") as content:
        try:
            with tarfile.open(fileobj=content, mode="r|") as archive:
                for member in archive:
                    key = _key(member.name)
                    if key is None or not member.isreg():
                        continue
                    if member.size > MOST_BYTES:
                        raise DataError(f"{file} should have images up to {MOST_BYTES:,} bytes, got {member.name[:100]!r}.")
                    image = archive.extractfile(member)
                    yield f"{member.name[:100]} in {file}", key, image.read() if image else b""
        except tarfile.TarError as error:
            raise DataError(f"{file} should be a tar archive, but cannot be read: {error}.") from error


def _key(name: str) -> tuple[int, int] | None:
    """The class from 0 and the number of an image.

    >>> _key("256_ObjectCategories/056.dog/056_0012.jpg"), _key("056.dog/greg/vision309/a.jpg")
    ((55, 12), None)
    """
    found = _IMAGE.search(name)
    return (int(found[1]) - 1, int(found[2])) if found else None
