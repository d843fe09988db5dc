"""Street View House Numbers, cropped digits of 32 × 32, from the authors' Matlab files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metricfit._checks import check_option
from metricfit._errors import DataError
from reproductions.lab.datasets._content import first_existing, open_content

SIZE, N_CLASSES = 32, 10
MOST_IMAGES = 10**6
_PARTS = ("train", "test", "extra")
_FETCH = "Fetch the cropped digits (ufldl.stanford.edu/housenumbers) and pass their folder."


def svhn(folder: str | Path, part: str = "train") -> tuple[Tensor, Tensor]:
    """Pictures (n, 3, 32, 32) of bytes and labels 0 ... 9, from ``train_32x32.mat`` and the like; label 10 there is 0 here.

    Args:
        folder: has the Matlab files.
        part: "train", "test" or "extra".
    """
    from scipy.io import loadmat, whosmat

    name = f"{check_option(part, 'part', _PARTS)}_32x32.mat"
    file = first_existing(Path(folder), (name,), _FETCH)
    with open_content(file, "a Matlab file") as content:
        try:
            shapes = {variable: (shape, kind) for variable, shape, kind in whosmat(content)}
            n_images = _check_shapes(file, shapes)
            content.seek(0)
            values = loadmat(content, variable_names=["X", "y"])
            images, labels = np.asarray(values["X"]), np.asarray(values["y"]).ravel().astype(np.int64)
        except DataError:
            raise
        except Exception as error:  # scipy raises errors of many kinds
            raise DataError(f"{file} should be a Matlab file (version 5 to 7), but cannot be read: {error}.") from error
    if images.shape != (SIZE, SIZE, 3, n_images) or images.dtype != np.uint8 or labels.shape != (n_images,):
        raise DataError(f"{file} should have what its head says, got X of {images.shape} and y of {labels.shape}.")
    if labels.min() < 1 or labels.max() > N_CLASSES:
        raise DataError(f"{file} should have labels 1 ... {N_CLASSES}, got {labels.min()} ... {labels.max()}.")
    return torch.from_numpy(images).permute(3, 2, 0, 1).contiguous(), torch.from_numpy(labels % N_CLASSES)


def _check_shapes(file: Path, shapes: dict[str, tuple[tuple[int, ...], str]]) -> int:
    """The number of images that the file's head promises."""
    (x_shape, x_kind), (y_shape, _) = shapes.get("X", ((), "nothing")), shapes.get("y", ((), ""))
    if len(x_shape) != 4 or x_shape[:3] != (SIZE, SIZE, 3) or x_kind != "uint8":
        raise DataError(f"{file} should have X of uint8 ({SIZE}, {SIZE}, 3, n), got {x_kind} {x_shape}.")
    n_images = x_shape[3]
    if not 1 <= n_images <= MOST_IMAGES:
        raise DataError(f"{file} should have 1 to {MOST_IMAGES:,} images, got {n_images:,}.")
    if y_shape not in ((n_images, 1), (1, n_images)):
        raise DataError(f"{file} should have y of ({n_images}, 1), a label per image, got {y_shape}.")
    return n_images
