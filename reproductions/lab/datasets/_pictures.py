"""Pictures from bytes that anybody may have written, by pillow."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from metricfit._errors import DataError
from metricfit._extras import require

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile


MOST_PIXELS = 2**27


def decode(content: bytes, name: str, kind: str, width: int, height: int | None) -> np.ndarray:
    """Bytes (height, width, 3) of a picture of this kind, such as "JPEG"; its size is checked before it is decoded."""
    with _opened(content, name, kind) as picture:
        if picture.width == width and picture.height == (height or picture.height):
            return np.asarray(picture.convert("RGB"))
    wanted = f"{width} x {height}" if height else f"{width} pixels wide"
    raise DataError(f"{name} should be a picture of {wanted}, got {picture.width} x {picture.height}.")


def decode_resized(content: bytes, name: str, kind: str, size: int) -> np.ndarray:
    """Bytes (size, size, 3) of a picture of any size and shape, by bilinear interpolation."""
    with _opened(content, name, kind) as picture:
        n_pixels = picture.width * picture.height
        if n_pixels <= MOST_PIXELS:
            picture.draft("RGB", (size, size))  # a JPEG decoder skips detail that is not needed
            return np.asarray(picture.convert("RGB").resize((size, size), resample=2))  # 2 is bilinear
    raise DataError(f"{name} should have at most {MOST_PIXELS:,} pixels, got {n_pixels:,}.")


@contextmanager
def _opened(content: bytes, name: str, kind: str) -> Iterator[ImageFile]:
    """A picture whose head is read; a DataError if it cannot be read, or later while it is decoded."""
    require("PIL", "images", f"a {kind} picture")
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of large pictures, which are refused by their size
            picture = Image.open(io.BytesIO(content), formats=[kind])
        yield picture
    except UnidentifiedImageError as error:
        raise DataError(f"{name} is not a readable {kind} picture.") from error
    except Exception as error:  # pillow raises errors of many kinds
        raise DataError(f"{name} should be a {kind} picture, but cannot be decoded: {error}.") from error


def in_turns(labels: Tensor, per_class: int | None = None) -> Tensor:
    """The order in which each class gives one picture in turn, up to so many.

    >>> in_turns(torch.tensor([0, 0, 1, 1, 2])).tolist()
    [0, 2, 4, 1, 3]
    """
    turn = torch.empty_like(labels)
    for label in labels.unique():
        own = labels == label
        turn[own] = torch.arange(int(own.sum()))
    order = (turn * (int(labels.max()) + 1) + labels).argsort()
    return order if per_class is None else order[turn[order] < per_class]


def channels_first(images: np.ndarray) -> Tensor:
    """(n, height, width, 3) to a tensor (n, 3, height, width)."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
