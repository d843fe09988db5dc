"""Street View House Numbers, cropped digits of 32 × 32, from the authors' Matlab files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._checks import check_option
from metricfit._errors import DataError
from reproductions.lab.datasets._files import first_existing, reading

SIZE, N_CLASSES = 32, 10
_PARTS = ("train", "test", "extra")
_FETCH = "Fetch the cropped digits (ufldl.stanford.edu/housenumbers) and pass their folder."


def svhn(folder: str | Path, part: str = "train") -> tuple[Tensor, Tensor]:
    """Images (n, 3, 32, 32) of bytes and labels 0 ... 9, from ``train_32x32.mat`` and the like; label 10 there is 0 here.

    Args:
        folder: has the Matlab files.
        part: "train", "test" or "extra".
    """
    from scipy.io import loadmat

    file = first_existing(Path(folder), (f"{check_option(part, 'part', _PARTS)}_32x32.mat",), _FETCH)
    with reading(file, "a Matlab file with X and y"):
        values = loadmat(file, variable_names=["X", "y"])
        images, labels = values["X"], values["y"].ravel().astype(np.int64)
    if images.dtype != np.uint8 or images.shape != (SIZE, SIZE, 3, len(labels)):
        expected = f"X of uint8 ({SIZE}, {SIZE}, 3, n) and n labels y"
        raise DataError(f"{file} should have {expected}, got {images.dtype} {images.shape} and {len(labels)} labels.")
    if labels.min() < 1 or labels.max() > N_CLASSES:
        raise DataError(f"{file} should have labels 1 ... {N_CLASSES}, got {labels.min()} ... {labels.max()}.")
    return torch.from_numpy(images).permute(3, 2, 0, 1).contiguous(), torch.from_numpy(labels % N_CLASSES)
