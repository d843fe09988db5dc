"""Caltech256: JPEG images of 257 classes, from the authors' tar archive or its folders."""

from __future__ import annotations

import re
from pathlib import Path

from torch import Tensor

from reproductions.lab.datasets._files import first_existing
from reproductions.lab.datasets._jpegs import read_jpegs

CLASSES = [f"{number:03}" for number in range(1, 258)]  # the last one is clutter
_NAME = "256_ObjectCategories"
_IMAGE = re.compile(r"(?:^|/)(\d{3})\.[^/]+/\1_(\d{4})\.jpg$")  # 056.dog/056_0001.jpg
_FETCH = "Fetch 256_ObjectCategories.tar (doi.org/10.22002/D1.20087) and pass its folder."


def caltech256(folder: str | Path, size: int = 64) -> tuple[Tensor, Tensor]:
    """Images (n, 3, size, size) of bytes and labels 0 ... 256; the classes take turns, in the order of their files.

    The images of the original differ in size and shape. All become squares of the same size. The set has no test part.

    Args:
        folder: has the archive ``256_ObjectCategories.tar``, or the folder ``256_ObjectCategories`` with images such as
            ``056.dog/056_0001.jpg``. The label of this one is 55.
        size: height and width of the images that are returned.
    """
    return read_jpegs(first_existing(Path(folder), (f"{_NAME}.tar", _NAME), _FETCH), _IMAGE, CLASSES, size)
